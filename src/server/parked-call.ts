import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { InputRequest, ServerContext } from '@modelcontextprotocol/server'
import { cannotAsk } from '../shared/can-answer.ts'
import type { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Talk } from '../shared/progress.ts'
import type { Reply } from '../shared/reply.ts'
import type { Stop } from '../shared/stop.ts'
import type { Abilities } from './client-abilities.ts'
import type { Voice } from './client-voice.ts'
import { voiceOf } from './client-voice.ts'

export type Making = (talk: Talk & Voice, signal: Stop) => Promise<Reply>

/** What was asked is part of the handle's key, so that an old answer fits no new question. */
export const PREFIX = 'upstream-'
/** Fewer than clients put up with, so that it is the upstream that hears of it. */
const MOST_ROUNDS = 8

/** What a request that attends a call comes to. */
type End =
  | { readonly kind: 'reply'; readonly reply: Reply }
  | { readonly kind: 'asked'; readonly asked: Record<string, InputRequest> }

/** One call under way, and what its upstream wants to know. */
export interface ParkedCall {
  readonly id: string
  /** The request it was made by. */
  readonly request: string
  /** Waits for the reply, or for the next questions, on behalf of a request. */
  attend(ctx: ServerContext): Promise<End>
  answer(inputResponses: Readonly<Record<string, unknown>>): void
  /** Nobody who does not come back in time is waited for. */
  expire(patienceMs: number, onExpired: () => void): void
}

interface Circumstances {
  readonly request: string
  readonly ctx: ServerContext
  readonly abilities: Abilities
  readonly hasRoom: () => boolean
}

/** Begins a call that may outlast the request it came with. */
export function beginParked(
  { request, ctx: first, abilities, hasRoom }: Circumstances,
  make: Making,
): ParkedCall {
  const ending = new AbortController()
  const end = (): void => ending.abort()
  const questions = openQuestions()
  const { capabilities, logLevel } = abilities
  let attended: ServerContext | null = first
  let timer: NodeJS.Timeout | undefined
  let rounds = 0

  const ask: Talk['ask'] = async ({ method, params }, signal) => {
    if (rounds > MOST_ROUNDS || !hasRoom()) throw cannotAsk(method, 'too much is asked')
    return questions.ask(method, params, signal)
  }
  const voice = voiceOf(() => attended, abilities)
  const level = logLevel === null ? {} : { logLevel }
  const reply = make({ ask, capabilities, ...level, ...voice }, ending.signal)
  const replied = reply.then((done): End => ({ kind: 'reply', reply: done }))

  return {
    id: randomUUID(),
    request,
    async attend(ctx) {
      clearTimeout(timer)
      attended = ctx
      rounds += 1
      if (rounds > MOST_ROUNDS) questions.rejectAll('it was not answered')
      const { signal } = ctx.mcpReq
      if (signal.aborted) end()
      signal.addEventListener('abort', end)
      try {
        return await Promise.race([replied, questions.next()])
      } finally {
        signal.removeEventListener('abort', end)
        if (attended === ctx) attended = null
      }
    },
    answer: (inputResponses) => questions.answer(inputResponses),
    expire(patienceMs, onExpired) {
      clearTimeout(timer)
      timer = setTimeout(() => {
        onExpired()
        questions.rejectAll('nobody answered')
        end()
      }, patienceMs).unref()
    },
  }
}

interface Question {
  readonly request: InputRequest
  readonly resolve: (answer: JsonObject) => void
  readonly reject: (error: KiwiError) => void
}

interface Questions {
  ask(method: string, params: JsonObject, signal?: Stop): Promise<JsonObject>
  /** Kept when there are any. */
  next(): Promise<End>
  answer(inputResponses: Readonly<Record<string, unknown>>): void
  rejectAll(reason: string): void
}

function openQuestions(): Questions {
  const open = new Map<string, Question>()
  const waiting = new Set<() => void>()
  let count = 0
  const next = async (): Promise<End> => {
    if (open.size === 0) await new Promise<void>((resolve) => waiting.add(resolve))
    waiting.clear()
    // What is asked in one go is shown in one go.
    await setImmediate()
    if (open.size === 0) return next()
    return {
      kind: 'asked',
      asked: Object.fromEntries(Array.from(open, ([key, { request }]) => [key, request])),
    }
  }
  return {
    next,
    ask: (method, params, signal) =>
      new Promise((resolve, reject) => {
        const key = `${PREFIX}${++count}`
        open.set(key, { request: inputOf(method, params), resolve, reject })
        signal?.addEventListener('abort', () => {
          open.delete(key)
          reject(cannotAsk(method, 'it was taken back'))
        })
        for (const wake of waiting) wake()
      }),
    answer(inputResponses) {
      for (const [key, answer] of Object.entries(inputResponses)) {
        const question = open.get(key)
        if (question === undefined) continue
        open.delete(key)
        if (isJsonObject(answer)) question.resolve(answer)
        else question.reject(cannotAsk(question.request.method, 'the answer cannot be read'))
      }
    },
    rejectAll(reason) {
      for (const { request, reject } of open.values()) reject(cannotAsk(request.method, reason))
      open.clear()
    },
  }
}

/** The newer era has no ids for what is asked: the handle of the call is enough. */
function inputOf(method: string, { elicitationId: _id, ...params }: JsonObject): InputRequest {
  const input = method === 'roots/list' ? { method } : { method, params }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one of the three that can be asked, as the upstream wrote it
  return input as unknown as InputRequest
}
