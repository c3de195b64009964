import type { JsonObject, JsonValue } from '../shared/json.ts'
import { canonicalJson, isJsonObject, sha256 } from '../shared/json.ts'
import type { Item } from './item.ts'

/** All that is configured of a server, key by key, with nothing filled in: `command`, `env.MODE`, `tools`. */
export function launchKeys({ raw }: Item): ReadonlyMap<string, JsonValue> {
  const { config, ...rest } = raw
  const all = Object.entries(isJsonObject(config) ? config : {}).flatMap(([key, value]) =>
    NAMED.has(key) && isJsonObject(value)
      ? Object.entries(value).map(([name, inner]): [string, JsonValue] => [`${key}.${name}`, inner])
      : [[key, value] as [string, JsonValue]],
  )
  const beside = Object.entries(rest).filter(([key]) => !key.startsWith('_'))
  return new Map([...all, ...beside])
}

/** Whose values count one by one. */
const NAMED: ReadonlySet<string> = new Set(['env', 'headers'])

/** The same as hashes, for the store. */
export function launchParts(server: Item): JsonObject {
  return Object.fromEntries(
    Array.from(launchKeys(server), ([key, value]) => [key, sha256(canonicalJson(value))]),
  )
}

/** Keys that are new or hold something else than when it was trusted, and keys that are gone. */
export function launchChanges(
  server: Item,
  before: JsonObject,
): { readonly changed: readonly string[]; readonly gone: readonly string[] } {
  const now = launchParts(server)
  return {
    changed: Object.keys(now).filter((key) => now[key] !== before[key]),
    gone: Object.keys(before).filter((key) => !Object.hasOwn(now, key)),
  }
}
