import { lstatSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import { LIMITS } from '../shared/limits.ts'
import { leadsOutTo, realPathOf } from './disk.ts'
import { HarnessFile } from './harness-file.ts'
import { parseLocated } from './parse-document.ts'
import { decodeText, readRegularFile } from './read-file.ts'

/** Where a harness file may lie besides projects: what is shipped, the machine's and the person's. All of them count. */
export interface HarnessPlaces {
  readonly builtinFolder: string
  readonly machineHarness: string
  readonly userSpace: string
}

export interface HarnessSource {
  readonly place: 'builtin' | 'machine' | 'user' | 'project'
  readonly path: string
  /** The folder it decides about and must not lead out of; null where a person or the system put it. */
  readonly within: string | null
}

export interface HarnessFault {
  readonly line: number
  readonly column: number
  readonly reason: string
}

/** A file as it was read. One that is not as it must be has faults, and its content counts for nothing. */
export interface Harness extends HarnessSource {
  readonly content: HarnessFile | null
  readonly faults: readonly HarnessFault[]
  readonly at: (path: readonly PropertyKey[]) => Omit<HarnessFault, 'reason'>
}

const FILE = join('config', 'agent_harness.yaml')

export function harnessSources(places: HarnessPlaces, projects: readonly string[]): readonly HarnessSource[] {
  const { builtinFolder, machineHarness, userSpace } = places
  return [
    { place: 'builtin', path: join(builtinFolder, FILE), within: null },
    { place: 'machine', path: machineHarness, within: null },
    { place: 'user', path: join(userSpace, FILE), within: null },
    ...decidingFolders(projects, userSpace).map((within) => {
      return { place: 'project', path: fileOf(within), within } as const
    }),
  ]
}

/** The file that decides about a folder. */
export function fileOf(folder: string): string {
  return join(folder, '.ai', FILE)
}

/** Every project and all that it lies in, the nearest last: who works in a part is bound by what is said of the whole. */
function decidingFolders(projects: readonly string[], userSpace: string): readonly string[] {
  const named = projects.map((project) => realPathOf(project) ?? project)
  const folders = new Set(named.flatMap(foldersTo))
  const own = realPathOf(userSpace)
  return Array.from(folders).filter((folder) => {
    const root = join(folder, '.ai')
    if (lstatSync(root, { throwIfNoEntry: false }) === undefined) return named.includes(folder)
    // What is the user's own has its place already.
    return realPathOf(root) !== own
  })
}

/** It and all above it, from the top. */
export function foldersTo(folder: string): readonly string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [...foldersTo(above), folder]
}

/**
 * Changes with the file; null where there is none. What cannot be looked at, or stands there by a name that is not
 * read, is there, and will be found unreadable.
 */
export function harnessStamp({ path }: HarnessSource): string | null {
  try {
    // Looked at with every call: where the folder is missing, what would be in it is not asked for.
    const folder = lstatSync(dirname(path), { throwIfNoEntry: false })
    if (folder === undefined) return isAbsent(dirname(dirname(path))) ? null : 'nowhere'
    const [stat, misnamed] = [path, misspelt(path)].map((name) => lstatSync(name, { throwIfNoEntry: false }))
    if (stat === undefined && misnamed === undefined) return isAbsent(dirname(path)) ? null : 'nowhere'
    const said = stat === undefined ? '' : `${stat.mtimeMs}:${stat.ctimeMs}:${stat.size}:${stat.ino}`
    return `${said}${misnamed === undefined ? '' : ':misnamed'}`
  } catch (error) {
    return errnoOf(error)
  }
}

/** Only where the nearest thing that is there is a folder: behind a link that leads nowhere something was meant to be. */
function isAbsent(folder: string): boolean {
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return isAbsent(dirname(folder))
  return statSync(folder, { throwIfNoEntry: false }) !== undefined
}

export function misspelt(path: string): string {
  return path.replace(/\.yaml$/, '.yml')
}

export async function readHarness(source: HarnessSource): Promise<Harness> {
  const { path, within } = source
  const start = { line: 1, column: 1 }
  try {
    if (within !== null && leadsOutTo(dirname(path), within) !== null)
      throw new Error('a link leads out of the project')
    if (lstatSync(misspelt(path), { throwIfNoEntry: false }) !== undefined)
      throw new Error(`"${basename(misspelt(path))}" beside it is not read: call it ${basename(path)}`)
    const text = decodeText(readRegularFile(path, LIMITS.itemBytes).bytes, path)
    const { value, at } = await parseLocated(text, path)
    const given = HarnessFile.safeParse(value, IN_WORDS)
    if (given.success) return { ...source, content: given.data, faults: [], at }
    const faults = given.error.issues.map((issue): HarnessFault => {
      const [{ name, reason } = { name: '', reason: '' }] = fieldFaults([issue])
      const [unknown] = issue.code === 'unrecognized_keys' ? issue.keys : []
      const place = unknown === undefined ? issue.path : [...issue.path, unknown]
      return { ...at(place), reason: `${name === '' ? 'it' : `"${name}"`} ${reason}` }
    })
    return { ...source, content: null, faults, at }
  } catch (error) {
    const reason = messageOf(error)
      .replace(`Cannot read "${path}": `, '')
      .replace(/ \(line \d+, column \d+\)$/, '')
    return { ...source, content: null, faults: [{ ...positionOf(error), reason }], at: () => start }
  }
}

function positionOf(error: unknown): Omit<HarnessFault, 'reason'> {
  const [, line = 1, column = 1] =
    error instanceof KiwiError ? (/\(line (\d+), column (\d+)\)$/.exec(error.message) ?? []) : []
  return { line: Number(line), column: Number(column) }
}
