import { setTimeout as delay } from 'node:timers/promises'
import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Tasks } from './tasks.ts'
import { acceptsTasks } from './task-methods.ts'

/** What a call is answered with: its result, or what has to be known first. */
type Answer = CallToolResult | InputRequiredResult

interface Deferrable {
  readonly ctx: ServerContext
  readonly principal: string
  /** Makes the call, or goes on with it when the request brings what was asked for. */
  readonly respond: (ctx: ServerContext) => Promise<Answer>
}

/** Within that most calls are over, and nobody has to come back for them. */
const PATIENCE_MS = 5000

/** A call that takes long becomes a task where its client can come back for the result. */
export async function deferred(
  { ctx, principal, respond }: Deferrable,
  tasks: Tasks,
  patienceMs = PATIENCE_MS,
): Promise<Answer> {
  if (!acceptsTasks(ctx)) return respond(ctx)
  const controller = new AbortController()
  const { signal } = ctx.mcpReq
  const cancel = (): void => controller.abort()
  signal.addEventListener('abort', cancel)
  const waiting = new AbortController()
  const first = respond(withContext(ctx, { signal: controller.signal }))
  // Whoever waits for it hears of it.
  first.catch(() => undefined)
  try {
    const soon = await Promise.race([first, delay(patienceMs, null, { signal: waiting.signal, ref: false })])
    if (soon !== null) return soon
  } finally {
    waiting.abort()
    signal.removeEventListener('abort', cancel)
  }
  const view = await tasks.begin(
    principal,
    async ({ ask }) => {
      let answer = await first
      while (isAsking(answer)) {
        const { inputRequests, requestState } = answer
        const inputResponses = await ask(isJsonObject(inputRequests) ? inputRequests : {})
        answer = await respond(
          withContext(ctx, {
            signal: controller.signal,
            inputResponses,
            requestState: stateOf(requestState),
          }),
        )
      }
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what goes out as JSON is JSON
      return answer as unknown as JsonObject
    },
    controller,
  )
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the SDK passes such answers on but has no type for them
  return view as unknown as Answer
}

function isAsking(answer: Answer): answer is InputRequiredResult {
  return answer['resultType'] === 'input_required'
}

/** The same request, as if it had been sent again. */
function withContext(ctx: ServerContext, changed: Partial<ServerContext['mcpReq']>): ServerContext {
  return { ...ctx, mcpReq: { ...ctx.mcpReq, ...changed } }
}

function stateOf(state: unknown): ServerContext['mcpReq']['requestState'] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the SDK's accessor lets its caller name the type
  return (() => state) as ServerContext['mcpReq']['requestState']
}
