import type { FieldFault } from '../shared/field-faults.ts'
import type { Item } from './item.ts'

export function missingFields({ raw, manifest }: Item): readonly FieldFault[] {
  const undeclared = Array.isArray(raw['_undeclared']) ? raw['_undeclared'] : []
  const missing: string[] = undeclared.flatMap((name) => (typeof name === 'string' ? [name] : []))
  if (raw['version'] === undefined) missing.push('version')
  if (manifest.description.trim() === '') missing.push('description')
  return missing.map((name) => ({ name, reason: 'missing' }))
}
