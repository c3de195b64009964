import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { realPathOf } from '../../spaces/disk.ts'
import { foldersTo } from '../../spaces/harness.ts'
import type { Policy, PolicyOf } from './policy.ts'

const GONE = 'it is gone, and has bound this project: a person puts it back, or starts Kiwi again without it'
const REPLACED =
  'the folder it lies in was put in the place of the one that was bound: a person looks at it, and starts Kiwi again'

/**
 * A file of a project that has bound it, and is no longer there, is a fault: what is gone never opens anything. So is one
 * in a folder that took the place of another: a program can move a whole project away and lay out a new one.
 */
export function withKeptHarness(policyOf: PolicyOf): PolicyOf {
  /** Every file that was in force, with the folder that it decided about. */
  const bound = new Map<string, string>()
  const last = new Map<string, { readonly given: Policy; readonly found: Policy }>()
  const checked = (policy: Policy, project: string, session: string | null): Policy => {
    // What binds a session in other projects is of its own.
    const place = `${project}\n${session ?? ''}`
    const before = last.get(place)
    if (before?.given === policy) return before.found
    const files = policy.files.filter((file) => file.place === 'project').map(({ path }) => path)
    const folders = new Set([project, ...(session === null ? [] : [session])].flatMap(namesAbove))
    const gone = [...bound.keys()].filter((file) => folders.has(decidedBy(file)) && !files.includes(file))
    const replaced = files.filter((file) => (bound.get(file) ?? identityOf(file)) !== identityOf(file))
    // One that could not be read has let nothing run: who takes it away opens nothing.
    const binding = files.filter((path) => policy.faults.every(({ file }) => file !== path))
    for (const file of binding) if (!bound.has(file)) bound.set(file, identityOf(file))
    const faults = [
      ...gone.map((file) => ({ file, line: 1, column: 1, reason: GONE })),
      ...replaced.map((file) => ({ file, line: 1, column: 1, reason: REPLACED })),
    ]
    const found = faults.length === 0 ? policy : { ...policy, faults: [...policy.faults, ...faults] }
    last.set(place, { given: policy, found })
    return found
  }
  return (project, session = null) => {
    const policy = policyOf(project, session)
    if (project === null) return policy
    return policy instanceof Promise
      ? policy.then((read) => checked(read, project, session))
      : checked(policy, project, session)
  }
}

/** The folder that a file is about: it lies in `.ai/config` there. */
function decidedBy(file: string): string {
  return dirname(dirname(dirname(file)))
}

/** A folder is known by its number on the disk, which no other has while it is there. */
function identityOf(file: string): string {
  const { dev, ino } = statSync(decidedBy(file))
  return `${dev}:${ino}`
}

/** It and all that it lies in, as it is written and as it is on disk. */
function namesAbove(folder: string): readonly string[] {
  return [...foldersTo(folder), ...foldersTo(realPathOf(folder) ?? folder)]
}
