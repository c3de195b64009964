import type { InputRequiredResult, Result } from '@modelcontextprotocol/server'
import { ProtocolError, Server } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Reply } from '../shared/reply.ts'

/** What a request came to: the reply of the gate, or something that is asked of the client first. */
export type Answered = Reply | InputRequiredResult

const RpcError = z.object({
  rpc_error: z.object({ code: z.number(), message: z.string(), data: z.json().optional() }),
})
const Asked = z.looseObject({ summary: z.string(), how: z.array(z.string()) })
const INVALID_PARAMS = -32_602
const REFUSED = -32_000
/** What is wrong with the request itself. */
const MISTAKES: ReadonlySet<string> = new Set([
  'NOT_FOUND',
  'INVALID_PARAMETERS',
  'INVALID_ID',
  'UNKNOWN_ARGUMENT',
])

/** The answer of the server as it came. What stood against it is an error, or the result of a tool that says so. */
export function answerOf(method: string, answered: Answered): Result {
  if ('resultType' in answered) return answered
  const { status, data, error } = answered
  if (status === 'success') return resultOf(isJsonObject(data) ? data : {})
  const said = RpcError.safeParse(data).data?.rpc_error
  if (said !== undefined) throw new ProtocolError(said.code, said.message, said.data)
  const isMistake = error !== null && MISTAKES.has(error.code)
  if (method !== 'tools/call' || isMistake)
    throw new ProtocolError(isMistake ? INVALID_PARAMS : REFUSED, messageOf(answered), error ?? data)
  return {
    content: [{ type: 'text', text: messageOf(answered) }],
    structuredContent: { ...answered },
    isError: true,
  }
}

/** In the newer era the SDK says itself that a result is whole; the older one knows no such word. */
function resultOf({ resultType, ...result }: JsonObject): Result {
  return resultType === undefined || resultType === 'complete' ? { ...result } : { ...result, resultType }
}

function messageOf({ error, data }: Reply): string {
  if (error !== null) return `${error.message}\n${error.hint}`
  const { summary = '', how = [] } = Asked.safeParse(data).data ?? {}
  return [`A person must approve this first: ${summary}`, ...how].join('\n')
}

/** A server that only says why it cannot be one: even that is an answer. */
export function refusing(reply: Reply): Server {
  const refuse = (): never => {
    throw new ProtocolError(REFUSED, messageOf(reply), reply.error ?? reply.data)
  }
  const server = new Server({ name: 'kiwi', version: '0' }, { capabilities: {} })
  server.setRequestHandler('initialize', refuse)
  server.fallbackRequestHandler = () => refuse()
  return server
}
