import { readdirSync, readFileSync } from 'node:fs'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { PROCESS_MARK } from '../../config/environment.ts'

/** KILL to every process that carries one of the marks. Does nothing where there is no /proc. */
export type Sweep = (mark: string) => Promise<void>

/** Reading the table costs milliseconds: marks that come while it is read wait for the next reading, together. */
export function createSweep(): Sweep {
  let next: { readonly marks: Set<string>; readonly done: Promise<void> } | null = null
  let last: Promise<void> = Promise.resolve()
  return (mark) => {
    if (next === null) {
      const marks = new Set<string>()
      last = killMarked(marks, last, () => {
        next = null
      })
      next = { marks, done: last }
    }
    next.marks.add(mark)
    return next.done
  }
}

/** A process may start another while we read: so again, until none is found. */
const MAX_READINGS = 10
/** Each costs some hundredths of a millisecond, and on some machines there are thousands. */
const READ_AT_ONCE = 8

/** The numbers of all processes, with a turn for everybody else after every few: what is done with each takes its time. */
export async function* eachProcess(): AsyncGenerator<number> {
  let read = 0
  for (const pid of listProcesses()) {
    yield pid
    if (++read % READ_AT_ONCE === 0) await nextTurn()
  }
}

async function killMarked(
  marks: ReadonlySet<string>,
  after: Promise<void>,
  begin: () => void,
): Promise<void> {
  await after
  begin()
  // One that is stuck in the system stays in the table: it is waited for once.
  const tried = new Set<number>()
  for (let reading = 0; reading < MAX_READINGS; reading++) {
    const killed: number[] = []
    for await (const pid of eachProcess()) {
      const mark = markOf(pid)
      if (mark !== null && marks.has(mark) && !tried.has(pid) && kill(pid)) killed.push(pid)
    }
    if (killed.length === 0) return
    for (const pid of killed) tried.add(pid)
    await untilDead(killed)
  }
}

/** A process dies of KILL only when it is its turn to run; one that is stuck in the system may not die at all. */
const DEATH_WAIT_MS = 1000
const DEATH_STEP_MS = 5

export async function untilDead(pids: readonly number[]): Promise<void> {
  for (let waited = 0; waited < DEATH_WAIT_MS && pids.some(isLiving); waited += DEATH_STEP_MS) {
    await delay(DEATH_STEP_MS)
  }
}

function listProcesses(): readonly number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

const MARK_BYTES = Buffer.from(`${PROCESS_MARK}=`)

function markOf(pid: number): string | null {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`)
    const at = environment.indexOf(MARK_BYTES)
    if (at < 0) return null
    const from = at + MARK_BYTES.length
    const end = environment.indexOf(0, from)
    return environment.toString('latin1', from, end < 0 ? undefined : end)
  } catch {
    return null
  }
}

/** A process that can be told from a later one with the same pid. */
export interface Process {
  readonly pid: number
  readonly startedAt: string
}

/** A tree this large is a bomb; reading on would stop our loop. */
const MAX_DESCENDANTS = 256

/** The processes below one, as long as their parents live. Finds those that dropped the mark as well. */
export function listDescendants(pid: number): readonly Process[] {
  const found: Process[] = []
  const open = childrenOf(pid)
  for (let child = open.pop(); child !== undefined && found.length < MAX_DESCENDANTS; child = open.pop()) {
    const startedAt = statusOf(child)?.startedAt
    if (startedAt !== undefined) found.push({ pid: child, startedAt })
    for (const grandchild of childrenOf(child)) open.push(grandchild)
  }
  return found
}

/** False when it was gone already. */
export function killProcess({ pid, startedAt }: Process): boolean {
  return statusOf(pid)?.startedAt === startedAt && kill(pid)
}

/** Asks it to end; false when it was gone already. */
export function terminateProcess({ pid, startedAt }: Process): boolean {
  return statusOf(pid)?.startedAt === startedAt && kill(pid, 'SIGTERM')
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}

/** The living processes of a group; null where there is no table to look into. */
export async function listGroup(group: number): Promise<readonly number[] | null> {
  let isTable = false
  const living: number[] = []
  for await (const pid of eachProcess()) {
    isTable = true
    const status = statusOf(pid)
    if (status?.group === String(group) && !isDead(status)) living.push(pid)
  }
  return isTable ? living : null
}

/** A zombie does not live; it waits for a parent that may never look after it. */
export function isLiving(pid: number): boolean {
  const status = statusOf(pid)
  return status !== null && !isDead(status)
}

function isDead({ state }: Status): boolean {
  return state === 'Z' || state === 'X'
}

interface Status {
  readonly state: string | undefined
  readonly group: string | undefined
  readonly startedAt: string | undefined
}

function statusOf(pid: number): Status | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name before the state stands in brackets and may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0], group: fields[2], startedAt: fields[19] }
  } catch {
    return null
  }
}

export function kill(pid: number, signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
