import { isJsonObject } from '../shared/json.ts'
import type { JsonObject } from '../shared/json.ts'
import { VERSION } from '../shared/version.ts'
import type { Description, UpstreamRequest } from './upstream.ts'

export const MODERN_PROTOCOL = '2026-07-28'
export const LEGACY_PROTOCOL = '2025-11-25'
/** An upstream answers with the one it speaks. */
const LEGACY_PROTOCOLS: readonly string[] = [
  LEGACY_PROTOCOL,
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
]

export const CLIENT_INFO = { name: 'kiwi-mcp', version: VERSION }
/** Everything that can be passed on to whoever calls. Who cannot answer says so when asked. */
export const ASKABLE: JsonObject = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
}

const KEY = 'io.modelcontextprotocol/'
const PROTOCOL_KEY = `${KEY}protocolVersion`
const INFO_KEY = `${KEY}clientInfo`
const CAPABILITIES_KEY = `${KEY}clientCapabilities`
const SERVER_INFO_KEY = `${KEY}serverInfo`
const LOG_KEY = `${KEY}logLevel`

/** The parameters of a request as an upstream of this era takes them; `number` is ours, so what is told of it finds back. */
export function paramsOf(
  era: Description['era'],
  { params, ask, capabilities, tell, progress }: UpstreamRequest,
  number: number,
): JsonObject {
  const given = isJsonObject(params['_meta']) ? params['_meta'] : null
  if (era === 'legacy' && given === null) {
    if (progress === undefined) return params
    const meta = { progressToken: number }
    // What is spread comes last, where that makes no difference: it is faster.
    return params['_meta'] === undefined ? { _meta: meta, ...params } : { ...params, _meta: meta }
  }
  const {
    progressToken: _token,
    [PROTOCOL_KEY]: _protocol,
    [INFO_KEY]: info = CLIENT_INFO,
    [CAPABILITIES_KEY]: declared,
    [LOG_KEY]: level = 'info',
    ...others
  } = given ?? {}
  const meta = {
    ...others,
    ...(progress === undefined ? {} : { progressToken: number }),
    ...(era === 'legacy'
      ? {}
      : {
          [PROTOCOL_KEY]: MODERN_PROTOCOL,
          [INFO_KEY]: info,
          [CAPABILITIES_KEY]: capabilities ?? declared ?? (ask === undefined ? {} : ASKABLE),
          ...(tell === undefined ? {} : { [LOG_KEY]: level }),
        }),
  }
  return { ...params, _meta: meta }
}

/** What `server/discover` answered; null when that is no upstream of the newer era. */
export function modernDescription(result: JsonObject, judgedAt: number): Description | null {
  const { supportedVersions, _meta: meta } = result
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_PROTOCOL)) return null
  const info = isJsonObject(meta) ? meta[SERVER_INFO_KEY] : undefined
  return {
    era: 'modern',
    protocol: MODERN_PROTOCOL,
    ...describedIn(result),
    serverInfo: objectIn(info),
    judgedAt,
  }
}

/** What `initialize` answered; null when it speaks a revision that we do not. */
export function legacyDescription(result: JsonObject, judgedAt: number): Description | null {
  const { protocolVersion: protocol, serverInfo } = result
  if (typeof protocol !== 'string' || !LEGACY_PROTOCOLS.includes(protocol)) return null
  return { era: 'legacy', protocol, ...describedIn(result), serverInfo: objectIn(serverInfo), judgedAt }
}

function describedIn({
  capabilities,
  instructions,
}: JsonObject): Pick<Description, 'capabilities' | 'instructions'> {
  return {
    capabilities: objectIn(capabilities),
    instructions: typeof instructions === 'string' ? instructions : null,
  }
}

function objectIn(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}
