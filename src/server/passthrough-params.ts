import type { ServerContext } from '@modelcontextprotocol/server'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Carried } from './ask-client.ts'

/** The parameters as the client sent them. */
export function paramsOf(params: JsonObject, { mcpReq }: ServerContext, carried: Carried): JsonObject {
  const { _meta: _, ...own } = params
  const given: unknown = mcpReq._meta
  const envelope: unknown = mcpReq.envelope
  const meta = { ...(isJsonObject(given) ? given : {}), ...(isJsonObject(envelope) ? envelope : {}) }
  const { inputResponses, requestState } = carried
  return {
    ...own,
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
    ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  }
}
