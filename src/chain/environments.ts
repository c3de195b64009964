import { mkdtemp, readdir, readlink, rename, rm, rmdir, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import { OWN_PROCESS, isLiving } from '../shared/own-process.ts'
import type { Watch } from '../shared/progress.ts'
import { takeLock } from '../shared/take-lock.ts'
import type { BuildFiles } from './build-steps.ts'
import { cancelled, cannotBuild, removed, stepFailure } from './build-failure.ts'
import { dropOldest, removeFolder } from './drop-oldest.ts'
import type { EnvironmentDraft } from './environment-draft.ts'
import { isThere } from './environment-draft.ts'
import type { Flight } from './flight.ts'
import { openFlight } from './flight.ts'
import { renewUse } from './work-folder.ts'

/** What programs need before they can run, each built once and kept. */
export interface Environments {
  /** Resolves when it is ready. Calls that want the same one wait for one build, in this process and in others. */
  prepare(environment: EnvironmentDraft, files: BuildFiles, watch: Watch): Promise<void>
  close(): Promise<void>
}

interface EnvironmentsMeans {
  readonly subprocess: Pick<Subprocess, 'run'>
  readonly clock: Clock
}

export function openEnvironments(means: EnvironmentsMeans): Environments {
  const flights = new Map<string, Flight>()
  const dropping = new Set<Promise<void>>()

  /** Behind the call that made one more; a surplus that stays does no harm. */
  const dropSurplus = (root: string): void => {
    const bounds = { most: LIMITS.environments, unusedMs: LIMITS.environmentDays * DAY_MS }
    const drop = dropOldest(root, means.clock.now(), bounds)
      .catch(() => {})
      .finally(() => dropping.delete(drop))
    dropping.add(drop)
  }

  const start = (environment: EnvironmentDraft, files: BuildFiles): Flight => {
    const { place } = environment
    const flight = openFlight(means.clock, (signal, say) =>
      build(environment, files, { ...means, signal, say }).finally(() => flights.delete(place)),
    )
    flights.set(place, flight)
    return flight
  }

  return {
    async prepare(environment, files, watch) {
      const { place, product } = environment
      if (isThere(product)) return renewUse(place, means.clock.now())
      if (environment.builder === null) throw removed(environment.tool)
      // One that everybody has left comes to its end first.
      if (flights.get(place)?.isLeft() === true) await flights.get(place)?.ended
      const known = flights.get(place)
      const flight = known ?? start(environment, files)
      if (!(await flight.join(watch))) throw cancelled(environment.tool)
      if (known === undefined) dropSurplus(dirname(place))
    },
    async close() {
      await Promise.all([...flights.values()].map(({ ended }) => ended))
      await Promise.all(dropping)
    },
  }
}

const DAY_MS = 24 * 60 * 60 * 1000

interface BuildMeans extends EnvironmentsMeans {
  readonly signal: AbortSignal
  readonly say: (message: string) => void
}

async function build(environment: EnvironmentDraft, given: BuildFiles, means: BuildMeans): Promise<void> {
  const { place, product, timeoutMs, tool } = environment
  try {
    const release = await takeLock(join(place, 'lock'), {
      ...means,
      isDone: () => isThere(product),
      onWait: () => means.say('waiting for another process that does the same'),
      longestMs: timeoutMs,
    })
    if (release === null) return
    try {
      await removeLeftovers(place)
      if (!isThere(product)) await buildBeside(environment, given, means)
    } finally {
      await release()
      // A place where nothing came to be is none.
      await rmdir(place).catch(() => {})
    }
  } catch (error) {
    if (error instanceof KiwiError) throw error
    throw means.signal.aborted ? cancelled(tool) : cannotBuild(environment, error)
  }
}

/**
 * What is built may hold its own path, so it stays where it was built. What comes into place, at once and whole, is
 * the link to it.
 */
async function buildBeside(
  environment: EnvironmentDraft,
  given: BuildFiles,
  means: BuildMeans,
): Promise<void> {
  const { place, folder, product, files, tool } = environment
  const beside = await mkdtemp(join(place, `${OWN_PROCESS.pid}-${OWN_PROCESS.start}-`))
  try {
    for (const { name, text } of files) await writeFile(join(beside, name), text, { mode: 0o600 })
    await runSteps(environment, { folder: beside, ...given }, means)
    if (!isThere(join(beside, product.slice(folder.length)))) {
      throw new KiwiError(
        'INVALID_CONFIG',
        `Cannot run "${tool}": its runtime built everything, but no "${basename(product)}"`,
        { hint: 'Correct the steps under config.environment of the runtime' },
      )
    }
    await symlink(basename(beside), `${beside}.link`)
    await rename(`${beside}.link`, folder)
  } catch (error) {
    await rm(`${beside}.link`, { force: true })
    await removeFolder(beside)
    throw error
  }
}

async function runSteps(
  environment: EnvironmentDraft,
  at: BuildFiles & { readonly folder: string },
  { subprocess, clock, signal, say }: BuildMeans,
): Promise<void> {
  const deadline = clock.monotonic() + environment.timeoutMs
  for (const step of environment.builder?.steps(at) ?? []) {
    say(step.say)
    const timeoutMs = Math.max(1, deadline - clock.monotonic())
    const result = await subprocess.run({ ...step.command, timeoutMs }, signal)
    if (!result.success) throw stepFailure(environment, step.command, result)
  }
}

/** What processes that are gone left half-built, and what nothing leads to any more. */
async function removeLeftovers(place: string): Promise<void> {
  const current = await readlink(join(place, 'current')).catch(() => null)
  for (const name of await readdir(place)) {
    const [, pid, start] = /^(\d+)-([^-]*)-/.exec(name) ?? []
    if (pid === undefined || start === undefined || name === current) continue
    const isOurs = Number(pid) === OWN_PROCESS.pid && start === OWN_PROCESS.start
    if (!isOurs && isLiving({ ...OWN_PROCESS, pid: Number(pid), start }) === true) continue
    await removeFolder(join(place, name))
  }
}
