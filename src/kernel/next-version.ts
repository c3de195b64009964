import type Semver from 'semver'
import { KiwiError } from '../shared/errors.ts'
import type { Item } from '../spaces/item.ts'
import { readWritten } from '../spaces/read-item.ts'
import { missingFields } from '../spaces/required-fields.ts'
import type { WrittenItem } from '../spaces/written-item.ts'

/** The one that is asked for, the higher one the new manifest says, else the next patch. Versions only go up. */
export async function versionAfter(
  before: Item,
  changed: WrittenItem,
  asked: string | null,
): Promise<string> {
  const { default: semver } = await import('semver')
  const { id, manifest } = before
  const origin = { stem: id, category: manifest.category }
  // What else is wrong with it is said with all its faults, later.
  const declared = await readWritten(changed, origin, before.space).catch(() => null)
  const isSaid = declared !== null && missingFields(declared).every(({ name }) => name !== 'version')
  const wanted = asked ?? (isSaid ? declared.manifest.version : manifest.version)
  if (asked === null && wanted === manifest.version) return nextPatch(semver, manifest.version)
  assertHigher(semver, { id, wanted, present: manifest.version })
  return wanted
}

export function nextPatch({ inc }: typeof Semver, version: string): string {
  return inc(version, 'patch') ?? version
}

export function assertHigher(
  { valid, gt }: typeof Semver,
  { id, wanted, present }: { id: string; wanted: string; present: string },
): void {
  const isVersion = /^\d/.test(wanted) && valid(wanted) !== null
  if (isVersion && (wanted === present || gt(wanted, present))) return
  const reason = isVersion ? `not higher than ${present}` : 'not a semantic version such as 1.0.0'
  throw new KiwiError('INVALID_PARAMETERS', `Cannot give "${id}" the version "${wanted}": it is ${reason}`, {
    hint: isVersion ? `Give a version above ${present}, or none` : 'Give a version such as 1.2.0, or none',
    details: { missing: [], invalid: [{ name: 'version', reason }] },
  })
}
