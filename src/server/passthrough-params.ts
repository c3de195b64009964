import type { ServerContext } from '@modelcontextprotocol/server'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Carried } from './ask-client.ts'

/** The parameters as the client sent them. */
export function paramsOf(params: JsonObject, { mcpReq }: ServerContext, carried: Carried): JsonObject {
  const { _meta: _, ...own } = params
  const { _meta: given, envelope }: { _meta?: unknown; envelope?: unknown } = mcpReq
  const meta = { ...(isJsonObject(given) ? given : {}), ...(isJsonObject(envelope) ? envelope : {}) }
  const { inputResponses, requestState } = carried
  return {
    ...own,
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
    ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  }
}
