import type { ClientCapabilities, ServerContext } from '@modelcontextprotocol/server'
import { CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY } from '@modelcontextprotocol/server'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { AskedOfClient } from '../shared/progress.ts'

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

/** Why a client with these capabilities cannot be asked this; null when it can. */
export function cannotAnswer(
  capabilities: JsonObject,
  { method, params }: Omit<AskedOfClient, 'from'>,
): string | null {
  const { elicitation, sampling, roots } = capabilities
  switch (method) {
    case 'elicitation/create':
      if (!isJsonObject(elicitation)) return 'the client cannot show forms'
      if (params['mode'] === 'url') return 'url' in elicitation ? null : 'the client cannot open addresses'
      return 'form' in elicitation || !('url' in elicitation) ? null : 'the client cannot show forms'
    case 'sampling/createMessage':
      if (!isJsonObject(sampling)) return 'the client does not sample'
      return params['tools'] === undefined || 'tools' in sampling
        ? null
        : 'the client does not sample with tools'
    case 'roots/list':
      return isJsonObject(roots) ? null : 'the client has no roots'
    default:
      return 'nobody knows the method'
  }
}

const METHOD_NOT_FOUND = -32_601

export function cannotAsk(method: string, reason: string): KiwiError {
  return new KiwiError('PERMISSION_DENIED', `Cannot ask the client for "${method.slice(0, 64)}": ${reason}`, {
    details: { rpc_error: { code: METHOD_NOT_FOUND } },
  })
}
