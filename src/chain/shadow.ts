import { copyFileSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync } from 'node:fs'
import { writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { sha256 } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { realPathOf, statOf } from '../spaces/disk.ts'

/** Where git keeps what it knows of a project for us: apart from the project, and apart from the project's own git. */
export interface Shadow {
  readonly folder: string
  /** The folder that git looks at, with every link followed: that of the project's repository, else the project. */
  readonly workTree: string
  /** From the work tree to what is covered, with `/` at its end; empty for all of it. */
  readonly prefix: string
  /** The project's own repository; null when it has none. */
  readonly own: OwnRepository | null
}

interface OwnRepository {
  readonly index: string
  readonly objects: string
  readonly exclude: string
  readonly attributes: string
  readonly isSha256: boolean
}

/** A folder that cannot be covered, and why. */
export interface Uncovered {
  readonly why: string
}

/** Finds what a project is covered by. Reads only: nothing is ever written where the project lies. */
export function findShadow(
  project: string,
  { home, trees }: { home: string; trees: string },
): Shadow | Uncovered {
  const root = realPathOf(project)
  if (root === null) return { why: `"${project}" is not there` }
  const realHome = realPathOf(home)
  const isTooWide = (folder: string): boolean =>
    folder === '/' || (realHome !== null && `${realHome}/`.startsWith(`${folder}/`))
  if (isTooWide(root)) return { why: `"${root}" holds more than a project` }
  const found = repositoryAbove(root)
  // Somebody may keep their whole home in git.
  const own = found === null || isTooWide(found.workTree) ? null : found
  const workTree = own?.workTree ?? root
  const below = relative(workTree, root).split(sep).join('/')
  return {
    folder: join(trees, sha256(workTree).slice(0, 32)),
    workTree,
    prefix: below === '' ? '' : `${below}/`,
    own: own?.repository ?? null,
  }
}

function repositoryAbove(folder: string): { workTree: string; repository: OwnRepository } | null {
  const dot = join(folder, '.git')
  const git = gitFolder(dot)
  if (git !== null) return { workTree: folder, repository: repositoryIn(git) }
  const above = dirname(folder)
  return above === folder ? null : repositoryAbove(above)
}

/** A folder, or a file that says where the folder is: so it is in a second work tree, and in a submodule. */
function gitFolder(dot: string): string | null {
  const stats = statOf(dot)
  if (stats === null) return null
  const [, named] = stats.isFile() ? (/^gitdir: (.+)$/m.exec(read(dot)) ?? []) : ['', dot]
  const folder = named === undefined ? null : resolve(dirname(dot), named.trim())
  return folder !== null && statOf(join(folder, 'HEAD')) !== null ? folder : null
}

function repositoryIn(git: string): OwnRepository {
  const shared = read(join(git, 'commondir')).trim()
  const common = shared === '' ? git : isAbsolute(shared) ? shared : join(git, shared)
  return {
    index: join(git, 'index'),
    objects: join(common, 'objects'),
    exclude: join(common, 'info/exclude'),
    attributes: join(common, 'info/attributes'),
    isSha256: /objectformat\s*=\s*sha256/i.test(read(join(common, 'config'))),
  }
}

/** Makes the folder ready, or brings its settings up to date. */
export function prepareShadow({ folder, own }: Shadow): void {
  for (const part of ['objects', 'refs', 'info'])
    mkdirSync(join(folder, part), { recursive: true, mode: 0o700 })
  put(join(folder, 'HEAD'), 'ref: refs/heads/none\n')
  put(join(folder, 'config'), configOf(own?.isSha256 === true))
  put(join(folder, 'info/attributes'), NO_CONVERSION)
  put(join(folder, 'info/exclude'), own === null ? '' : read(own.exclude))
}

/** Nothing that a project brings may run, or change what is read: bytes are kept as they lie there. */
const NO_CONVERSION = '* -text -eol -crlf -filter -ident -working-tree-encoding -diff -merge\n'

function configOf(isSha256: boolean): string {
  return `[core]
\trepositoryformatversion = ${isSha256 ? 1 : 0}
\tbare = false
\tfilemode = true
\tsymlinks = true
\tignorecase = false
\tautocrlf = false
\tfsmonitor = false
\tuntrackedCache = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\tlooseCompression = 1
\tsplitIndex = false
[gc]
\tauto = 0
[index]
\tsparse = false
[submodule]
\trecurse = false
${isSha256 ? '[extensions]\n\tobjectFormat = sha256\n' : ''}`
}

/**
 * A copy of an index counts as a little older than the original: git takes files that changed at the same moment as
 * its index for possibly changed, and must not take them for unchanged here.
 */
export function copyIndex(from: string, to: string): boolean {
  const stats = statOf(from)
  if (stats === null) return false
  copyFileSync(from, to)
  const time = (stats.mtimeMs - 20) / 1000
  utimesSync(to, time, time)
  return true
}

/** Counts what was put into a shadow since it was made. Whether it is enough, so that it does not grow for ever. */
export function grow({ folder }: Shadow, files: number, bytes: number): boolean {
  const file = join(folder, 'grown')
  const [oldFiles = 0, oldBytes = 0] = read(file).split(' ').map(Number)
  if (files > 0) put(file, `${oldFiles + files} ${oldBytes + bytes}`)
  return oldFiles + files > LIMITS.undoFiles || oldBytes + bytes > LIMITS.undoBytes
}

export function dropShadow({ folder }: Shadow): void {
  const aside = `${folder}.${process.pid}.old`
  try {
    renameSync(folder, aside)
  } catch {
    return
  }
  rmSync(aside, { recursive: true, force: true })
}

/** Whole at once: another process may be reading it. */
function put(path: string, text: string): void {
  if (read(path) === text && lstatSync(path, { throwIfNoEntry: false }) !== undefined) return
  const beside = `${path}.${process.pid}`
  writeFileSync(beside, text, { mode: 0o600 })
  renameSync(beside, path)
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
