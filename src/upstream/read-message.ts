import { withExactNumbers } from '../shared/exact-numbers.ts'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'

/** One line of an upstream, understood. */
export type Message =
  | { readonly kind: 'result'; readonly id: number; readonly result: JsonObject }
  | { readonly kind: 'error'; readonly id: number; readonly code: number; readonly message: string }
  | { readonly kind: 'request'; readonly id: string | number; readonly method: string }
  | { readonly kind: 'notice'; readonly method: string }

/** Null for what is no message of JSON-RPC: programs print all kinds of things. */
export function readMessage(line: string): Message | null {
  const message = parse(line)
  if (!isJsonObject(message) || message['jsonrpc'] !== '2.0') return null
  const { id, method, result, error } = message
  if (typeof method === 'string') {
    if (id === undefined) return { kind: 'notice', method }
    return typeof id === 'string' || typeof id === 'number' ? { kind: 'request', id, method } : null
  }
  if (typeof id !== 'number') return null
  if (isJsonObject(result)) return { kind: 'result', id, result }
  if (!isJsonObject(error)) return null
  const { code, message: said } = error
  return {
    kind: 'error',
    id,
    code: typeof code === 'number' ? code : 0,
    message: typeof said === 'string' ? said : '',
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(withExactNumbers(line))
  } catch {
    return null
  }
}
