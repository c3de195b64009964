import type { ServerContext } from '@modelcontextprotocol/server'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { withoutMeta } from '../shared/without-meta.ts'
import type { Carried } from './ask-client.ts'

/** The parameters as the client sent them. */
export function paramsOf(params: JsonObject, { mcpReq }: ServerContext, carried: Carried): JsonObject {
  const { _meta: given, envelope }: { _meta?: unknown; envelope?: unknown } = mcpReq
  const { inputResponses, requestState } = carried
  // Nearly every call of a client of the older era.
  const isPlain = given === undefined && envelope === undefined && params['_meta'] === undefined
  if (isPlain && inputResponses === undefined && requestState === undefined) return params
  const meta = { ...(isJsonObject(given) ? given : {}), ...(isJsonObject(envelope) ? envelope : {}) }
  return {
    ...withoutMeta(params),
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
    ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  }
}
