import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import { LIMITS } from '../shared/limits.ts'
import { leadsOutTo } from './disk.ts'
import { HarnessFile } from './harness-file.ts'
import { parseLocated } from './parse-document.ts'
import { decodeText, readRegularFile } from './read-file.ts'

/** Where a harness file may lie: what is shipped, the machine's, the person's and the project's. All of them count. */
export interface HarnessPlaces {
  readonly builtinFolder: string
  readonly machineHarness: string
  readonly userSpace: string
}

export interface HarnessSource {
  readonly place: 'builtin' | 'machine' | 'user' | 'project'
  readonly path: string
  /** The project it must not lead out of; null where a person or the system put it. */
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

export function harnessSources(
  { builtinFolder, machineHarness, userSpace }: HarnessPlaces,
  projectPath: string | null,
): readonly HarnessSource[] {
  return [
    { place: 'builtin', path: join(builtinFolder, FILE), within: null },
    { place: 'machine', path: machineHarness, within: null },
    { place: 'user', path: join(userSpace, FILE), within: null },
    ...(projectPath === null
      ? []
      : [{ place: 'project', path: join(projectPath, '.ai', FILE), within: projectPath } as const]),
  ]
}

/** Changes with the file; null where there is none. What cannot be looked at is there, and will be found unreadable. */
export function harnessStamp({ path }: HarnessSource): string | null {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat === undefined ? null : `${stat.mtimeMs}:${stat.size}:${stat.ino}`
  } catch (error) {
    return errnoOf(error) === 'ENOTDIR' ? null : errnoOf(error)
  }
}

export async function readHarness(source: HarnessSource): Promise<Harness> {
  const { path, within } = source
  const start = { line: 1, column: 1 }
  try {
    if (within !== null && leadsOutTo(dirname(path), within) !== null)
      throw new Error('a link leads out of the project')
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
    const isLink = errnoOf(error instanceof KiwiError ? error.cause : error) === 'ELOOP'
    const reason = (
      isLink ? 'links are not followed here: put the file itself in its place' : messageOf(error)
    )
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
