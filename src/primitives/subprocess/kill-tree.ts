import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../shared/clock.ts'
import { killHolders } from './pipe-holders.ts'
import type { Process } from './process-table.ts'
import {
  createSweep,
  isLiving,
  killProcess,
  listDescendants,
  listGroup,
  terminateProcess,
  untilDead,
} from './process-table.ts'
import type { Child } from './start-child.ts'
import { within } from './within.ts'

/** Ends children with all their descendants. */
export interface KillTree {
  /** TERM to the group, KILL after the grace, then KILL to those that left the group. */
  stop(child: Child, graceMs: number): Promise<void>
  /** For a child that exited: KILL to what is left of its group; then to those that left it, if they hold its pipes. */
  clear(child: Child): Promise<void>
  /** The same, but looks for those that left the group in any case, and leaves the pipes to whoever reads them. */
  clearAll(child: Child): Promise<void>
  /** From now on no grace lasts longer than three and a half seconds more. */
  hurry(): void
}

/** How long the pipes of a child that exited may stay open. */
const PIPE_GRACE_MS = 250
/** From KILL to the end of a process that is not stuck in the system. */
const KILL_WAIT_MS = 1000
const HURRY_MS = 3500
const LONGEST_STEP_MS = 25

export function createKillTree(clock: Clock): KillTree {
  const sweep = createSweep()
  let hurriedAt = Infinity

  const groupEnds = async (pid: number, graceMs: number): Promise<void> => {
    const startedAt = clock.monotonic()
    let living: readonly number[] = [pid]
    for (let step = 1; signalGroup(pid, 0); step = Math.min(step * 2, LONGEST_STEP_MS)) {
      // Zombies count for the system. Where nobody looks after orphans they would cost the whole grace.
      if (!living.some(isLiving)) living = (await listGroup(pid)) ?? [pid]
      if (living.length === 0) return
      const end = Math.min(startedAt + graceMs, Math.max(startedAt, hurriedAt) + HURRY_MS)
      const left = end - clock.monotonic()
      if (left <= 0) return
      await delay(Math.min(step, left))
    }
  }

  const killGroup = async (pid: number): Promise<void> => {
    if (signalGroup(pid, 'SIGKILL')) await groupEnds(pid, KILL_WAIT_MS)
  }

  return {
    async stop(child, graceMs) {
      // Taken while parents live: an orphan cannot be traced to us.
      const descendants = [...listDescendants(child.pid)]
      askToEnd(child, descendants)
      await groupEnds(child.pid, graceMs)
      descendants.push(...listDescendants(child.pid))
      await killGroup(child.pid)
      await untilDead(descendants.filter(killProcess).map(({ pid }) => pid))
      await sweep(child.mark)
      await letGo(child, KILL_WAIT_MS)
    },
    async clear(child) {
      const isClosed = await within(child.closed, PIPE_GRACE_MS)
      await killGroup(child.pid)
      if (isClosed || (await within(child.closed, LONGEST_STEP_MS))) return
      await sweep(child.mark)
      await letGo(child, PIPE_GRACE_MS)
    },
    async clearAll(child) {
      await within(child.closed, PIPE_GRACE_MS)
      await killGroup(child.pid)
      await sweep(child.mark)
    },
    hurry() {
      hurriedAt = Math.min(hurriedAt, clock.monotonic())
    },
  }
}

/** Whoever still holds a pipe of it came from it. */
async function letGo(child: Child, waitMs: number): Promise<void> {
  if (await within(child.closed, LONGEST_STEP_MS)) return
  await killHolders(child.pipes)
  if (!(await within(child.closed, waitMs))) child.abandon()
}

/** What holds a program takes it along when it goes, so that only those inside are told: they have their grace. */
function askToEnd({ pid, isConfined }: Child, descendants: readonly Process[]): void {
  if (!isConfined || descendants.length === 0) signalGroup(pid, 'SIGTERM')
  else for (const process of descendants) terminateProcess(process)
}

/** False when no process of the group is left that we may signal. 0 only asks. */
function signalGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL' | 0): boolean {
  // After nearly every run the group is gone, and the trace of an error nobody reads costs more than the asking.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return process.kill(process.platform === 'win32' ? pid : -pid, signal)
  } catch {
    return false
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
