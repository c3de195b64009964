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
  readonly options: Pick<
    UpstreamRequest,
    'ask' | 'tell' | 'progress' | 'capabilities' | 'onResend' | 'onRefused'
  >
  /** What the request says of it, for upstreams that read it there. */
  readonly meta: JsonObject
  /** What it asked for and did not get, in words. */
  readonly inVain: ReadonlySet<string>
  /** Those of it that matter though the call came to its end, and that it was sent more than once. */
  readonly warnings: ReadonlySet<string>
}

/** More than that in one call is no question but a flood. */
const MOST_QUESTIONS = 32
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'

/** Everything it says has live secrets taken out, as its results have. */
export function openTalk(
  { ask, tell, capabilities = {}, logLevel }: Watch,
  redact: Redact,
  /** What else whoever waits for the answer can do. */
  more: (capabilities: JsonObject) => JsonObject = (declared) => declared,
): UpstreamTalk {
  const inVain = new Set<string>()
  const warnings = new Set<string>()
  const clean = (params: JsonObject): JsonObject => {
    const cleaned = redact(params)
    return isJsonObject(cleaned) ? cleaned : {}
  }
  const note = (method: string, why: string): void => {
    const said = `the server asked for ${method}: ${textOf(redact(why))}`
    inVain.add(said)
    // Many ask for roots when they start, and do without.
    if (method !== 'roots/list') warnings.add(said)
  }
  let questions = 0
  const askClient: Ask = async (request, signal) => {
    try {
      questions += 1
      if (questions > MOST_QUESTIONS) throw refused(request.method, 'it asks without end')
      if (ask === undefined) throw refused(request.method, 'nobody can be asked')
      return await ask({ ...request, params: clean(request.params) }, signal)
    } catch (error) {
      note(request.method, messageOf(error))
      throw error
    }
  }
  return {
    ask: askClient,
    options: {
      ask: askClient,
      capabilities: more(ask === undefined ? {} : capabilities),
      onRefused: note,
      onResend: (why) => void warnings.add(`the call was sent again: ${textOf(redact(why, true))}`),
      tell: tell && ((notice) => tell({ ...notice, params: clean(notice.params) })),
      progress:
        tell &&
        forward((params) => tell({ from: '', method: 'notifications/progress', params: clean(params) })),
    },
    meta: logLevel === undefined ? {} : { [LOG_LEVEL]: logLevel },
    inVain,
    warnings,
  }
}

/** What is sent again begins anew, and whoever waits was told of more. */
function forward(tell: (params: JsonObject) => void): (params: JsonObject) => void {
  let furthest = -Infinity
  return (params) => {
    const { progress } = params
    if (typeof progress === 'number' && progress < furthest) return
    if (typeof progress === 'number') furthest = progress
    tell(params)
  }
}

const METHOD_NOT_FOUND = -32_601

function refused(method: string, reason: string): KiwiError {
  return new KiwiError('PERMISSION_DENIED', `Cannot answer "${method.slice(0, 64)}": ${reason}`, {
    details: { rpc_error: { code: METHOD_NOT_FOUND } },
  })
}
