import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import type { Program } from '../primitives/subprocess/command.ts'
import { nestedRepositories } from './nested-repositories.ts'
import type { Confinement, SandboxLevel } from '../primitives/subprocess/confinement.ts'

/** Where Kiwi and the person keep what is theirs. */
export interface OwnPlaces {
  readonly home: string
  readonly userSpace: string
  readonly cache: string
  /** Files that no program may read, wherever they lie: store, keys, tokens. */
  readonly secret: readonly string[]
  /** Files of the user space that a program may read. */
  readonly plain: readonly string[]
  readonly machineHarness: string
}

export interface Held {
  /** Where the sandbox comes from, and how strict it can be here. */
  readonly program: string
  readonly level: SandboxLevel
  readonly hasNetwork: boolean
  readonly hasOwnProcesses: boolean
  /** Paths of the wish as they are on disk. */
  readonly read: readonly string[]
  readonly write: readonly string[]
  readonly projectPath: string | null
  readonly policies: readonly string[]
}

/** What one program is held to; `folders` are those that Kiwi put there for it. */
export function confinementOf(
  { command, cwd }: Program,
  folders: readonly string[],
  held: Held,
  own: OwnPlaces,
): Confinement {
  const { program, level, hasNetwork, hasOwnProcesses, write } = held
  const hidden = outermost(hiddenPlaces(level, own.home).filter(existsSync).map(real))
  const isHidden = (path: string): boolean => isBelowAny(path, hidden)
  const home = real(own.home)
  const needed = outermost(folders.map(real))
  const project = held.projectPath === null ? [] : [real(held.projectPath)]
  // Under fs, one that lies in the temporary folder is seen like any other.
  const seen = level === 'fs' ? project : []
  const read = outermost([...held.read, ...seen, ...programPlaces(command, home), ...cwdOf(cwd, home)])
  const given = [...read, ...write]
  const userSpace = real(own.userSpace)
  const isSeen = (path: string): boolean => !isHidden(path) || isBelowAny(path, given)
  return {
    program,
    level,
    hasNetwork,
    hasOwnProcesses,
    hidden,
    empty: isHidden(home) && !hidden.includes(home) ? [home] : [],
    // What is written there would be gone with the home it lies in, and seem to be kept.
    sealed: project
      .filter((path) => isHidden(path) && !isBelowAny(path, [...given, ...needed]))
      .map((path) => ({ path, isOpen: [...given, ...needed].some((each) => isBelowAny(each, [path])) })),
    read: read.filter((path) => isHidden(path) && !isBelowAny(path, write)),
    write: sorted(write),
    guarded: guardedPlaces(held, own.cache),
    masked: outermost(
      [userSpace, ...own.secret.map(real)].filter((path) => existsSync(path) && isSeen(path)),
    ),
    needed: needed.filter((path) => isHidden(path) || isBelowAny(path, [...write, userSpace])),
    links: linksOf([command, cwd, ...folders], isHidden, [...needed, ...given]),
  }
}

/** A strict one also goes without homes, and without the sockets of other programs. */
function hiddenPlaces(level: SandboxLevel, home: string): readonly string[] {
  if (level === 'fs') return ['/tmp']
  return ['/tmp', '/var/tmp', '/home', '/root', '/run', ...(home === '/' ? [] : [home])]
}

/** Repositories and spaces keep their own order: git and the gate write there, no program. */
function guardedPlaces({ write, projectPath, policies }: Held, cache: string): readonly string[] {
  const project = projectPath === null ? [] : [real(projectPath)].filter((path) => isBelowAny(path, write))
  // Whoever lists one of them itself means it.
  const kept = [...write, ...project]
    .flatMap((root) => [join(root, '.git'), join(root, '.ai')])
    .concat(project.flatMap(nestedRepositories))
    .filter((path) => !write.includes(path))
  // With the space around it, which could be renamed with all that is mounted in it.
  const deciding = policies.filter(existsSync).flatMap((folder) => [dirname(real(folder)), real(folder)])
  const others = [real(cache), ...deciding].filter((path) => isBelowAny(path, write))
  return sorted([...kept, ...others].filter(existsSync))
}

/** What a program is made of: itself, and what was installed along with it, as far as that is no home. */
function programPlaces(command: string, home: string): readonly string[] {
  if (!isAbsolute(command) || !existsSync(command)) return []
  const file = real(command)
  const [folder, prefix] = [basename(dirname(file)), dirname(dirname(file))]
  const isOwnPrefix = folder === 'shims' || (folder === 'bin' && existsSync(join(prefix, 'lib')))
  const isHome = isBelowAny(home, [prefix]) || prefix === join(home, '.local') || prefix === '/'
  return [isOwnPrefix && !isHome ? prefix : file]
}

/** A program sees where it stands, unless that is the home. */
function cwdOf(cwd: string, home: string): readonly string[] {
  return isAbsolute(cwd) && !isBelowAny(home, [real(cwd)]) ? [real(cwd)] : []
}

/** Another name of something needed would be gone with the place it lies in. */
function linksOf(
  paths: readonly string[],
  isHidden: (path: string) => boolean,
  given: readonly string[],
): Confinement['links'] {
  const names = new Set(paths.filter((path) => isAbsolute(path) && path !== real(path)))
  return [...names]
    .filter((path) => isHidden(path) && !isBelowAny(path, given))
    .map((path) => ({ path, target: real(path) }))
}

/** Links followed; what is not there keeps its name. */
export function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function outermost(paths: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (const path of sorted(paths)) if (!isBelowAny(path, kept)) kept.push(path)
  return kept
}

/** What lies above comes first. */
export function sorted(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)].toSorted()
}

export function isBelowAny(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(root === '/' ? '/' : `${root}/`))
}
