import { hash } from 'node:crypto'
import { KiwiError } from './errors.ts'
import { LIMITS } from './limits.ts'

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function sha256(data: string | Uint8Array): string {
  return hash('sha256', data)
}

/** RFC 8785 for what JSON can hold: keys sorted by UTF-16 units, no spaces. Equal values give equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const parts: string[] = []
  // oxlint-disable-next-line unicorn/no-array-sort -- a fresh array
  for (const key of Object.keys(value).sort()) {
    if (value[key] !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalJson(value[key])}`)
  }
  return `{${parts.join(',')}}`
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
 * Refuses what no later step should have to think about: nesting over the limit, keys that reach a prototype,
 * NUL bytes. Walks with a stack of its own, so that depth cannot overflow ours.
 */
export function assertPlain(value: unknown, what: string): void {
  const open: { value: unknown; path: string; depth: number }[] = [{ value, path: '', depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value: inner, path, depth } = next
    if (typeof inner === 'string' && inner.includes('\0')) {
      throw refused(what, `"${path || 'value'}" holds a NUL byte`, path)
    }
    if (typeof inner !== 'object' || inner === null) continue
    if (depth >= LIMITS.nesting) {
      throw new KiwiError(
        'TOO_DEEP',
        `Cannot read ${what}: it is nested deeper than ${LIMITS.nesting} levels`,
      )
    }
    for (const [key, child] of Object.entries(inner)) {
      if (!Array.isArray(inner) && isUnsafeKey(key)) {
        throw refused(what, `"${key}" is not allowed as a key`, key)
      }
      open.push({ value: child, path: path === '' ? key : `${path}.${key}`, depth: depth + 1 })
    }
  }
}

function refused(what: string, reason: string, name: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot read ${what}: ${reason}`, {
    hint: 'Remove it and send the call again',
    details: { missing: [], invalid: [{ name, reason }] },
  })
}
