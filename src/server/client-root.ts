import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ServerContext } from '@modelcontextprotocol/server'

/** The folder a client of the older era works in. */
export interface ClientRoot {
  /** Asks within the call at hand, when it is not known yet. */
  of(ctx: ServerContext): Promise<string | null>
  /** What it last said. */
  readonly known: string | null
  forget(): void
}

const PATIENCE_MS = 2000
/** A client that once kept a call waiting in vain may still answer, but nobody waits for it. */
const LATER_PATIENCE_MS = 100
const GIVEN_UP_MS = 60_000

/** A client that declares roots need not answer; then it is what it last said, or `otherwise`. */
export function createRoot(otherwise: string | null): ClientRoot {
  let asked: Promise<string | null> | null = null
  let known = otherwise
  let patience = PATIENCE_MS

  const ask = ({ mcpReq }: ServerContext): Promise<string | null> => {
    const answer = mcpReq.send({ method: 'roots/list' }, { timeout: GIVEN_UP_MS }).then(({ roots }) => {
      patience = PATIENCE_MS
      known = folderOf(roots) ?? otherwise
      return known
    })
    // Asked again with the next call.
    answer.catch(() => {
      if (asked === answer) asked = null
    })
    return answer
  }

  return {
    get known() {
      return known
    },
    async of(ctx) {
      asked ??= ask(ctx)
      const answer = await Promise.race([
        asked.catch(() => known),
        delay(patience, undefined, { ref: false }),
      ])
      if (answer !== undefined) return answer
      patience = LATER_PATIENCE_MS
      return known
    },
    forget() {
      asked = null
    },
  }
}

/** The first root that is a folder. */
function folderOf(roots: readonly { readonly uri: string }[]): string | null {
  const uri = roots.map((root) => root.uri).find((candidate) => candidate.startsWith('file:'))
  return uri === undefined ? null : fileURLToPath(uri)
}
