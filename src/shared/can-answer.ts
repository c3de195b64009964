import { KiwiError } from './errors.ts'
import type { JsonObject } from './json.ts'
import { isJsonObject } from './json.ts'
import type { AskedOfClient } from './progress.ts'

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
