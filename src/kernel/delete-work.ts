import { KiwiError } from '../shared/errors.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { notFound } from '../spaces/lookup.ts'
import { removeItem } from '../spaces/write.ts'
import type { Wish, Work } from './call.ts'
import type { Means } from './means.ts'

/** An item to be removed from the space it was found in. What is shipped stays. */
export async function deleteWork(
  { ref, itemType, source }: Extract<Wish, { kind: 'delete' }>,
  lookup: Lookup,
  { store }: Means,
): Promise<Work> {
  lookup.freshen(true)
  const item = await lookup.find(ref, itemType, source ?? undefined)
  if (item === null) throw notFound(ref, itemType)
  if (item.space === 'builtin') {
    throw new KiwiError('BUILTIN_PROTECTED', `Cannot delete "${item.id}": it is shipped with Kiwi`, {
      hint: 'It can only be overridden, by an item of your own',
    })
  }
  const place = placeOf(item)
  const link = { id: item.id, version: item.manifest.version, space: item.space }
  return {
    item: link,
    action: 'delete',
    chain: [link],
    demands: [
      { op: 'tool', id: item.id, action: 'delete' },
      ...(item.path === null ? [] : [{ op: 'write', path: item.path } as const]),
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { item_id: item.id, source: item.space, content_hash: item.contentHash },
    preview: () => ({ tool_type: item.manifest.tool_type, would_remove: place }),
    warnings: [],
    async perform() {
      if (item.path === null) await store.registry.remove(item.id)
      else await removeItem(item.path, item.space === 'user' ? null : lookup.projectPath)
      lookup.freshen(true)
      const output = `Deleted ${item.manifest.tool_type} "${item.id}" from ${item.space}`
      return { data: { output, tool_id: item.id, source: item.space, path: item.path }, warnings: [] }
    },
  }
}

function placeOf({ space, path }: Item): string {
  return path ?? space
}
