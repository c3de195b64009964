import { performance } from 'node:perf_hooks'

/** Begins a rest, each time that much was done before and then nothing for a while. */
export interface Rest {
  end(): void
}

/** How often is looked; a rest comes after one to two of them. */
const LOOK_MS = 10_000
/** Of a look: a timer that finds nothing to do takes less, the smallest call takes more in its first second. */
const BUSY_MS = 20

export function restAfterWork(begin: () => Promise<void>, lookMs = LOOK_MS): Rest {
  let before = performance.eventLoopUtilization()
  let hasWorked = true
  let isResting = false
  const look = async (): Promise<void> => {
    if (isResting) return
    const { active } = performance.eventLoopUtilization(before)
    before = performance.eventLoopUtilization()
    if (active >= BUSY_MS) {
      hasWorked = true
      return
    }
    if (!hasWorked) return
    isResting = true
    await begin()
    // What the rest itself took is no work.
    before = performance.eventLoopUtilization()
    hasWorked = false
    isResting = false
  }
  const timer = setInterval(() => void look(), lookMs).unref()
  return { end: () => clearInterval(timer) }
}

/**
 * Gives back what calls have left behind. The engine does so by itself only when it needs room, and a server that nobody
 * calls never does: it would hold half as much again, for as long as its client is open.
 */
export async function giveMemoryBack(): Promise<void> {
  // There are builds of Node without it.
  const inspector = await import('node:inspector').catch(() => null)
  if (inspector === null) return
  const session = new inspector.Session()
  session.connect()
  await new Promise<void>((resolve) => {
    // A session cannot be ended from within its own answer.
    session.post('HeapProfiler.collectGarbage', () => setImmediate(resolve))
  })
  session.disconnect()
}
