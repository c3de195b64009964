import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject, isObject } from '../shared/json.ts'
import type { Stop } from '../shared/stop.ts'
import { askedIn } from './callers.ts'
import type { InFlight, Pending } from './pending.ts'
import type { Asked } from './read-message.ts'

/** What an upstream wants to know, answered by whoever called it. */
export interface Asks {
  take(asked: Asked): void
  /** The upstream does not want to know any more. */
  cancel(id: unknown): void
  /** Nobody can be answered any more. */
  close(): void
}

interface AskMeans {
  /** How people know the upstream. */
  readonly id: string
  readonly pending: Pending
  /** Sends what is only told. */
  readonly reply: (message: JsonObject) => void
}

const ASKED: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list'])
const METHOD_NOT_FOUND = -32601
const INVALID_REQUEST = -32600
const INTERNAL = -32603
/** Of one upstream at once. */
const MOST_OPEN = 16
/** Of one call in all: what asks on and on gets no more time by it. */
const MOST_QUESTIONS = 64

export function openAsks({ id, pending, reply }: AskMeans): Asks {
  const open = new Map<string | number, AbortController>()

  const refuse = (asked: Asked, code: number, message: string): void =>
    reply({ id: asked.id, error: { code, message } })
  /** Whoever it may have been for hears that nobody was asked: the upstream goes on without the answer. */
  const turnDown = (asked: Asked, among: readonly InFlight[], message: string, why = message): void => {
    for (const { request } of among) request.onRefused?.(asked.method, why)
    refuse(asked, INVALID_REQUEST, message)
  }

  const pass = async (asked: Asked, to: InFlight): Promise<void> => {
    const controller = new AbortController()
    open.set(asked.id, controller)
    const end = (): void => controller.abort()
    to.endings.add(end)
    const { method, params } = asked
    to.asking += 1
    to.askedAt = performance.now()
    to.questions += 1
    const answer = await answerOf(to, { from: id, method, params }, controller.signal)
    to.asking -= 1
    if (to.asking === 0) to.resume()
    to.endings.delete(end)
    if (open.get(asked.id) === controller) open.delete(asked.id)
    // Who does not want to know any more is not answered.
    if (!controller.signal.aborted) reply({ id: asked.id, ...answer })
    else if (to.request.signal?.aborted !== true) refuse(asked, INTERNAL, 'The call it belongs to is over')
  }

  return {
    take(asked) {
      if (asked.method === 'ping') return reply({ id: asked.id, result: {} })
      if (!ASKED.has(asked.method))
        return refuse(asked, METHOD_NOT_FOUND, `Kiwi does not answer ${JSON.stringify(asked.method)}`)
      const to = namedBy(asked, pending) ?? askedIn(pending, ({ request }) => request.ask !== undefined)
      const among = to.asked === null ? to.among : [to.asked]
      if (open.size >= MOST_OPEN || open.has(asked.id))
        return turnDown(asked, among, 'Too many questions are open, or two have the same id')
      if (to.asked === null && to.why === 'several') return turnDown(asked, among, SEVERAL, UNSAID)
      if (to.asked === null)
        return refuse(asked, METHOD_NOT_FOUND, `Nobody who could answer ${asked.method} is calling`)
      if (to.asked.questions >= MOST_QUESTIONS)
        return turnDown(asked, among, `One call asks no more than ${MOST_QUESTIONS} questions`)
      void pass(asked, to.asked)
    },
    cancel(asked) {
      if (typeof asked !== 'string' && typeof asked !== 'number') return
      open.get(asked)?.abort()
      open.delete(asked)
    },
    close() {
      for (const controller of open.values()) controller.abort()
      open.clear()
    },
  }
}

const SEVERAL =
  'Several callers use this server at once, so it is not known whom this is for: name the progressToken of the call in _meta'

const UNSAID =
  'several callers use it at once and it does not say for which of them, so nobody was asked; send the call again by itself'

/** The token of a call is its number. */
function namedBy({ params }: Asked, pending: Pending): { readonly asked: InFlight } | null {
  const meta = params['_meta']
  const token = isJsonObject(meta) ? meta['progressToken'] : undefined
  const named = typeof token === 'number' ? pending.get(token) : undefined
  return named?.request.ask === undefined ? null : { asked: named }
}

/** Never fails: what went wrong is the answer. */
async function answerOf(
  { request }: InFlight,
  asked: { readonly from: string; readonly method: string; readonly params: JsonObject },
  signal: Stop,
): Promise<JsonObject> {
  try {
    const result = await request.ask?.(asked, signal)
    return { result: result ?? {} }
  } catch (error) {
    const known = error instanceof KiwiError ? error.details['rpc_error'] : undefined
    const code = isObject(known) && typeof known['code'] === 'number' ? known['code'] : INTERNAL
    const message = error instanceof KiwiError ? error.message : 'The question could not be passed on'
    return { error: { code, message } }
  }
}
