import { randomBytes, randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { InputRequest, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { ProtocolError, createRequestStateCodec, inputRequired } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, isJsonObject, sha256 } from '../shared/json.ts'
import type { Talk } from '../shared/progress.ts'
import type { Reply } from '../shared/reply.ts'
import type { Abilities } from './client-abilities.ts'
import { cannotAnswer } from './client-abilities.ts'
import type { Voice } from './client-voice.ts'
import { voiceOf } from './client-voice.ts'

/**
 * Calls of clients of the newer era, who can only be asked in an answer: the call goes on while the client looks for
 * what is asked, and the repeated request finds it by a sealed handle and waits on.
 */
export interface ParkedCalls {
  /** Answers with the reply, or with what an upstream wants to know. */
  make(occasion: ParkedOccasion, call: ParkedCall): Promise<Reply | InputRequiredResult>
  /** The same for a repeated request; null when it has no handle of ours, and a protocol error when that is not good. */
  resume(occasion: ParkedOccasion): Promise<Reply | InputRequiredResult | null>
}

export interface ParkedOccasion {
  readonly ctx: ServerContext
  /** The request as it must be repeated. */
  readonly params: object
  readonly abilities: Abilities
}

export type ParkedCall = (talk: Talk & Voice, signal: AbortSignal) => Promise<Reply>

/** How long a client may take to come back. */
const PATIENCE_MS = 10 * 60 * 1000
const MOST_PARKED = 100
const MOST_ROUNDS = 16
const INVALID_PARAMS = -32_602
const PREFIX = 'upstream-'

const State = z.object({ parked: z.string(), request: z.string() })

export function openParkedCalls(principal: string, patienceMs = PATIENCE_MS): ParkedCalls {
  const parked = new Map<string, Parked>()
  // Only this process has the calls, so nobody else needs the key.
  const codec = createRequestStateCodec<z.infer<typeof State>>({
    key: randomBytes(32),
    ttlSeconds: Math.ceil(patienceMs / 1000),
    bind: ({ mcpReq }) => `${mcpReq.method} ${principal}`,
  })

  const next = async (one: Parked, ctx: ServerContext): Promise<Reply | InputRequiredResult> => {
    const end = await one.attend(ctx)
    if (end.kind === 'reply') {
      parked.delete(one.id)
      return end.reply
    }
    parked.set(one.id, one)
    one.expire(patienceMs, () => parked.delete(one.id))
    const requestState = await codec.mint({ parked: one.id, request: one.request }, ctx)
    return inputRequired({ inputRequests: end.asked, requestState })
  }

  return {
    async make({ ctx, params, abilities }, call) {
      const one = createParked(hashOf(params), abilities, () => parked.size < MOST_PARKED)
      one.begin(ctx, call)
      return next(one, ctx)
    },
    async resume({ ctx, params }) {
      const { inputResponses = {}, requestState } = ctx.mcpReq
      const isOurs = Object.keys(inputResponses).some((key) => key.startsWith(PREFIX))
      const state: unknown = requestState()
      if (!isOurs && state === undefined) return null
      const handle = await verified(state, ctx)
      if (handle === null && !isOurs) return null
      const one = handle === null ? undefined : parked.get(handle.parked)
      if (one === undefined || handle?.request !== hashOf(params)) throw badHandle()
      one.answer(inputResponses)
      return next(one, ctx)
    },
  }

  async function verified(state: unknown, ctx: ServerContext): Promise<z.infer<typeof State> | null> {
    try {
      return State.parse(await codec.verify(z.string().parse(state), ctx))
    } catch {
      return null
    }
  }
}

function hashOf(params: object): string {
  return sha256(canonicalJson(params))
}

function badHandle(): ProtocolError {
  return new ProtocolError(INVALID_PARAMS, 'Invalid or expired requestState: the call it names does not wait here', {
    reason: 'invalid_request_state',
  })
}

type End =
  | { readonly kind: 'reply'; readonly reply: Reply }
  | { readonly kind: 'asked'; readonly asked: Record<string, InputRequest> }

interface Parked {
  readonly id: string
  readonly request: string
  begin(ctx: ServerContext, call: ParkedCall): void
  /** Waits for the reply, or for the next questions, on behalf of a request. */
  attend(ctx: ServerContext): Promise<End>
  answer(inputResponses: Readonly<Record<string, unknown>>): void
  /** Nobody who does not come back in time is waited for. */
  expire(patienceMs: number, onExpired: () => void): void
}

interface Question {
  readonly request: InputRequest
  readonly resolve: (answer: JsonObject) => void
  readonly reject: (error: KiwiError) => void
}

function createParked(request: string, abilities: Abilities, hasRoom: () => boolean): Parked {
  const ending = new AbortController()
  const open = new Map<string, Question>()
  let reply: Promise<Reply> = Promise.reject(new TypeError('a call was waited for before it began'))
  reply.catch(() => undefined)
  let attended: ServerContext | null = null
  let timer: NodeJS.Timeout | undefined
  let asked = 0
  let rounds = 0
  const waiting = new Set<() => void>()
  const rejectAll = (reason: string): void => {
    for (const { request: one, reject } of open.values()) reject(cannotAsk(one.method, reason))
    open.clear()
  }

  const ask: Talk['ask'] = ({ method, params }, signal) => {
    const reason = cannotAnswer(abilities.capabilities, { method, params })
    if (reason !== null) throw cannotAsk(method, reason)
    if (rounds >= MOST_ROUNDS || !hasRoom()) throw cannotAsk(method, 'too much is asked at once')
    return new Promise((resolve, reject) => {
      const key = `${PREFIX}${++asked}`
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the three methods that can be asked, as the upstream wrote them
      const shown = inputOf(method, params) as unknown as InputRequest
      open.set(key, { request: shown, resolve, reject })
      signal?.addEventListener('abort', () => {
        open.delete(key)
        reject(cannotAsk(method, 'it was taken back'))
      })
      for (const wake of waiting) wake()
    })
  }

  const questions = async (): Promise<End> => {
    // What is asked in one go is shown in one go.
    if (open.size === 0) await new Promise<void>((resolve) => waiting.add(resolve))
    waiting.clear()
    await setImmediate()
    if (open.size === 0) return questions()
    return { kind: 'asked', asked: Object.fromEntries(Array.from(open, ([key, { request: one }]) => [key, one])) }
  }

  return {
    id: randomUUID(),
    request,
    begin(ctx, call) {
      attended = ctx
      const talk = {
        ask,
        capabilities: abilities.capabilities,
        ...(abilities.logLevel === null ? {} : { logLevel: abilities.logLevel }),
        ...voiceOf(() => attended, abilities),
      }
      reply = call(talk, ending.signal)
      reply.catch(() => undefined)
    },
    async attend(ctx) {
      clearTimeout(timer)
      attended = ctx
      rounds += 1
      if (rounds > MOST_ROUNDS) rejectAll('it was not answered')
      const { signal } = ctx.mcpReq
      const cancel = (): void => ending.abort()
      signal.addEventListener('abort', cancel)
      try {
        return await Promise.race([
          reply.then((done): End => ({ kind: 'reply', reply: done })),
          questions(),
        ])
      } finally {
        signal.removeEventListener('abort', cancel)
        if (attended === ctx) attended = null
      }
    },
    answer(inputResponses) {
      for (const [key, answer] of Object.entries(inputResponses)) {
        const question = open.get(key)
        if (question === undefined) continue
        open.delete(key)
        if (isJsonObject(answer)) question.resolve(answer)
        else question.reject(cannotAsk(question.request.method, 'the answer cannot be read'))
      }
    },
    expire(patienceMs, onExpired) {
      clearTimeout(timer)
      timer = setTimeout(() => {
        onExpired()
        rejectAll('nobody answered')
        ending.abort()
      }, patienceMs).unref()
    },
  }
}

/** The newer era has no ids for what is asked: the handle of the call is enough. */
function inputOf(method: string, { elicitationId: _, ...params }: JsonObject): JsonObject {
  return method === 'roots/list' ? { method } : { method, params }
}

export function cannotAsk(method: string, reason: string): KiwiError {
  return new KiwiError('PERMISSION_DENIED', `Cannot ask the client for "${method.slice(0, 64)}": ${reason}`)
}
