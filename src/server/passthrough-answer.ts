import type { InputRequiredResult, Result } from '@modelcontextprotocol/server'
import { ProtocolError, Server } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Reply, ReplyError } from '../shared/reply.ts'

/** What a request came to: the reply of the gate, or something that is asked of the client first. */
export type Answered = Reply | InputRequiredResult
type Shown = WholeReply | InputRequiredResult

const RpcError = z.object({
  rpc_error: z.object({ code: z.number(), message: z.string(), data: z.json().optional() }),
})
const Question = z.looseObject({ summary: z.string(), how: z.array(z.string()) })
const INVALID_PARAMS = -32_602
const REFUSED = -32_000
/** What is wrong with the request itself. */
const MISTAKES: ReadonlySet<string> = new Set([
  'NOT_FOUND',
  'INVALID_PARAMETERS',
  'MISSING_INPUTS',
  'INVALID_ID',
  'UNKNOWN_ARGUMENT',
])
/** From this revision on wrong arguments are told to the model, as the result of the tool. */
const TELLS_MODELS = '2025-11-25'

interface Asked {
  readonly method: string
  /** The revision of the protocol that the client speaks. */
  readonly protocol: string | undefined
}

/** The answer of the server as it came. What stood against it is an error, or the result of a tool that says so. */
export function answerOf({ method, protocol = TELLS_MODELS }: Asked, answered: Shown): Result {
  if ('resultType' in answered) return answered
  const { status, data } = answered
  if (status === 'success') return resultOf(isJsonObject(data) ? data : {})
  const said = RpcError.safeParse(data).data?.rpc_error
  if (said !== undefined) throw new ProtocolError(said.code, said.message, said.data)
  const { error } = answered
  const isCall = method === 'tools/call'
  const isMistake = error !== null && isOfRequest(error, isCall && protocol >= TELLS_MODELS)
  if (!isCall || isMistake)
    throw new ProtocolError(isMistake ? INVALID_PARAMS : REFUSED, messageOf(answered), error ?? data)
  return {
    content: [{ type: 'text', text: messageOf(answered) }],
    structuredContent: { ...answered },
    isError: true,
  }
}

/** Wrong arguments of a tool may be something for the model. */
function isOfRequest({ code, details }: WholeError, tellsModel: boolean): boolean {
  return MISTAKES.has(code) && !(tellsModel && Findings.safeParse(details).success)
}

type WholeError = Omit<ReplyError, 'fix'>
type WholeReply = Omit<Reply, 'error'> & { readonly error: WholeError | null }

/** Arguments that do not fit the schema of a tool. */
const Findings = z.object({ missing: z.array(z.json()), invalid: z.array(z.json()) })
const NoTool = z.union([
  z.looseObject({ tool: z.string(), did_you_mean: z.array(z.string()).optional() }),
  z.looseObject({ item_type: z.literal('tool'), did_you_mean: z.array(z.string()).optional() }),
])

/** Who sees a server whole has its methods and none of our tools: nothing that is said sends them there. */
export function forWhole(answered: Answered): Shown {
  return 'resultType' in answered ? answered : wholeReply(answered)
}

function wholeReply(reply: Reply): WholeReply {
  if (reply.error === null) return { ...reply, error: null }
  const { fix: _, ...error } = reply.error
  return { ...reply, error: { ...error, hint: hintFor(error) } }
}

function hintFor({ code, hint, details }: WholeError): string {
  if (code === 'INVALID_PARAMETERS' && Findings.safeParse(details).success)
    return 'Correct what is named and send the call again; tools/list shows the schema'
  const missing = code === 'NOT_FOUND' ? NoTool.safeParse(details).data : undefined
  if (missing === undefined) return hint
  const names = missing.did_you_mean?.map((id) => id.slice(id.indexOf('.') + 1))
  return names === undefined ? 'tools/list says which tools there are' : `Did you mean ${names.join(', ')}?`
}

/** In the newer era the SDK says itself that a result is whole; the older one knows no such word. */
function resultOf({ resultType, ...result }: JsonObject): Result {
  return resultType === undefined || resultType === 'complete' ? { ...result } : { ...result, resultType }
}

function messageOf({ error, data }: Pick<WholeReply, 'error' | 'data'>): string {
  if (error !== null) return `${error.message}\n${error.hint}`
  const { summary = '', how = [] } = Question.safeParse(data).data ?? {}
  return [`A person must approve this first: ${summary}`, ...how].join('\n')
}

/** A server that only says why it cannot be one: even that is an answer. */
export function refusing(reply: Reply): Server {
  const { error, data } = wholeReply(reply)
  const refuse = (): never => {
    throw new ProtocolError(REFUSED, messageOf({ error, data }), error ?? data)
  }
  const server = new Server({ name: 'kiwi', version: '0' }, { capabilities: {} })
  server.setRequestHandler('initialize', refuse)
  server.fallbackRequestHandler = () => refuse()
  return server
}
