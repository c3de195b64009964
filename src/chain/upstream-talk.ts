import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Ask, Watch } from '../shared/progress.ts'
import type { Redact } from '../shared/redact.ts'
import { textOf } from '../shared/template.ts'
import type { UpstreamRequest } from '../upstream/upstream.ts'

/** What an upstream may ask and tell during one call, and what of it was refused. */
export interface UpstreamTalk {
  readonly ask: Ask
  /** What goes along with the request. */
  readonly options: Pick<UpstreamRequest, 'ask' | 'tell' | 'progress' | 'capabilities'>
  /** What the request says of it, for upstreams that read it there. */
  readonly meta: JsonObject
  readonly warnings: readonly string[]
}

/** More than that in one call is no question but a flood. */
const MOST_QUESTIONS = 32
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'

/** Everything it says has live secrets taken out, as its results have. */
export function openTalk({ ask, tell, capabilities = {}, logLevel }: Watch, redact: Redact): UpstreamTalk {
  const warnings: string[] = []
  const clean = (params: JsonObject): JsonObject => {
    const cleaned = redact(params)
    return isJsonObject(cleaned) ? cleaned : {}
  }
  let questions = 0
  const askClient: Ask = async (request, signal) => {
    try {
      questions += 1
      if (questions > MOST_QUESTIONS) throw refused(request.method, 'it asks without end')
      if (ask === undefined) throw refused(request.method, 'nobody can be asked')
      return await ask({ ...request, params: clean(request.params) }, signal)
    } catch (error) {
      const warning = `the server asked for ${request.method}: ${textOf(redact(messageOf(error)))}`
      if (!warnings.includes(warning)) warnings.push(warning)
      throw error
    }
  }
  return {
    ask: askClient,
    options: {
      ask: askClient,
      capabilities: ask === undefined ? {} : capabilities,
      ...(tell === undefined
        ? {}
        : {
            tell: (notice) => tell({ ...notice, params: clean(notice.params) }),
            progress: (params) => tell({ from: '', method: 'notifications/progress', params: clean(params) }),
          }),
    },
    meta: logLevel === undefined ? {} : { [LOG_LEVEL]: logLevel },
    warnings,
  }
}

function refused(method: string, reason: string): KiwiError {
  return new KiwiError('PERMISSION_DENIED', `Cannot answer "${method.slice(0, 64)}": ${reason}`)
}
