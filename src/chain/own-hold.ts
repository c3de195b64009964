import type { Dirent } from 'node:fs'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Confinement } from '../primitives/subprocess/confinement.ts'
import type { OwnPlaces } from './confine.ts'
import { isBelowAny, real, sorted } from './confine.ts'
import type { Hold, HoldMeans } from './hold.ts'
import { heldBy } from './hold.ts'
import type { Plan } from './plan.ts'
import { VOUCHED } from './trust.ts'
import { statOf } from '../spaces/disk.ts'
import { foldersTo } from '../spaces/harness.ts'

/** Whether it may start code that nobody vouches for: that of its chain, or what its arguments and a project say. */
export function mayRunUnvouched({ trust, effect }: Plan): boolean {
  // A tool of a server only names one: what is started is up to the server, and shared by all of them.
  const started = effect.kind === 'mcp' && effect.toolName !== null ? trust.links.slice(1) : trust.links
  if (started.some(({ level }) => level < VOUCHED) || effect.kind === 'line') return true
  return effect.kind === 'subprocess' && effect.command.hasArgvPolicy
}

/** Keeps a program from what is Kiwi's own, and leaves everything else as it is; null where that cannot be had. */
export function ownHold({ host, own, policies }: HoldMeans): Hold | null {
  if (host.missing.own !== null) return null
  let confinement: Confinement | null = null
  return {
    shown: { level: 'own', mechanism: host.mechanism },
    isAsked: false,
    read: [],
    write: [],
    confine: (program) => heldBy(program, (confinement ??= ownConfinement(host.program, own, policies))),
    warnings: [],
  }
}

function ownConfinement(program: string, own: OwnPlaces, policies: readonly string[]): Confinement {
  // What is not there cannot be covered, and would be made by whoever comes first.
  if (!existsSync(own.cache)) mkdirSync(own.cache, { recursive: true, mode: 0o700 })
  const [home, userSpace, cache] = [real(own.home), real(own.userSpace), real(own.cache)]
  const secret = own.secret.map(real)
  const decided = policies.filter((folder) => isCoverable(folder, userSpace))
  const { folders, links } = givenBack(userSpace, secret)
  return {
    program,
    level: 'own',
    hasNetwork: true,
    hidden: [],
    sealed: [],
    empty: [],
    read: [],
    write: sorted([
      ...above(userSpace, home),
      ...above(cache, home),
      ...decided.map((path) => dirname(real(path))),
    ]),
    guarded: sorted(
      [cache, ...[own.machineHarness, ...decided.flatMap(withFiles)].map(real)].filter(existsSync),
    ),
    masked: [
      ...[userSpace].filter(existsSync),
      ...sorted(secret).filter((path) => existsSync(path) && !isBelowAny(path, [userSpace])),
    ],
    needed: sorted([...folders, ...own.plain.map(real).filter(existsSync)]),
    links,
  }
}

/** Where a project has a space and nothing is decided yet, whoever makes the folder would decide: Kiwi is the first. */
function isCoverable(folder: string, userSpace: string): boolean {
  if (existsSync(folder)) return true
  const space = dirname(folder)
  if (real(space) === userSpace || statOf(space)?.isDirectory() !== true) return false
  try {
    mkdirSync(folder)
    return true
  } catch {
    // Where Kiwi cannot, what it starts cannot either.
    return false
  }
}

/** Items and libraries of the person's own; files beside them are Kiwi's, also those that are made later. */
function givenBack(
  userSpace: string,
  secret: readonly string[],
): { readonly folders: readonly string[]; readonly links: Confinement['links'] } {
  const entries = entriesOf(userSpace).map((entry) => ({ entry, path: join(userSpace, entry.name) }))
  const holdsSecret = (folder: string): boolean => secret.some((path) => isBelowAny(path, [folder]))
  return {
    folders: entries
      .filter(({ entry, path }) => entry.isDirectory() && !holdsSecret(path))
      .map(({ path }) => path),
    links: entries
      .filter(({ entry }) => entry.isSymbolicLink())
      .map(({ path }) => ({ path, target: real(path) })),
  }
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}

/** Where something is decided about a project: in it and all above it, whether there is a file by now or not. */
export function policyFolders(projectPath: string | null): readonly string[] {
  if (projectPath === null) return []
  return foldersTo(real(projectPath)).map((folder) => join(folder, '.ai', 'config'))
}

/** The whole folder, since a file that somebody replaces meanwhile is no longer covered; and what files in it lead to. */
function withFiles(folder: string): readonly string[] {
  return [folder, join(folder, 'agent_harness.yaml'), join(folder, 'mcp_registry.yaml')]
}

/** The folders between two: each is mounted on itself, since what is mounted cannot be renamed. */
function above(path: string, root: string): readonly string[] {
  const found: string[] = []
  for (let at = dirname(path); at !== root && isBelowAny(at, [root]); at = dirname(at)) found.push(at)
  return found
}
