import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Program } from '../primitives/subprocess/command.ts'
import type { Confinement, SandboxHost } from '../primitives/subprocess/confinement.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Held, OwnPlaces } from './confine.ts'
import { confinementOf, real } from './confine.ts'
import type { SandboxWish } from './sandbox.ts'

/** How the programs of one call are held: what everything that is started for it is passed through. */
export interface Hold {
  /** The level that really holds, for the reply and the record; what was asked for where that is another. */
  readonly shown: JsonObject
  /** Whether a manifest or a policy asks for it; what holds unasked is in the record alone. */
  readonly isAsked: boolean
  /** What it may reach though it lies outside: judged like any other path. */
  readonly read: readonly string[]
  readonly write: readonly string[]
  /** The same program, held; `folders` are those that Kiwi put there for it. What looks before it starts is held too. */
  readonly confine: <T extends Program>(program: T, folders: readonly string[]) => T
  readonly warnings: readonly string[]
}

export interface HoldMeans {
  readonly host: SandboxHost
  readonly own: OwnPlaces
  readonly projectPath: string | null
  /** The folders whose files decide about the call. */
  readonly policies: readonly string[]
}

export function holdOf(tool: string, wish: SandboxWish, means: HoldMeans): Hold {
  const { host } = means
  const level = wish.level === 'strict' && host.missing.strict !== null ? 'fs' : wish.level
  if (level === 'off' || host.missing[level] !== null) return bare(tool, wish, host)
  const isWeaker = level !== wish.level
  // What cannot be strict may be for want of a network of its own.
  const net = wish.net === 'all' || isWeaker ? 'all' : 'none'
  const lacks = [
    ...(isWeaker ? [`sandbox "${wish.level}" is not to be had here: ${host.missing.strict}`] : []),
    ...(wish.net === 'proxy' ? ['net "proxy" is not built'] : []),
  ]
  if (wish.isRequired && lacks.length > 0) throw unavailable(tool, wish, lacks.join('; '))
  const paths = { read: pathsOf(wish, 'read', means), write: pathsOf(wish, 'write', means) }
  const bounds: Held = {
    program: host.program,
    level,
    hasNetwork: net === 'all',
    // Where a table of processes cannot be had, files are still bounded.
    hasOwnProcesses: host.missing.strict === null,
    read: paths.read.found,
    write: paths.write.found,
    projectPath: means.projectPath,
    policies: means.policies,
  }
  return {
    shown: { level, mechanism: host.mechanism, net, ...(isWeaker ? { asked: wish.level } : {}) },
    isAsked: true,
    read: level === 'strict' ? bounds.read : [],
    write: bounds.write,
    confine: (program, folders) => heldBy(program, confinementOf(program, folders, bounds, means.own)),
    warnings: [
      ...lacks.map((lack) => `WEAKER SANDBOX: ${lack}; "${tool}" is held by "${level}", net "${net}"`),
      ...[...paths.read.missing, ...paths.write.missing].map(
        (path) => `the sandbox names "${path}", which is not there`,
      ),
    ],
  }
}

/** The same program, held, with all that looks before it starts. */
export function heldBy<T extends Program>(program: T, confinement: Confinement): T {
  const { guards } = program
  if (guards === undefined) return { ...program, confinement }
  const held = guards.map((guard) => ({ ...guard, program: { ...guard.program, confinement } }))
  return { ...program, confinement, guards: held }
}

/** Asked for and not to be had: never silently. */
function bare(tool: string, wish: SandboxWish, { missing }: SandboxHost): Hold {
  const reason = missing[wish.level === 'strict' ? 'strict' : 'fs'] ?? 'there is none'
  if (wish.isRequired) throw unavailable(tool, wish, reason)
  return {
    shown: { level: 'off', mechanism: null, asked: wish.level },
    isAsked: true,
    read: [],
    write: [],
    confine: (program) => program,
    warnings: [
      `NOT SANDBOXED: "${tool}" asks for sandbox "${wish.level}", and this host has none: ${reason}`,
    ],
  }
}

function unavailable(tool: string, { level }: SandboxWish, reason: string): KiwiError {
  return new KiwiError(
    'SANDBOX_UNAVAILABLE',
    `Cannot run "${tool}": it requires sandbox "${level}", which cannot be had here: ${reason}`,
    {
      hint: 'Install bubblewrap 0.7 or newer; kiwi doctor says which levels this host has',
      details: { level, reason, layer: 'sandbox', rule: 'sandbox.required' },
    },
  )
}

/** `~`, `${HOME}` and `${PROJECT_PATH}` stand for what they say; what is relative lies below the project. */
function pathsOf(
  wish: SandboxWish,
  key: 'read' | 'write',
  { own, projectPath }: HoldMeans,
): { readonly found: readonly string[]; readonly missing: readonly string[] } {
  const found: string[] = []
  const missing: string[] = []
  for (const text of wish[key]) {
    const given = text.replace(/^~(?=\/|$)|^\$\{HOME\}/, () => own.home)
    const filled = given.replace(/^\$\{PROJECT_PATH\}/, () => projectPath ?? '')
    const needsProject = given !== filled || !filled.startsWith('/')
    const path = needsProject && projectPath === null ? null : real(resolve(projectPath ?? '/', filled))
    if (path === null || !existsSync(path)) missing.push(text)
    else found.push(path)
  }
  return { found, missing }
}
