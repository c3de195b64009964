import { toNewVersion } from '../spaces/describe.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { ItemWrite } from '../spaces/write.ts'
import { targetOf, writeItem } from '../spaces/write.ts'
import type { WrittenItem } from '../spaces/written-item.ts'
import type { Authored } from './author.ts'
import { signBeside, signed } from './author.ts'
import type { Caller } from './call.ts'
import type { Means } from './means.ts'

interface Writing {
  /** Null: into the registry, with this word about it. */
  readonly write: ItemWrite | null
  readonly changelog: string | null
  /** It carries a signature that is to stay. */
  readonly isSigned?: boolean
  readonly lookup: Lookup
  readonly means: Means
  readonly by: Caller['kind']
}

/** Signs an item and writes it, and gives it as it lies there then. */
export async function writeSigned(
  authored: Authored,
  { write, changelog, isSigned = false, lookup, means, by }: Writing,
): Promise<{ readonly item: Item; readonly warnings: readonly string[] }> {
  const signature = { path: write === null || write.isFolder ? null : targetOf(write), means, by }
  const { item, written, warnings } = isSigned
    ? { ...authored, warnings: [] }
    : await signed(authored, signature)
  const path = await put(write === null ? null : withText(write, written), { item, changelog, means })
  lookup.freshen(true)
  // As it was written: somebody else may have put another in its place since.
  const location = write === null ? 'registry' : write.within === null ? 'user' : 'project'
  const placed: Item = { ...item, path, space: location }
  const left = await signBeside(placed, authored.plan, signature)
  return { item: placed, warnings: [...warnings, ...left] }
}

function withText(write: ItemWrite, { manifest }: WrittenItem): ItemWrite {
  return { ...write, manifest: { ...write.manifest, content: manifest.content } }
}

/** Where the item is read from now; null in the registry. */
async function put(
  write: ItemWrite | null,
  { item, changelog, means: { store } }: { item: Item; changelog: string | null; means: Means },
): Promise<string | null> {
  if (write !== null) return writeItem(write, (work) => store.exclusively(work))
  await store.registry.publish(await toNewVersion(item, changelog))
  return null
}
