import { dirname, join } from 'node:path'
import { sha256 } from '../shared/json.ts'
import { leadsOutTo, statOf } from '../spaces/disk.ts'
import type { Item } from '../spaces/item.ts'
import { contentHash } from '../spaces/item.ts'
import { readFolder } from '../spaces/read-item.ts'
import { folderStamp } from '../spaces/scan.ts'
import type { ItemFile } from '../store/store.ts'
import type { Bundle } from './files-as-read.ts'
import type { FindSiblings } from './siblings.ts'

/**
 * The files that all tools of a space may import: `tools/lib`, and `scripts/lib` of older days; and for a script by
 * itself the modules beside it.
 */
export interface Library {
  readonly bundle: Bundle
  /** The variable that takes folders with modules, as the runtime names it. */
  readonly variable: string
  /** Names that an import of it begins with. */
  readonly modules: readonly string[]
}

/** At once, unless files have to be read to know what it imports. */
export type FindLibrary = (
  items: readonly Item[],
  spaceRoot: string | null,
) => Library | null | Promise<Library | null>

/** Read when it has changed. What a tool is given is a copy, named by its content like the tool's own files. */
export function createFindLibrary(findSiblings: FindSiblings): FindLibrary {
  const known = new Map<string, { readonly stamp: string; readonly shared: readonly ItemFile[] }>()
  const bundles = new WeakMap<readonly ItemFile[], WeakMap<readonly ItemFile[], Shared>>()

  const sharedIn = (folders: readonly string[]): readonly ItemFile[] => {
    if (folders.length === 0) return NONE
    const key = folders.join('\n')
    const stamp = folders.map((folder) => folderStamp(folder).stamp).join()
    const before = known.get(key)
    if (before?.stamp === stamp) return before.shared
    const shared = folders.flatMap((folder) => readFolder(folder))
    known.set(key, { stamp, shared })
    return shared
  }

  /** Both are the same lists again as long as nothing changed. */
  const bundled = (siblings: readonly ItemFile[], shared: readonly ItemFile[]): Shared => {
    const among = bundles.get(siblings) ?? new WeakMap<readonly ItemFile[], Shared>()
    bundles.set(siblings, among)
    const made = among.get(shared) ?? bundle([...siblings, ...shared])
    among.set(shared, made)
    return made
  }

  return (items, spaceRoot) => {
    const [leaf] = items
    const variable = variableOf(items)
    if (leaf === undefined || spaceRoot === null || variable === null) return null
    const folders = ['tools/lib', 'scripts/lib']
      .map((path) => join(spaceRoot, path))
      .filter((folder) => isUsable(folder, leaf, spaceRoot))
    const libraryWith = (siblings: readonly ItemFile[]): Library | null => {
      const shared = sharedIn(folders)
      return siblings.length + shared.length === 0 ? null : { ...bundled(siblings, shared), variable }
    }
    const siblings = findSiblings(leaf)
    return siblings instanceof Promise ? siblings.then(libraryWith) : libraryWith(siblings)
  }
}

const NONE: readonly ItemFile[] = []

type Shared = Omit<Library, 'variable'>

function bundle(all: readonly ItemFile[]): Shared {
  // What lies beside comes first, then the newer folder, and of two files at one path the first counts.
  const files = new Map<string, ItemFile>()
  for (const file of all) {
    const path = `lib/${file.path}`
    if (!files.has(path)) files.set(path, { ...file, path })
  }
  const kept = [...files.values()]
  return { bundle: bundleOf(kept), modules: modulesOf(kept) }
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
