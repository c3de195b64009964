import type { ClientCapabilities, ServerContext } from '@modelcontextprotocol/server'
import { CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY } from '@modelcontextprotocol/server'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'

/** What a client said it can do, for one of its requests. */
export interface Abilities {
  readonly capabilities: JsonObject
  /** From which level on it hears the log; null when it does not. */
  readonly logLevel: string | null
}

interface Declared {
  readonly era: 'legacy' | 'modern'
  readonly ctx: ServerContext
  /** What it said when it opened the session, in the older era. */
  readonly opened: ClientCapabilities | undefined
  /** The level it set since. */
  readonly level: string | null
}

/** In the newer era every request says it anew. */
export function abilitiesOf(given: Declared): Abilities {
  const { era, ctx, level } = given
  const envelope: unknown = ctx.mcpReq.envelope
  const said = isJsonObject(envelope) ? envelope : {}
  const logLevel = era === 'modern' ? said[LOG_LEVEL_META_KEY] : level
  return {
    capabilities: askable(declaredBy(given)),
    logLevel: typeof logLevel === 'string' ? logLevel : null,
  }
}

/** All that it declared, as it did. */
export function declaredBy({ era, ctx, opened }: Declared): JsonObject {
  const envelope: unknown = ctx.mcpReq.envelope
  const said = isJsonObject(envelope) ? envelope : {}
  const declared: unknown = era === 'modern' ? said[CLIENT_CAPABILITIES_META_KEY] : opened
  return isJsonObject(declared) ? declared : {}
}

const ASKABLE = ['elicitation', 'sampling', 'roots']

function askable(declared: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(declared).filter(([name]) => ASKABLE.includes(name)))
}
