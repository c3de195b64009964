import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { canonicalJson, isJsonObject, isUnsafeKey } from '../shared/json.ts'

/** One link's share of the config, and the keys nobody below it may set. */
export interface ConfigLayer {
  readonly id: string
  readonly config: JsonObject
  /** Paths such as `command` or `venv.required`. */
  readonly locked: readonly string[]
}

/**
 * From primitive to leaf: the child wins, objects merge, lists and scalars replace, null removes.
 * What a parent protects is never loosened: an attempt is an error that names key and parent.
 */
export function mergeConfigs(layers: readonly ConfigLayer[]): JsonObject {
  let merged: JsonObject = {}
  const locks: { path: readonly string[]; key: string; owner: string }[] = []
  for (const { id, config, locked } of layers) {
    assertNotLoosened(id, merged, config)
    const next = merge(merged, config)
    // Judged by what comes out: a lock below `venv` also ends when the whole of `venv` is replaced.
    for (const { path, key, owner } of locks) {
      if (!isEqual(valueAt(merged, path), valueAt(next, path))) throw lockedKey(id, key, owner)
    }
    merged = next
    for (const key of locked) locks.push({ path: key.split('.'), key, owner: id })
  }
  return merged
}

/** Shares what did not change with its inputs and copies only the levels that did. */
export function merge(base: JsonObject, over: JsonObject): JsonObject {
  let result: Record<string, JsonValue> | null = null
  for (const key in over) {
    assertSafeKey(key)
    const value = over[key]
    if (value === undefined) continue
    const before = Object.hasOwn(base, key) ? base[key] : undefined
    if (value === null && before !== undefined) {
      result ??= { ...base }
      delete result[key]
      continue
    }
    const next = isJsonObject(before) && isJsonObject(value) ? merge(before, value) : value
    if (next === before) continue
    if (next === value) assertSafeKeys(value)
    result ??= { ...base }
    result[key] = next
  }
  return result ?? base
}

function assertSafeKey(key: string): void {
  if (!isUnsafeKey(key)) return
  throw new KiwiError('INVALID_CONFIG', `Cannot merge config: "${key}" is not allowed as a key`)
}

/** What is taken over whole is not walked by the merge itself. */
function assertSafeKeys(value: JsonValue): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    assertSafeKey(key)
    assertSafeKeys(inner)
  }
}

function valueAt(config: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = config
  for (const key of path) {
    if (!isJsonObject(value)) return undefined
    value = value[key]
  }
  return value
}

function isEqual(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && canonicalJson(a) === canonicalJson(b))
}

/** Keys that protect wherever they stand, without being listed as locked. */
function assertNotLoosened(id: string, before: JsonObject, config: JsonObject): void {
  const inherits = config['inherit_env']
  if (before['inherit_env'] === false && inherits !== undefined && inherits !== false)
    throw lockedKey(id, 'inherit_env', null)
  const [ceiling, wanted] = [before['timeout_max'], config['timeout_max']]
  if (typeof ceiling === 'number' && (wanted === null || (typeof wanted === 'number' && wanted > ceiling))) {
    throw lockedKey(id, 'timeout_max', null)
  }
  const most = typeof wanted === 'number' ? wanted : ceiling
  if (typeof most === 'number' && typeof config['timeout'] === 'number' && config['timeout'] > most) {
    throw new KiwiError(
      'INVALID_CONFIG',
      `Cannot merge config of "${id}": "timeout" is over the timeout_max of ${most}`,
    )
  }
}

function lockedKey(id: string, key: string, owner: string | null): KiwiError {
  return new KiwiError(
    'INVALID_CONFIG',
    `Cannot merge config of "${id}": it changes "${key}", which ${owner === null ? 'its executor' : `"${owner}"`} protects`,
    { hint: `Remove "${key}" from the config of "${id}"`, details: { key, protected_by: owner, tool: id } },
  )
}
