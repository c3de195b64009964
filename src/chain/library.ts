import { dirname, join } from 'node:path'
import { sha256 } from '../shared/json.ts'
import { leadsOutTo, statOf } from '../spaces/disk.ts'
import type { Item } from '../spaces/item.ts'
import { contentHash } from '../spaces/item.ts'
import { readFolder } from '../spaces/read-item.ts'
import { folderStamp } from '../spaces/scan.ts'
import type { ItemFile } from '../store/store.ts'
import type { Bundle } from './files-as-read.ts'

/** The files that all tools of a space may import: `tools/lib`, and `scripts/lib` of older days. */
export interface Library {
  readonly bundle: Bundle
  /** The variable that takes folders with modules, as the runtime names it. */
  readonly variable: string
  /** Names that an import of it begins with. */
  readonly modules: readonly string[]
}

export type FindLibrary = (items: readonly Item[], spaceRoot: string | null) => Library | null

/** Read when it has changed. What a tool is given is a copy, named by its content like the tool's own files. */
export function createFindLibrary(): FindLibrary {
  const known = new Map<string, { readonly stamp: string; readonly shared: Shared | null }>()

  const sharedIn = (folders: readonly string[]): Shared | null => {
    const key = folders.join('\n')
    const stamp = folders.map((folder) => folderStamp(folder).stamp).join()
    const before = known.get(key)
    if (before?.stamp === stamp) return before.shared
    const shared = readShared(folders)
    known.set(key, { stamp, shared })
    return shared
  }

  return (items, spaceRoot) => {
    const [leaf] = items
    const variable = variableOf(items)
    if (leaf === undefined || spaceRoot === null || variable === null) return null
    const folders = ['tools/lib', 'scripts/lib']
      .map((path) => join(spaceRoot, path))
      .filter((folder) => isUsable(folder, leaf, spaceRoot))
    const shared = folders.length === 0 ? null : sharedIn(folders)
    return shared === null ? null : { ...shared, variable }
  }
}

type Shared = Omit<Library, 'variable'>

function readShared(folders: readonly string[]): Shared | null {
  // The newer folder comes first, and of two files at one path the first counts.
  const files = new Map<string, ItemFile>()
  for (const file of folders.flatMap((folder) => readFolder(folder))) {
    const path = `lib/${file.path}`
    if (!files.has(path)) files.set(path, { ...file, path })
  }
  const all = [...files.values()]
  return all.length === 0 ? null : { bundle: bundleOf(all), modules: modulesOf(all) }
}

/** What a grant is bound to: whoever may read a variable shows it to what it imports. */
export function grantDigest(digest: string, library: Library | null): string {
  return library === null ? digest : sha256(`${digest} ${library.bundle.contentHash}`)
}

/** The folders to look for modules in: as `lib.name`, and by the name alone. */
export function libraryPath(folder: string): string {
  return `${folder}:${folder}/lib`
}

function variableOf(items: readonly Item[]): string | null {
  const named = items
    .map(({ manifest }) => manifest.config['library_path'])
    .find((name) => name !== undefined)
  return typeof named === 'string' && /^[A-Z][A-Z0-9_]*$/.test(named) ? named : null
}

/** A link may lead anywhere, and a project must not show what lies beside it. */
function isUsable(folder: string, { space }: Item, spaceRoot: string): boolean {
  if (statOf(folder)?.isDirectory() !== true) return false
  return space !== 'project' || leadsOutTo(folder, dirname(spaceRoot)) === null
}

function bundleOf(files: readonly ItemFile[]): Bundle {
  return { id: 'lib', raw: {}, contentHash: contentHash({}, files), files: async () => files }
}

function modulesOf(files: readonly ItemFile[]): readonly string[] {
  const names = files.map(({ path }) => (path.split('/')[1] ?? '').replace(/\.\w+$/, ''))
  return [...new Set(['lib', ...names])]
}
