import { randomBytes } from 'node:crypto'
import { KiwiError } from '../shared/errors.ts'
import type { Watch } from '../shared/progress.ts'
import { redactBoth } from '../shared/redact.ts'
import type { FoundSecrets } from '../store/vault/secrets.ts'
import type { CommandDraft } from './draft-command.ts'
import type { DraftMeans, Request } from './draft-means.ts'
import type { Draft } from './draft.ts'
import { draftCall } from './draft.ts'
import type { Plan } from './plan.ts'
import type { SecretCommands } from './secret-commands.ts'

interface Asking {
  readonly commands: FoundSecrets['commands']
  readonly secretCommands: SecretCommands
}

/**
 * To ask a program for a secret is an effect, so it waits until the call was let through: before, a text that stands
 * for the value takes its place. Whoever makes the call settles it first; sent unsettled, it would hold no secret.
 */
export function draftUnsettled(
  plan: Plan,
  request: Request,
  means: DraftMeans,
  { commands, secretCommands }: Asking,
): Draft {
  const values = new Map(means.values)
  const unknown = new Map<string, string>()
  for (const [name, command] of commands) {
    const heard = secretCommands.heard(name, command)
    if (heard === null) unknown.set(name, standIn(name))
    values.set(name, heard ?? standIn(name))
  }
  const draft = draftCall(plan, request, { ...means, values })
  // What it takes out is what it was given: only what is granted to this very content, and used, is asked for.
  const used = [...unknown].filter(([, text]) => draft.redact(text) !== text).map(([name]) => name)
  if (used.length === 0) return draft
  const asker = { tool: plan.item.id, callId: request.callId }
  const make = async (watch: Watch): Promise<Draft> => {
    const given = await Promise.all(
      used.map(async (name) => {
        const command = commands.get(name)
        if (command === undefined) throw new TypeError('a secret that no program gives was to be asked for')
        return [name, await secretCommands.ask(name, command, asker, watch)] as const
      }),
    )
    const made = draftCall(plan, request, { ...means, values: new Map([...values, ...given]) })
    assertAsJudged(draft, made, used)
    return made
  }
  let settling: Promise<Draft> | null = null
  return {
    ...draft,
    // A call that asks its server twice does so over one connection, whatever is forgotten in between.
    settle: async (watch) => {
      settling ??= make(watch)
      try {
        return await settling
      } catch (error) {
        settling = null
        throw error
      }
    },
  }
}

/** Does something with a draft in which nothing is left to be asked for: at once, unless there is. */
export function settled<T>(draft: Draft, watch: Watch, use: (draft: Draft) => Promise<T>): Promise<T> {
  if (draft.settle === null) return use(draft)
  return draft.settle(watch).then((made) => use({ ...made, redact: redactBoth(made.redact, draft.redact) }))
}

const OWN = randomBytes(12).toString('hex')

/** The same from call to call, so that what is worked out of it can be kept. */
function standIn(name: string): string {
  return `kiwi-stand-in-${name}-${OWN}`
}

/** What is started, reached, read and written was judged with the stand-in, and may not follow from the value. */
function assertAsJudged(before: Draft, made: Draft, names: readonly string[]): void {
  if (JSON.stringify(judgedOf(before)) === JSON.stringify(judgedOf(made))) return
  const { id } = made.plan.item
  throw new KiwiError(
    'INVALID_CONFIG',
    `Cannot run "${id}": what it starts or reaches would depend on ${names.join(', ')}, which a program gives`,
    { hint: 'Put it into a variable, a header or the body; or keep the value itself: kiwi secret set' },
  )
}

function judgedOf({ effect }: Draft): unknown {
  const asks = effect.kind === 'mcp' ? effect.server : effect
  switch (asks.kind) {
    case 'subprocess':
      return startedBy(asks)
    case 'stdio':
      return startedBy(asks.command)
    case 'http_client':
    case 'remote':
      return [new URL(asks.request.url).origin, asks.request.method]
    case 'line':
    case 'content':
      return null
  }
}

function startedBy({ command: { command, cwd, args }, paths, git }: CommandDraft): unknown {
  return [command, cwd, args.length, paths, git]
}
