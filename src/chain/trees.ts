import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { z } from 'zod'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../shared/clock.ts'
import { messageOf } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import { statOf } from '../spaces/disk.ts'
import type { Oddities } from '../spaces/oddity.ts'
import { nameOf } from '../spaces/oddity.ts'
import { dropOldest } from './drop-oldest.ts'
import type { Shadow, Uncovered } from './shadow.ts'
import { copyIndex, dropShadow, findShadow, grow, prepareShadow } from './shadow.ts'
import type { ShadowGit } from './shadow-git.ts'
import { openShadowGit } from './shadow-git.ts'
import type { TreeChanges } from './tree-changes.ts'
import { changesSince } from './tree-changes.ts'
import type { Bounds, Known } from './tree-standing.ts'
import { foldersAbove, knownTo, settleIndex } from './tree-standing.ts'

/** What stands below a project, before and after a program that may change any of it. */
export interface Trees {
  /** Takes note of everything below the project, or says why it cannot. No effect on the project. */
  begin(project: string, callId: string): Promise<BegunTree | Uncovered>
  /** What is otherwise than it was before a call that was cut off; what it left is not known. */
  recover(project: string, callId: string): Promise<TreeChanges | Uncovered>
}

interface BegunTree {
  /** Paths that are not covered, each with its reason. */
  readonly skipped: readonly string[]
  /** Why nothing is kept of a path, where that is not among them; null where something is. */
  whyNot(path: string): string | null
  /** What was changed since. */
  finish(): Promise<TreeChanges>
}

interface TreeMeans {
  readonly subprocess: Subprocess
  readonly config: Config
  readonly clock: Clock
  /** Whether a call that is under way, or was cut off, still needs what is known of a project. */
  readonly isNeeded: (project: string, exceptCallId: string) => Promise<boolean>
  /** Those of the house unless given. */
  readonly bounds?: Bounds
}

const MOST_SHADOWS = 50
const BOUNDS: Bounds = { files: LIMITS.undoFiles, bytes: LIMITS.undoBytes }

export function openTrees(means: TreeMeans): Trees {
  const { subprocess, config, clock, isNeeded, bounds = BOUNDS } = means
  const { environment, trees } = config
  const { HOME: home = '/' } = environment
  const gitFor = (shadow: Shadow, callId: string): ShadowGit | Uncovered => {
    const program = subprocess.find('git', environment['PATH'] ?? '')
    if (program === null) return { why: 'git is not installed' }
    return openShadowGit(shadow, join(shadow.folder, `index.${callId}`), { subprocess, program, environment })
  }
  const open = (project: string, callId: string): ShadowGit | Uncovered => {
    const shadow = findShadow(project, { home, trees })
    return 'why' in shadow ? shadow : gitFor(shadow, callId)
  }
  return {
    async begin(project, callId) {
      const git = open(project, callId)
      if ('why' in git) return git
      try {
        const standing = await stand(git, bounds)
        if (standing.odd.size > 0)
          writeFileSync(oddFile(git), JSON.stringify([...standing.odd]), { mode: 0o600 })
        await dropOldest(trees, clock.now(), { most: MOST_SHADOWS, unusedMs: LIMITS.undoDays * DAY_MS })
        return {
          skipped: Array.from(standing.skipped, ([path, why]) => `${nameOf(path)}: ${why}`),
          whyNot: (path) => whyNotKept(path, git.shadow, standing),
          async finish() {
            const found = await inScratch(git, (scratch) => changesSince(git, standing, scratch))
            renameSync(git.index, join(git.shadow.folder, 'index'))
            rmSync(oddFile(git), { force: true })
            if (standing.isFull && !(await isNeeded(project, callId))) dropShadow(git.shadow)
            return found
          },
        }
      } catch (error) {
        rmSync(git.index, { force: true })
        return { why: messageOf(error) }
      }
    },
    async recover(project, callId) {
      const git = open(project, callId)
      if ('why' in git) return git
      if (statOf(git.index) === null) return { why: 'what was noted before it is gone' }
      try {
        const standing = await knownTo(git, readOdd(git))
        const { changes, ...rest } = await inScratch(git, (scratch) => changesSince(git, standing, scratch))
        return { ...rest, changes: changes.map((change) => ({ ...change, after: null })) }
      } catch (error) {
        return { why: messageOf(error) }
      }
    },
  }
}

const DAY_MS = 24 * 60 * 60 * 1000

/** What git does not know of: after a call that was cut off it is found here. */
function oddFile({ index }: ShadowGit): string {
  return `${index}.odd`
}

const Odd = z.array(z.tuple([z.string(), z.object({ why: z.string(), stamp: z.string() })]))

function readOdd(git: ShadowGit): Oddities {
  if (statOf(oddFile(git)) === null) return new Map()
  return new Map(Odd.parse(JSON.parse(readFileSync(oddFile(git), 'utf8'))))
}

/** A path as the system names it. */
function whyNotKept(
  path: string,
  { workTree, prefix }: Shadow,
  { files, folders, skipped }: Standing,
): string | null {
  const below = relative(workTree, path).split(sep).join('/')
  if (`${below}/` === prefix || (below === '' && prefix === '')) return null
  if (!below.startsWith(prefix) || /^\.\.(?:\/|$)/.test(below)) return 'it is outside of the project'
  if (/(?:^|\/)\.git(?:\/|$)/.test(below)) return 'it is what git keeps'
  const isSaid = [below, ...foldersAbove(below, prefix)].some(
    (each) => skipped.has(each) || skipped.has(`${each}/`),
  )
  return isSaid || files.has(below) || folders.has(below) ? null : 'git ignores it'
}

interface Standing extends Known {
  readonly skipped: ReadonlyMap<string, string>
  /** The shadow has grown enough. */
  readonly isFull: boolean
}

/** The index made equal to what lies there: from ours of the last time, else from the project's, else from nothing. */
async function stand(git: ShadowGit, bounds: Bounds): Promise<Standing> {
  prepareShadow(git.shadow)
  const isOurs = copyIndex(join(git.shadow.folder, 'index'), git.index)
  const settle = async (): Promise<Standing> => {
    const { read, ...settled } = await settleIndex(git, bounds)
    // Nothing was there yet; that too has to be known later.
    if (statOf(git.index) === null) await git.run(['read-tree', '--empty'])
    return { ...settled, isFull: grow(git.shadow, read.files, read.bytes) }
  }
  try {
    if (!isOurs) await git.seed()
    return await settle()
  } catch {
    // An index may be in a form of its own, or damaged. Without one everything is read.
    rmSync(git.index, { force: true })
    return settle()
  }
}

async function inScratch<T>(git: ShadowGit, work: (scratch: string) => Promise<T>): Promise<T> {
  const scratch = `${git.index}.files`
  mkdirSync(scratch, { mode: 0o700 })
  try {
    return await work(scratch)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
