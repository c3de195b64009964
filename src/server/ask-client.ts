import { randomBytes } from 'node:crypto'
import type { InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { createRequestStateCodec, inputRequired, inputResponse } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { longestScope } from '../kernel/approval-view.ts'
import { changeLines } from '../kernel/change-lines.ts'
import { answerAct } from '../meta/answer-act.ts'
import type { Client } from '../meta/meta.ts'
import { cannotAnswer } from '../shared/can-answer.ts'
import type { Reply } from '../shared/reply.ts'
import { realSignal } from '../shared/stop.ts'
import type { Endpoint } from './build-server.ts'
import type { Abilities } from './client-abilities.ts'

/** Below what clients wait for a tool: whoever thinks longer answers with `kiwi approve`. */
const PATIENCE_MS = 50_000
const KEY = 'approval'
const STATE_SECONDS = 3600

const Asked = z.looseObject({ approval_id: z.string(), summary: z.string() })
const Filled = z.object({
  decision: z.enum(['once', 'run', 'reject']),
  reason: z.string().max(500).optional(),
})
const Carried = z
  .object({ inputResponses: z.record(z.string(), z.json()), requestState: z.string() })
  .partial()
const State = z.object({ approval_id: z.string(), carried: Carried })

/** What came for a server behind: it waits, sealed, while a person is asked about the call itself. */
export type Carried = z.infer<typeof Carried>

interface Occasion {
  readonly ctx: ServerContext
  readonly era: 'legacy' | 'modern'
  readonly client: Client
  readonly abilities: Abilities
}

/** The call may itself end in what an upstream wants to know. */
type Answer = Reply | InputRequiredResult
type Asked = (call: (carried: Carried) => Promise<Answer>) => Promise<Answer>

/**
 * Asks the person at the client about a call that waits for one, where the client can show a form. The answer goes the
 * way of every answer, and the call is made again: it finds what was said.
 */
export function createAsking(endpoint: Endpoint): (occasion: Occasion) => Asked {
  // What an older process gave out does not fit any more: then the person is asked once more.
  const codec = createRequestStateCodec<z.infer<typeof State>>({
    key: randomBytes(32),
    ttlSeconds: STATE_SECONDS,
    bind: ({ mcpReq }) => `${mcpReq.method} ${endpoint.principal}`,
  })

  /** Whether it was an answer at all: a form that was only closed leaves the question open. */
  const decide = async (approvalId: string, answer: Elicited, { client }: Occasion): Promise<boolean> => {
    const form = answer.action === 'accept' ? Filled.safeParse(answer.content).data : undefined
    if (form === undefined && answer.action !== 'decline') return false
    const { decision, reason = null } = form ?? { decision: 'reject' as const }
    const meta = await endpoint.open()
    const { id, mac, project } = await meta.question(approvalId)
    const act = answerAct(
      {
        approval: id,
        seen: mac,
        decision: decision === 'reject' ? 'deny' : 'approve',
        scope: decision === 'run' ? 'run' : 'once',
        reason,
        parameters: null,
        channel: 'client',
      },
      project,
    )
    await meta.act(act, { ...client, kind: 'person' })
    return true
  }

  /** The form goes to the person, so it may show what a file holds now; the reply, which the model reads, may not. */
  const formFor = async ({ data }: Reply): Promise<{ approval_id: string; form: Form }> => {
    const { approval_id, summary } = Asked.parse(data)
    const meta = await endpoint.open()
    const question = await meta.question(approval_id)
    const changes = changeLines(question, false, meta.redact)
    return { approval_id, form: formOf([summary, ...changes].join('\n'), longestScope(question)) }
  }

  const askNow = async (occasion: Occasion, call: () => Promise<Answer>, waiting: Reply): Promise<Answer> => {
    const { approval_id, form } = await formFor(waiting)
    const { mcpReq } = occasion.ctx
    const { signal } = mcpReq
    // The form is taken back with the call. What is answered all the same is an answer to nothing.
    const options = { timeout: PATIENCE_MS, signal: realSignal(signal) }
    const answer = await mcpReq
      .send({ method: 'elicitation/create', params: form }, options)
      // Who does not answer in time may still do so elsewhere.
      .catch(() => null)
    if (answer === null || signal.aborted) return waiting
    const isAnswered = await decide(approval_id, answer, occasion)
    // A yes is not used up by a call that nobody waits for.
    return isAnswered && !signal.aborted ? call() : waiting
  }

  return (occasion) => async (make) => {
    const { ctx, era } = occasion
    const { mcpReq } = ctx
    const given = inputResponse(mcpReq.inputResponses, KEY)
    const state = given.kind === 'elicit' ? await verified(codec, ctx) : null
    if (given.kind === 'elicit' && state !== null) await decide(state.approval_id, given, occasion)
    const carried = state?.carried ?? carriedBy(ctx)
    const call = (): Promise<Answer> => make(carried)
    const reply = await call()
    if (
      'resultType' in reply ||
      reply.status !== 'approval_required' ||
      state !== null ||
      !canShowForm(occasion)
    )
      return reply
    if (era === 'legacy') return askNow(occasion, call, reply)
    const { approval_id, form } = await formFor(reply)
    return inputRequired({
      inputRequests: { [KEY]: inputRequired.elicit(form) },
      requestState: await codec.mint({ approval_id, carried }, ctx),
    })
  }
}

function carriedBy({ mcpReq }: ServerContext): Carried {
  const { inputResponses } = mcpReq
  const requestState: unknown = mcpReq.requestState()
  if (inputResponses === undefined && requestState === undefined) return {}
  const { data = {} } = Carried.safeParse({
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(typeof requestState === 'string' ? { requestState } : {}),
  })
  return data
}

interface Elicited {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: unknown
}

async function verified(
  codec: ReturnType<typeof createRequestStateCodec>,
  ctx: ServerContext,
): Promise<z.infer<typeof State> | null> {
  try {
    return State.parse(await codec.verify(z.string().parse(ctx.mcpReq.requestState()), ctx))
  } catch {
    return null
  }
}

function canShowForm({ abilities: { capabilities } }: Occasion): boolean {
  return cannotAnswer(capabilities, { method: 'elicitation/create', params: {} }) === null
}

type Form = Parameters<typeof inputRequired.elicit>[0]

function formOf(question: string, longest: 'once' | 'run'): Form {
  const forLong = longest === 'run' ? ' run: this tool for the rest of the session;' : ''
  return {
    message: `A call waits for your answer:\n\n${question}`,
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Decision',
          description: `once: this very call;${forLong} reject: not at all`,
          enum: longest === 'run' ? ['once', 'run', 'reject'] : ['once', 'reject'],
        },
        reason: { type: 'string', title: 'Reason', description: 'told to whoever asks', maxLength: 500 },
      },
      required: ['decision'],
    },
  }
}
