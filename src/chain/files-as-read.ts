import { KiwiError } from '../shared/errors.ts'
import type { Item } from '../spaces/item.ts'
import { contentHash } from '../spaces/item.ts'
import type { ItemFile } from '../store/store.ts'

/** Files that belong together: those of an item, or of the library of a space. */
export type Bundle = Pick<Item, 'contentHash' | 'raw' | 'files'> & { readonly id: string }

/** The very files that the plan goes by: what is looked at for others must not hold for these. */
export async function filesAsRead({
  id,
  raw,
  files,
  contentHash: hash,
}: Bundle): Promise<readonly ItemFile[]> {
  const found = await files()
  if (contentHash(raw, found) === hash) return found
  throw new KiwiError('CONFLICT', `Cannot run "${id}": its files changed while it was being read`, {
    hint: 'Send the call again',
  })
}
