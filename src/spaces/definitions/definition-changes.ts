import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { unifiedDiff } from '../../shared/unified-diff.ts'
import { visibleJson } from '../../shared/visible.ts'
import type { CatalogTool } from '../../store/catalog.ts'

/** A definition beside the one that was let pass, with every character to be seen. */
export function definitionDiff({ raw, approved }: Pick<CatalogTool, 'raw' | 'approved'>): string {
  const before = approved === null ? '' : `${visibleJson(approved)}\n`
  const after = `${visibleJson(inOrderOf(approved, raw))}\n`
  return unifiedDiff(before, after) ?? `${before}\n${after}`
}

/** Keys in the order of what was let pass: what only stands elsewhere would hide what is new among it. */
function inOrderOf(before: JsonValue, now: JsonValue): JsonValue {
  if (Array.isArray(before) && Array.isArray(now))
    return now.map((item: JsonValue, at) => inOrderOf(before[at] ?? null, item))
  if (!isJsonObject(before) || !isJsonObject(now)) return now
  const keys = [...Object.keys(before), ...Object.keys(now)].filter((key) => Object.hasOwn(now, key))
  return Object.fromEntries(
    Array.from(new Set(keys), (key) => [key, inOrderOf(before[key] ?? null, now[key] ?? null)]),
  )
}

/** What a listing put into quarantine that was not there before, for the record of it; a few, and of each its beginning. */
export function newlyHeld(
  before: readonly CatalogTool[],
  now: readonly CatalogTool[],
): readonly JsonObject[] {
  const known = new Set(before.filter(({ state }) => state === 'quarantined').map(({ pin }) => pin))
  return now
    .filter(({ state, pin, reason }) => state === 'quarantined' && reason !== 'unvouched' && !known.has(pin))
    .slice(0, MOST_NOTED)
    .map((tool) => ({
      tool: tool.name,
      reason: tool.reason,
      pin: tool.pin,
      findings: tool.findings.slice(0, MOST_NOTED),
      diff: definitionDiff(tool).slice(0, LONGEST_DIFF),
    }))
}

const MOST_NOTED = 10
const LONGEST_DIFF = 4096
