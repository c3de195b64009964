import type { JsonObject } from '../../shared/json.ts'
import { canonicalJson, sha256 } from '../../shared/json.ts'

/** What a definition is held to: all of it as it came, and how its server is reached. Order of keys and white space are no part of it. */
export function pinOf(raw: JsonObject, key: string): string {
  return sha256(canonicalJson({ definition: raw, launch: key }))
}
