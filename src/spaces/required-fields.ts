import type { FieldFault } from '../shared/field-faults.ts'
import { TYPE_RULES } from '../shared/tool-type.ts'
import type { Item } from './item.ts'

/** Where each field may be declared in a manifest. */
const DECLARED: Readonly<Record<string, readonly string[]>> = {
  description: ['description'],
  version: ['version'],
  tool_type: ['tool_type'],
  executor: ['executor', 'executor_id'],
}

/**
 * What an item must say of itself before it is signed or published and does not, all at once. Its name is that of its
 * file, and its category that of its folder: they are always there. A version that is there was read as one.
 */
export function missingFields({ raw, manifest }: Item): readonly FieldFault[] {
  const filledIn = raw['_undeclared']
  const isFilledIn = (name: string): boolean => Array.isArray(filledIn) && filledIn.includes(name)
  return Object.entries(DECLARED).flatMap(([name, keys]) => {
    const isSaid = keys.some((key) => isThere(raw[key])) && !isFilledIn(name)
    return isSaid ||
      (name === 'executor' && isImplied(manifest.tool_type, manifest.executor, isFilledIn(name)))
      ? []
      : [{ name, reason: 'is missing' }]
  })
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null && (typeof value !== 'string' || value.trim() !== '')
}

/** A type that has no executor needs none, and one that can only have this one, or whose language names it, has said it. */
function isImplied(
  type: Item['manifest']['tool_type'],
  executor: string | null,
  isFilledIn: boolean,
): boolean {
  return TYPE_RULES[type].executor === null || (executor !== null && !isFilledIn)
}
