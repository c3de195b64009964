import { dirname, join } from 'node:path'
import { LIMITS } from '../shared/limits.ts'
import { statOf } from '../spaces/disk.ts'
import type { PackageTable } from '../spaces/imports.ts'
import type { Item } from '../spaces/item.ts'
import { readRegularFile } from '../spaces/read-file.ts'
import { readFolder } from '../spaces/read-item.ts'
import { folderStamp, stampAt } from '../spaces/scan.ts'
import type { ItemFile } from '../store/store.ts'

/** The modules beside a script that it imports, directly or through each other. At once when they are known. */
export type FindSiblings = (item: Item) => readonly ItemFile[] | Promise<readonly ItemFile[]>

const NONE: readonly ItemFile[] = []
/** Modules one script is given; scripts whose modules are kept. */
const MOST = 100
const MOST_KEPT = 1000

interface Known {
  readonly hash: string
  /** Every module that was looked for, and what was there. */
  readonly marks: readonly (readonly [module: string, mark: string])[]
  readonly files: readonly ItemFile[]
}

/** A script of a folder brings its files; one by itself has them beside it, where its neighbours are items too. */
export function createFindSiblings(table: PackageTable): FindSiblings {
  const known = new Map<string, Known>()

  const look = async (item: Item, folder: string): Promise<Known> => {
    const marks = new Map<string, string>()
    const files: ItemFile[] = []
    let sources = await item.files()
    while (sources.length > 0) {
      const found: ItemFile[] = []
      for (const { path, content } of sources) {
        if (!path.endsWith('.py') || content.length > LIMITS.itemBytes) continue
        for (const name of await table.modulesOf(Buffer.from(content).toString('utf8'))) {
          const module = join(folder, name)
          if (marks.has(module) || files.length + found.length >= MOST) continue
          const mark = markOf(module)
          marks.set(module, mark)
          if (mark !== '' && `${module}.py` !== item.path) found.push(...read(folder, name))
        }
      }
      files.push(...found)
      sources = found
    }
    return { hash: item.contentHash, marks: [...marks], files }
  }

  return (item) => {
    const { path, form } = item
    if (form !== 'script' || path === null || !path.endsWith('.py')) return NONE
    const before = known.get(path)
    if (before?.hash === item.contentHash && before.marks.every(([module, mark]) => markOf(module) === mark))
      return before.files
    return look(item, dirname(path)).then((now) => {
      if (known.size >= MOST_KEPT) known.clear()
      known.set(path, now)
      return now.files
    })
  }
}

/** Changes with a module or package; empty when there is neither. */
function markOf(module: string): string {
  if (statOf(join(module, '__init__.py'))?.isFile() === true) return folderStamp(module).stamp
  const path = `${module}.py`
  return statOf(path)?.isFile() === true ? (stampAt({ path, kind: 'script', beside: [] }) ?? '') : ''
}

function read(folder: string, name: string): readonly ItemFile[] {
  const module = join(folder, name)
  if (statOf(join(module, '__init__.py'))?.isFile() === true)
    return readFolder(module).map((file) => ({ ...file, path: `${name}/${file.path}` }))
  const { bytes, isExecutable } = readRegularFile(`${module}.py`, LIMITS.bundleBytes)
  return [{ path: `${name}.py`, content: bytes, isExecutable }]
}
