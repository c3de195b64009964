import { randomBytes } from 'node:crypto'
import type { InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { ProtocolError, createRequestStateCodec, inputRequired } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { canonicalJson, sha256 } from '../shared/json.ts'
import type { Reply } from '../shared/reply.ts'
import type { Abilities } from './client-abilities.ts'
import type { Making, ParkedCall } from './parked-call.ts'
import { PREFIX, beginParked } from './parked-call.ts'

/**
 * Calls of clients of the newer era, who can only be asked in an answer: the call goes on while the client looks for
 * what is asked, and the repeated request finds it by a sealed handle and waits on.
 */
export interface ParkedCalls {
  /** Answers with the reply, or with what an upstream wants to know. */
  make(occasion: Occasion, making: Making): Promise<Reply | InputRequiredResult>
  /** The same for a repeated request; null when it has no handle of ours, and a protocol error when that is not good. */
  resume(occasion: Occasion): Promise<Reply | InputRequiredResult | null>
}

interface Occasion {
  readonly ctx: ServerContext
  /** What must be the same when it is repeated. */
  readonly request: object
  readonly abilities: Abilities
}

/** How long a client may take to come back. */
const PATIENCE_MS = 10 * 60 * 1000
const MOST_PARKED = 100
const INVALID_PARAMS = -32_602

const State = z.object({ parked: z.string(), request: z.string() })

export function openParkedCalls(principal: string, patienceMs = PATIENCE_MS): ParkedCalls {
  const parked = new Map<string, ParkedCall>()
  const hasRoom = (): boolean => parked.size < MOST_PARKED
  // Only this process has the calls, so nobody else needs the key.
  const codec = createRequestStateCodec<z.infer<typeof State>>({
    key: randomBytes(32),
    ttlSeconds: Math.ceil(patienceMs / 1000),
    bind: ({ mcpReq }) => `${mcpReq.method} ${principal}`,
  })

  const next = async (one: ParkedCall, ctx: ServerContext): Promise<Reply | InputRequiredResult> => {
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
    async make({ ctx, request, abilities }, making) {
      return next(beginParked({ request: hashOf(request), ctx, abilities, hasRoom }, making), ctx)
    },
    async resume({ ctx, request }) {
      const { inputResponses = {}, requestState } = ctx.mcpReq
      const isOurs = Object.keys(inputResponses).some((key) => key.startsWith(PREFIX))
      const state: unknown = requestState()
      if (!isOurs && state === undefined) return null
      const handle = await verified(state, ctx)
      if (handle === null && !isOurs) return null
      const one = handle === null ? undefined : parked.get(handle.parked)
      if (one === undefined || handle?.request !== hashOf(request)) throw badHandle()
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

function hashOf(request: object): string {
  return sha256(canonicalJson(request))
}

function badHandle(): ProtocolError {
  return new ProtocolError(
    INVALID_PARAMS,
    'Invalid or expired requestState: the call it names does not wait here',
    {
      reason: 'invalid_request_state',
    },
  )
}
