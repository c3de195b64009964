import { withExactNumbers } from '../shared/exact-numbers.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { readDeep } from './read-deep.ts'

/** One message of an upstream, understood. */
export type Message = Answer | Told | Asked

export type Answer =
  | { readonly kind: 'result'; readonly id: number; readonly result: JsonObject }
  | { readonly kind: 'error'; readonly id: number; readonly error: RpcError | 'too_deep' }

/** Something the upstream wants to know. */
export interface Asked {
  readonly kind: 'request'
  readonly id: string | number
  readonly method: string
  readonly params: JsonObject
}

export interface Told {
  readonly kind: 'notice'
  readonly method: string
  readonly params: JsonObject
}

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: JsonValue
}

/** Null for what is no message of JSON-RPC: programs print all kinds of things. */
export function readMessage(text: string): Message | null {
  const deep = readDeep(text)
  if (deep !== undefined) return deep
  const message = parse(text)
  if (!isJsonObject(message) || message['jsonrpc'] !== '2.0') return null
  const { id, method } = message
  const isDeep = isDeeper(message, LIMITS.nesting)
  if (typeof method !== 'string') return typeof id === 'number' ? readAnswer(id, message, isDeep) : null
  if (isDeep) return null
  const params = isJsonObject(message['params']) ? message['params'] : {}
  if (id === undefined) return { kind: 'notice', method, params }
  return typeof id === 'string' || typeof id === 'number' ? { kind: 'request', id, method, params } : null
}

function readAnswer(id: number, { result, error }: JsonObject, isDeep: boolean): Answer | null {
  if (isDeep) return { kind: 'error', id, error: 'too_deep' }
  if (isJsonObject(result)) return { kind: 'result', id, result }
  if (!isJsonObject(error)) return null
  const { code, message, data } = error
  const read = {
    code: typeof code === 'number' ? code : 0,
    message: typeof message === 'string' ? message : '',
  }
  return { kind: 'error', id, error: data === undefined ? read : { ...read, data } }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(withExactNumbers(text))
  } catch {
    return null
  }
}

/** Goes no deeper than the levels it asks for, so that depth cannot overflow our stack. */
function isDeeper(value: JsonValue | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    if (isDeeper(inner, levels - 1)) return true
  }
  return false
}
