import { dirname, join } from 'node:path'
import { sha256 } from '../shared/json.ts'
import { leadsOutTo, statOf } from '../spaces/disk.ts'
import type { Item } from '../spaces/item.ts'
import { contentHash } from '../spaces/item.ts'
import { readFolder } from '../spaces/read-item.ts'
import { folderStamp } from '../spaces/scan.ts'
import type { ItemFile } from '../store/store.ts'
import { digestOf } from './compile-plan.ts'
import type { Bundle } from './work-folder.ts'

/** The files that all tools of a space may import: `tools/lib`, and `scripts/lib` of older days. */
export interface Library {
  readonly bundle: Bundle
  /** The variable that takes folders with modules, as the runtime names it. */
  readonly variable: string
  /** Names that an import of it begins with. */
  readonly modules: ReadonlySet<string>
}

export type FindLibrary = (items: readonly Item[], spaceRoot: string | null) => Library | null

/** Read when it has changed. What a tool is given is a copy, named by its content like the tool's own files. */
export function createFindLibrary(): FindLibrary {
  const known = new Map<string, { readonly stamp: string; readonly files: readonly ItemFile[] }>()

  const filesOf = (folder: string): readonly ItemFile[] => {
    const { stamp } = folderStamp(folder)
    const before = known.get(folder)
    if (before?.stamp === stamp) return before.files
    const files = readFolder(folder).map((file) => ({ ...file, path: `lib/${file.path}` }))
    known.set(folder, { stamp, files })
    return files
  }

  return (items, spaceRoot) => {
    const [leaf] = items
    const variable = variableOf(items)
    if (leaf === undefined || spaceRoot === null || variable === null) return null
    const files = ['tools/lib', 'scripts/lib']
      .map((path) => join(spaceRoot, path))
      .filter((folder) => isUsable(folder, leaf, spaceRoot))
      .flatMap(filesOf)
    // The newer folder comes first, and of two files at one path the first counts.
    const single = files.filter(({ path }, at) => files.findIndex((file) => file.path === path) === at)
    return single.length === 0 ? null : { bundle: bundleOf(single), variable, modules: modulesOf(single) }
  }
}

/** What a grant is bound to: whoever may read a variable shows it to what it imports. */
export function grantDigest(items: readonly Item[], library: Library | null): string {
  const own = digestOf(items)
  return library === null ? own : sha256(`${own} ${library.bundle.contentHash}`)
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

function modulesOf(files: readonly ItemFile[]): ReadonlySet<string> {
  const names = files.map(({ path }) => (path.split('/')[1] ?? '').replace(/\.\w+$/, ''))
  return new Set(['lib', ...names])
}
