import { randomUUID } from 'node:crypto'
import { linkSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { OutputSettings } from '../config/config.ts'
import type { Clock } from '../shared/clock.ts'
import { errnoOf, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { makeFolder } from '../shared/make-folder.ts'
import { textOf } from '../shared/template.ts'
import { leadsOutTo, statOf } from '../spaces/disk.ts'

/** The results of runs as files, the newest of each tool. */
export interface Outputs {
  /** Begun together with the run, so that what can be done while it runs takes no time of its own. */
  begin(toolId: string, projectPath: string | null): PendingOutput
}

interface PendingOutput {
  /** Saves the record of the run; a warning says that it could not be saved. */
  save(record: JsonObject): Promise<readonly string[]>
}

interface OutputMeans {
  readonly settings: OutputSettings
  readonly userSpace: string
  readonly clock: Clock
}

export function openOutputs({ settings: { keep, minBytes }, userSpace, clock }: OutputMeans): Outputs {
  const isWanted = ({ output = null }: JsonObject): boolean =>
    keep > 0 && (minBytes === 0 || Buffer.byteLength(textOf(output)) >= minBytes)
  return {
    begin(toolId, projectPath) {
      const folders = setImmediate().then(() => foldersOf(toolId, projectPath, userSpace))
      return {
        async save(record) {
          let reason = ''
          for (const folder of isWanted(record) ? await folders : []) {
            try {
              saveIn(folder, JSON.stringify(record), { keep, now: clock.now() })
              return []
            } catch (error) {
              reason = messageOf(error)
            }
          }
          return reason === '' ? [] : [`the output could not be saved: ${reason}`]
        },
      }
    },
  }
}

/** Where the results of a tool may go: to the project if it has a folder of its own, else to the person. */
function foldersOf(toolId: string, projectPath: string | null, userSpace: string): readonly string[] {
  const own = join(userSpace, 'outputs/tools', toolId)
  if (projectPath === null) return [own]
  const space = join(projectPath, '.ai')
  const folder = join(space, 'outputs/tools', toolId)
  try {
    const nearest = [folder, dirname(folder), join(space, 'outputs'), space].find((at) => statOf(at) !== null)
    return nearest !== undefined && leadsOutTo(nearest, projectPath) === null ? [folder, own] : [own]
  } catch {
    return [own]
  }
}

interface Bounds {
  readonly keep: number
  readonly now: number
}

/**
 * Written beside its place first, hidden, so that nobody reads half of it. Without a pause: it is little work, and a
 * reply waits for it.
 */
function saveIn(folder: string, text: string, { keep, now }: Bounds): void {
  const names = namesIn(folder)
  const saved = savedAmong(names)
  const beside = join(folder, `.${randomUUID()}.tmp`)
  try {
    // Always a new file: one that is there may be another's, with readers or writers of its own.
    writeFileSync(beside, text, { flag: 'wx', mode: 0o600 })
    place(beside, folder, stampOf(now), saved)
  } finally {
    rmSync(beside, { force: true })
  }
  for (const { name } of saved.slice(0, Math.max(0, saved.length - keep + 1)))
    rmSync(join(folder, name), { force: true })
  dropLeftOver(folder, names, now)
}

/** Of plain files: nothing else was put there by us. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? entry.name : []))
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    makeFolder(folder, 0o700)
    hideFromGit(join(folder, '../..'))
    return []
  }
}

/** Results are nobody's sources. */
function hideFromGit(root: string): void {
  try {
    writeFileSync(join(root, '.gitignore'), '*\n', { flag: 'wx' })
  } catch {
    // It is there already, or cannot be written: then the results can hardly be either.
  }
}

/** `20260128_123456`, in UTC. */
function stampOf(now: number): string {
  return new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '_')
}

/** Under a number after all that are there: one that is free again would make the newest the oldest. */
function place(beside: string, folder: string, stamp: string, saved: readonly Saved[]): void {
  const last = saved.findLast((one) => one.stamp === stamp)?.number ?? 0
  for (let number = last + 1; ; number++) {
    try {
      linkSync(beside, join(folder, `output_${stamp}${number === 1 ? '' : `_${number}`}.json`))
      return
    } catch (error) {
      // Another process took the number.
      if (errnoOf(error) !== 'EEXIST') throw error
    }
  }
}

interface Saved {
  readonly name: string
  readonly stamp: string
  readonly number: number
}

const SAVED = /^output_(\d{8}_\d{6})(?:_(\d+))?\.json$/

/** Oldest first. What has another name was not put there by us. */
function savedAmong(names: readonly string[]): readonly Saved[] {
  return names
    .flatMap((name): readonly Saved[] => {
      const [, stamp, number = '1'] = SAVED.exec(name) ?? []
      return stamp === undefined ? [] : [{ name, stamp, number: Number(number) }]
    })
    .toSorted((a, b) => (a.stamp === b.stamp ? a.number - b.number : a.stamp < b.stamp ? -1 : 1))
}

const DAY_MS = 24 * 60 * 60 * 1000

/** What a process that was killed has left beside the results. */
function dropLeftOver(folder: string, names: readonly string[], now: number): void {
  for (const name of names.filter((each) => /^\.[0-9a-f-]{36}\.tmp$/.test(each))) {
    const path = join(folder, name)
    const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now
    if (now - modified > DAY_MS) rmSync(path, { force: true })
  }
}
