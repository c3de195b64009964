import { hash } from 'node:crypto'
import type { ErrorCode } from './errors.ts'
import { KiwiError } from './errors.ts'
import { LIMITS } from './limits.ts'

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** For what came out of JSON, which is JSON all the way down. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value)
}

export function sha256(data: string | Uint8Array): string {
  return hash('sha256', data)
}

/** RFC 8785 for what JSON can hold: keys sorted by UTF-16 units, no spaces. Equal values give equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const parts: string[] = []
  for (const key of Object.keys(value).toSorted()) {
    if (value[key] !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalJson(value[key])}`)
  }
  return `{${parts.join(',')}}`
}

/** A copy that shares nothing, of what is nested no deeper than the limit. */
export function copyOf<T extends JsonValue>(value: T): T
export function copyOf(value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) return value.map((item) => copyOf(item))
  const copy: Record<string, JsonValue> = {}
  for (const key of Object.keys(value)) {
    const own = value[key]
    if (own === undefined) continue
    const inner = copyOf(own)
    // Written as a plain key it would become the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { ...OWN, value: inner })
    else copy[key] = inner
  }
  return copy
}

const OWN = { configurable: true, enumerable: true, writable: true }

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value) && !ArrayBuffer.isView(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}

const UNSAFE_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

export function isUnsafeKey(key: string): boolean {
  return UNSAFE_KEYS.has(key)
}

/**
 * Refuses what no later step should have to think about: what JSON cannot hold, nesting over the limit, keys that reach
 * a prototype, NUL bytes, numbers that would not come out as they went in. Walks with a stack of its own, so that depth cannot
 * overflow ours.
 */
export function assertPlain(value: unknown, what: string, code: ErrorCode = 'INVALID_PARAMETERS'): void {
  const refused = (reason: string, name: string): KiwiError =>
    new KiwiError(code, `Cannot read ${what}: ${reason}`, {
      details: { missing: [], invalid: [{ name, reason }] },
    })
  const open: { value: unknown; path: string; depth: number }[] = [{ value, path: '', depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value: inner, path, depth } = next
    const fault = faultOf(inner)
    if (fault !== null) throw refused(`"${path || 'value'}" ${fault}`, path)
    if (typeof inner !== 'object' || inner === null) continue
    if (depth >= LIMITS.nesting) {
      throw new KiwiError(
        'TOO_DEEP',
        `Cannot read ${what}: it is nested deeper than ${LIMITS.nesting} levels`,
      )
    }
    for (const [key, child] of Object.entries(inner)) {
      if (isUnsafeKey(key)) throw refused(`"${key}" is not allowed as a key`, key)
      const at = path === '' ? key : `${path}.${key}`
      if (key.includes('\0')) throw refused(`the key "${at}" holds a NUL byte`, at)
      open.push({ value: child, path: at, depth: depth + 1 })
    }
  }
}

/** A text that is one JSON value which comes out as it went in; undefined for any other. */
export function parsePlain(text: string): JsonValue | undefined {
  try {
    const value: unknown = JSON.parse(text)
    assertPlain(value, 'text')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- parsed from JSON
    return value as JsonValue
  } catch {
    return undefined
  }
}

/** What is wrong with a single value. */
function faultOf(value: unknown): string | null {
  if (typeof value === 'string' && value.includes('\0')) return 'holds a NUL byte'
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint')
    return 'is nothing that JSON can hold'
  if (typeof value !== 'number' || isExact(value)) return null
  return 'is a number that cannot be kept exactly; write it as text'
}

/** Whole numbers beyond 2^53 fall together with their neighbours. From 1e21 on people write powers, not digits. */
function isExact(number: number): boolean {
  if (!Number.isFinite(number)) return false
  return !Number.isInteger(number) || Number.isSafeInteger(number) || Math.abs(number) >= 1e21
}
