import { itemTypeOf } from '../shared/tool-type.ts'
import { toNewVersion } from '../spaces/describe.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { ItemWrite } from '../spaces/write.ts'
import { targetOf, writeItem } from '../spaces/write.ts'
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

/** Signs an item and writes it, and gives it as everybody finds it now. */
export async function writeSigned(
  authored: Authored,
  { write, changelog, isSigned = false, lookup, means, by }: Writing,
): Promise<{ readonly item: Item; readonly warnings: readonly string[] }> {
  const path = write === null ? null : targetOf(write)
  const signature = { path: write?.isFolder === true ? null : path, means, by }
  const { item, written, warnings } = isSigned
    ? { ...authored, warnings: [] }
    : await signed(authored, signature)
  if (write === null) await means.store.registry.publish(await toNewVersion(item, changelog))
  else {
    const manifest = { ...write.manifest, content: written.manifest.content }
    await writeItem({ ...write, manifest }, (work) => means.store.exclusively(work))
  }
  lookup.freshen(true)
  const { id, manifest } = item
  const location = write === null ? 'registry' : write.within === null ? 'user' : 'project'
  const version = write === null ? manifest.version : null
  const ref = { name: id, category: null, version }
  const placed = (await lookup.find(ref, itemTypeOf(manifest.tool_type), location)) ?? item
  const left = await signBeside(placed, authored.plan, signature)
  return { item: placed, warnings: [...warnings, ...left] }
}
