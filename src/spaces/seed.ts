import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../shared/json.ts'
import type { NewVersion, Store } from '../store/store.ts'
import { toNewVersion } from './describe.ts'
import { readItem } from './read-item.ts'
import { scan, typeFolders } from './scan.ts'

/** Puts what is shipped in `builtin/` into the registry, and returns how many items that wrote: none the second time. */
export async function seed(store: Store, folder: string): Promise<number> {
  const digest = digestOf(folder)
  if ((await store.registry.seeded()) === digest) return 0
  const items: NewVersion[] = []
  for (const entry of scan(folder, new Set()).values()) {
    items.push(await toNewVersion(await readItem(entry, 'builtin'), null))
  }
  return (await store.registry.seed(items, digest)).written
}

/** By bytes, not by time: a fresh install of the same release seeds nothing. Reading is cheaper than parsing. */
function digestOf(folder: string): string {
  const files = typeFolders(folder).flatMap(filesBelow).toSorted()
  return sha256(
    files
      .map(
        (path) => `${path.slice(folder.length)} ${statSync(path).mode & 0o100} ${sha256(readFileSync(path))}`,
      )
      .join('\n'),
  )
}

function filesBelow(folder: string): readonly string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
