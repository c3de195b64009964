import { gt, inc, valid } from 'semver'
import { KiwiError } from '../shared/errors.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import { readWritten } from '../spaces/read-item.ts'
import { missingFields } from '../spaces/required-fields.ts'
import type { WrittenItem } from '../spaces/written-item.ts'
import type { Registry } from '../store/store.ts'

interface Next {
  readonly version: string
  readonly warnings: readonly string[]
}

/**
 * The one that is asked for, the higher one the new text says, else the next patch. Versions only go up: a text that
 * says a lower one was written before, which is no wish.
 */
export async function versionAfter(
  { id, manifest: { version: present } }: Item,
  declared: string | null,
  asked: string | null,
  registry: Registry,
): Promise<Next> {
  if (asked !== null) {
    assertHigher({ id, wanted: asked, present })
    return { version: asked, warnings: [] }
  }
  if (declared !== null && gt(declared, present)) return { version: declared, warnings: [] }
  const version = await freePatch(id, present, registry)
  const isBehind = declared !== null && declared !== present
  const note = `its text says version ${declared}, which is not above ${present}: it became ${version}`
  return { version, warnings: isBehind ? [note] : [] }
}

/** What an item with other content says of its version; null when it says nothing that counts. */
export async function declaredVersion(before: Item, changed: WrittenItem): Promise<string | null> {
  const origin = { stem: before.id, category: before.manifest.category }
  // What else is wrong with it is said with all its faults, later.
  const declared = await readWritten(changed, origin, before.space).catch(() => null)
  const isSaid = declared !== null && missingFields(declared).every(({ name }) => name !== 'version')
  return isSaid ? declared.manifest.version : null
}

/** The next patch that no content has or had in the registry. */
export async function freePatch(id: string, version: string, registry: Registry): Promise<string> {
  let next = inc(version, 'patch') ?? version
  while ((await registry.publishedHash(id, next)) !== null) next = inc(next, 'patch') ?? next
  return next
}

/** A version means one content wherever it lies. What is shipped may be overridden under its own. */
export async function assertUnpublished(action: string, item: Item, registry: Registry): Promise<void> {
  const { id, contentHash } = item
  const { version, tool_type } = item.manifest
  const published_hash = await registry.publishedHash(id, version)
  if (published_hash === null || published_hash === contentHash) return
  const stored = await registry.version(id, version)
  const isOther = stored !== null && itemTypeOf(stored.tool_type) !== itemTypeOf(tool_type)
  if (isOther || stored?.is_official === true) return
  const message = `Cannot ${action} "${id}": version ${version} was published with other content`
  throw new KiwiError('VERSION_EXISTS', message, {
    hint: `Give it another version: ${await freePatch(id, version, registry)} is free`,
    details: { tool_id: id, version, content_hash: contentHash, published_hash },
  })
}

export function assertHigher({ id, wanted, present }: { id: string; wanted: string; present: string }): void {
  const isVersion = /^\d/.test(wanted) && valid(wanted) !== null
  if (isVersion && gt(wanted, present)) return
  const reason = isVersion ? `not higher than ${present}` : 'not a semantic version such as 1.0.0'
  throw new KiwiError('INVALID_PARAMETERS', `Cannot give "${id}" the version "${wanted}": it is ${reason}`, {
    hint: isVersion ? `Give a version above ${present}, or none` : 'Give a version such as 1.2.0, or none',
    details: { missing: [], invalid: [{ name: 'version', reason }] },
  })
}
