import { withExactNumbers } from '../shared/exact-numbers.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { LIMITS } from '../shared/limits.ts'
import { lookOver } from './look-over.ts'

/** One message of an upstream, understood. */
export type Message = Answer | Told | Asked

export type Answer =
  | { readonly kind: 'result'; readonly id: number; readonly result: JsonObject }
  | { readonly kind: 'error'; readonly id: number; readonly error: RpcError | 'too_deep' | 'too_much' }

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
  const { text: light, asText, fault, id: answered } = lookOver(text)
  if (fault !== null) return answered === null ? null : { kind: 'error', id: answered, error: fault }
  const message = parse(light)
  if (!isJsonObject(message) || message['jsonrpc'] !== '2.0') return null
  const { id, method } = message
  const isDeep = isDeeper(message, LIMITS.nesting)
  if (typeof method !== 'string')
    return typeof id === 'number' ? readAnswer(id, marked(message, asText), isDeep) : null
  if (isDeep) return null
  const params = isJsonObject(message['params']) ? message['params'] : {}
  if (id === undefined) return { kind: 'notice', method, params }
  return typeof id === 'string' || typeof id === 'number' ? { kind: 'request', id, method, params } : null
}

function readAnswer(id: number, { result, error }: JsonObject, isDeep: boolean): Answer | null {
  if (isDeep) return { kind: 'error', id, error: 'too_deep' }
  if (isJsonObject(result)) return { kind: 'result', id, result }
  const read = rpcErrorIn(error)
  return read === null ? null : { kind: 'error', id, error: read }
}

/** What an upstream refuses with; null for what is none. */
export function rpcErrorIn(error: JsonValue | undefined): RpcError | null {
  if (!isJsonObject(error)) return null
  const { code, message, data } = error
  const read = {
    code: typeof code === 'number' ? code : 0,
    message: typeof message === 'string' ? message : '',
  }
  return data === undefined ? read : { ...read, data }
}

/** Under `_meta` of a result: which parts of it are JSON as text, since they hold very many values, and how many. */
const AS_TEXT = 'kiwi/as_text'

function marked(message: JsonObject, asText: ReadonlyMap<string, number>): JsonObject {
  const { result } = message
  if (asText.size === 0 || !isJsonObject(result)) return message
  const meta = isJsonObject(result['_meta']) ? result['_meta'] : {}
  return { ...message, result: { ...result, _meta: { ...meta, [AS_TEXT]: Object.fromEntries(asText) } } }
}

/** Values in those parts of a result that are texts. */
export function heldAsText({ _meta: meta }: JsonObject): number {
  const marks = isJsonObject(meta) ? meta[AS_TEXT] : undefined
  return Object.values(isJsonObject(marks) ? marks : {}).reduce<number>((sum, many) => sum + Number(many), 0)
}

/** Takes the mark off: the result as it came, and which parts of it are texts. */
export function unmarked(result: JsonObject): {
  readonly result: JsonObject
  readonly asText: readonly string[]
} {
  const { _meta: meta, ...rest } = result
  const marks = isJsonObject(meta) ? meta[AS_TEXT] : undefined
  if (!isJsonObject(meta) || !isJsonObject(marks)) return { result, asText: [] }
  const { [AS_TEXT]: _, ...left } = meta
  const asText = ['content', 'structuredContent'].filter(
    (name) => Object.hasOwn(marks, name) && typeof rest[name] === 'string',
  )
  return { result: Object.keys(left).length === 0 ? rest : { ...rest, _meta: left }, asText }
}

/** The result as the server gave it, for whoever passes it on: null when it cannot be taken after all. */
export function asItCame(given: JsonObject): JsonObject | null {
  const { result, asText } = unmarked(given)
  if (asText.length === 0) return result
  const parts = asText.map((name) => [name, parse(textOf(result[name]))] as const)
  const whole: unknown = { ...result, ...Object.fromEntries(parts) }
  return isJsonObject(whole) && !isDeeper(whole, LIMITS.nesting) ? whole : null
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
