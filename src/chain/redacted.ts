import type { JsonValue } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'

/** A result without live secrets, of the same shape. What was cut off may end in the beginning of one. */
export function redacted<T extends object>(result: T, redact: Redact, isCut = false): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- results are JSON, and redacting keeps their shape
  return redact(result as unknown as JsonValue, isCut) as unknown as T
}
