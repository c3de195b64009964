import type { SearchSettings } from '../config/config.ts'
import { NO_EMBEDDER } from '../config/config.ts'
import type { Embedder } from '../search/embedder.ts'
import type { Clock } from '../shared/clock.ts'
import { createIds, parseItemRef } from '../shared/ids.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { notFound } from '../spaces/not-found.ts'
import type { Call, Outcome, Ticket } from './call.ts'
import { embedWork } from './embed-work.ts'
import type { Means } from './means.ts'

interface EmbedderMeans {
  readonly settings: SearchSettings
  readonly clock: Clock
  readonly means: Means
  /** The gate. */
  readonly pass: (ticket: Ticket, workOut: Call['workOut']) => Promise<Outcome>
}

/**
 * The tool that a person set to make vectors for search; null where they set none. Each time it is asked is a call of
 * its own, outside of any project: what a project holds never chooses where texts are sent.
 */
export function openEmbedder(
  { settings, clock, means, pass }: EmbedderMeans,
  lookup: Lookup,
): Embedder | null {
  const { embedder: tool, model } = settings
  if (tool === null || tool === NO_EMBEDDER) return null
  const ids = createIds(() => clock.now())
  return {
    async identity() {
      const ref = parseItemRef(tool)
      await lookup.begin()
      const item = await lookup.find(ref, 'tool')
      if (item === null) throw notFound(ref, 'tool')
      return `${item.id} ${model ?? ''} ${item.contentHash.slice(0, 16)}`
    },
    async embed(order, signal) {
      const ticket: Ticket = {
        callId: ids(),
        operation: 'search.embed',
        subject: tool,
        parameters: {},
        caller: { principal: 'kiwi', session: 'search', kind: 'person' },
        ...(signal === undefined ? {} : { signal }),
      }
      let made: readonly Float32Array[] = []
      await pass(ticket, async () => {
        const asked = { ...order, tool: parseItemRef(tool), model }
        const { embed, ...work } = await embedWork(asked, lookup, ticket, means)
        return {
          work: {
            ...work,
            async perform(watch) {
              made = await embed(watch)
              return { data: { vectors: made.length, numbers: made[0]?.length ?? 0 }, warnings: [] }
            },
          },
          projectPath: null,
          isDryRun: false,
        }
      })
      return made
    },
  }
}
