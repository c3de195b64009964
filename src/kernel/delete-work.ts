import { basename } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import { keepAll } from '../shared/redact.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { notFound } from '../spaces/lookup.ts'
import { removeItem } from '../spaces/write.ts'
import type { SpaceName } from '../store/store.ts'
import type { Link, Wish, Work } from './call.ts'
import type { Means } from './means.ts'

/** An item to be removed from the space it was found in. What is shipped stays. */
export async function deleteWork(
  { ref, itemType, source }: Extract<Wish, { kind: 'delete' }>,
  lookup: Lookup,
  { store }: Means,
): Promise<Work> {
  lookup.freshen(true)
  const { link, path, isFolder, contentHash, what } = await targetOf(
    ref,
    itemType,
    source ?? undefined,
    lookup,
  )
  return {
    item: link,
    action: 'delete',
    chain: [link],
    demands: [
      { op: 'tool', id: link.id, action: 'delete' },
      ...(path === null ? [] : [{ op: 'write', path } as const]),
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { item_id: link.id, source: link.space, content_hash: contentHash },
    redact: keepAll,
    preview: () => ({ tool_type: what, would_remove: path ?? link.space }),
    warnings: [],
    async perform() {
      const warnings =
        path === null
          ? []
          : await removeItem(path, isFolder, link.space === 'user' ? null : lookup.projectPath)
      if (path === null) await store.registry.remove(link.id)
      lookup.freshen(true)
      const output = `Deleted ${what ?? 'unreadable'} "${link.id}" from ${link.space}`
      return { data: { output, tool_id: link.id, source: link.space, path }, warnings }
    },
  }
}

interface Target {
  readonly link: Link
  readonly path: string | null
  /** It is the manifest of a folder, and everything in the folder goes with it. */
  readonly isFolder: boolean
  readonly contentHash: string | null
  /** Its type; null when it cannot be read. */
  readonly what: string | null
}

/** The item that is meant. A file that cannot be read has only its name, and can be deleted by it: else it would stay for ever. */
async function targetOf(
  ref: ItemRef,
  itemType: ItemType,
  source: SpaceName | undefined,
  lookup: Lookup,
): Promise<Target> {
  let item: Item | null
  try {
    item = await lookup.find(ref, itemType, source)
  } catch (error) {
    const broken = await lookup.broken(ref, itemType, source)
    if (broken === null) throw error
    const { space, path } = broken
    // A piece of knowledge may be called SKILL as well, and is a file.
    const isFolder = itemType !== 'knowledge' && ['tool.yaml', 'SKILL.md'].includes(basename(path))
    return { link: { id: ref.name, version: null, space }, path, isFolder, contentHash: null, what: null }
  }
  // Running and reading take a document for a tool where there is no other; what is gone would be gone by mistake.
  const isDocument = itemType === 'tool' && item?.manifest.tool_type === 'knowledge'
  if (item === null || isDocument) throw notFound(ref, itemType)
  const { id, manifest, space, path, contentHash, form } = item
  if (space === 'builtin') {
    throw new KiwiError('BUILTIN_PROTECTED', `Cannot delete "${id}": it is shipped with Kiwi`)
  }
  const link = { id, version: manifest.version, space }
  return { link, path, isFolder: form === 'folder', contentHash, what: manifest.tool_type }
}
