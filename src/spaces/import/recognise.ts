import { basename, dirname, join, resolve } from 'node:path'
import { existsSync, realpathSync } from 'node:fs'
import { KiwiError, messageOf } from '../../shared/errors.ts'
import { list, statOf } from '../disk.ts'
import { beginningOf } from '../read-file.ts'
import { typeFolders } from '../scan.ts'

/** What lies at a path, told by what is in it. */
export interface Source {
  /** A folder laid out like `.ai`, one of knowledge alone, one of skills, one item, or one file. */
  readonly layout: 'space' | 'knowledge' | 'skills' | 'folder' | 'file'
  readonly path: string
}

/** Says what can be imported from a path. NOT_FOUND, or INVALID_PARAMETERS when nothing in it is known. */
export function recognise(given: string): Source {
  const path = realPathOf(resolve(given))
  // A skill is its folder, whichever of the two somebody names.
  if (basename(path) === 'SKILL.md' && isFile(path)) return { layout: 'folder', path: dirname(path) }
  if (statOf(path)?.isDirectory() !== true) return { layout: 'file', path }
  if (isFile(join(path, 'SKILL.md')) || isFile(join(path, 'tool.yaml'))) return { layout: 'folder', path }
  if (statOf(join(path, '.ai'))?.isDirectory() === true) return { layout: 'space', path: join(path, '.ai') }
  if (typeFolders(path).some((folder) => statOf(folder)?.isDirectory() === true)) {
    return { layout: 'space', path }
  }
  const folders = list(path).filter((entry) => entry.isDirectory())
  if (folders.some(({ name }) => isFile(join(path, name, 'SKILL.md')))) return { layout: 'skills', path }
  if ([path, ...folders.map(({ name }) => join(path, name))].some(holdsKnowledge)) {
    return { layout: 'knowledge', path }
  }
  throw new KiwiError('INVALID_PARAMETERS', `Cannot import "${given}": nothing in it is known to Kiwi`, {
    hint: 'Give a folder with .ai in it, an .ai folder, an older store such as ~/.script-kiwi, a folder with SKILL.md or tool.yaml, or one file',
    details: {
      missing: [],
      invalid: [{ name: 'path', reason: 'not a folder or file that can be imported' }],
    },
  })
}

/** The place of a file inside an `.ai` folder it lies in, such as `tools/web/greet.py`; null elsewhere. */
export function placeInSpace(path: string): string | null {
  const types = new Set(typeFolders('').map((folder) => basename(folder)))
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    if (basename(dirname(folder)) === '.ai' && types.has(basename(folder))) {
      return path.slice(dirname(folder).length + 1)
    }
  }
  return null
}

function isFile(path: string): boolean {
  return statOf(path)?.isFile() === true
}

/** Documents of one folder that are looked into before it is given up. */
const MOST_TRIED = 50
const ENTRY = /^(?:<!--[^\n]*\n\s*)?(?:```yaml\r?\n)?---[^]*?\n(?:id|zettel_id|title|entry_type):/

function holdsKnowledge(folder: string): boolean {
  return list(folder)
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .slice(0, MOST_TRIED)
    .some(({ name }) => ENTRY.test(beginningOf(join(folder, name), 4096)))
}

function realPathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const reason = existsSync(path) ? messageOf(error) : 'it is not there'
    throw new KiwiError('NOT_FOUND', `Cannot import "${path}": ${reason}`, {
      hint: 'Give the path of a folder or file that exists',
      cause: error,
    })
  }
}
