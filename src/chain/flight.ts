import type { Clock } from '../shared/clock.ts'
import type { Report, Watch } from '../shared/progress.ts'
import type { Stop } from '../shared/stop.ts'

/** One piece of long work that several calls wait for. It is ended when the last of them has gone away. */
export interface Flight {
  /** Whether the work was done before the caller went away. Fails as the work does. */
  join(watch: Watch): Promise<boolean>
  /** Whether everybody who waited has gone away. */
  isLeft(): boolean
  /** Never fails. */
  readonly ended: Promise<void>
}

/** How often a call that takes long says that it is still at it. */
const BEAT_MS = 2000

export function openFlight(
  clock: Clock,
  work: (signal: AbortSignal, say: (message: string) => void) => Promise<void>,
): Flight {
  const started = clock.monotonic()
  const reports = new Set<Report>()
  const abort = new AbortController()
  let waiting = 0
  let message = ''
  let last = -1

  const tell = (listeners: Iterable<Report>): void => {
    // What is reported has to grow, however fast one step follows another.
    const seconds = Math.max(last + 0.001, (clock.monotonic() - started) / 1000)
    last = seconds
    for (const report of listeners) report({ message, seconds })
  }
  const say = (next: string): void => {
    if (next === message) return
    message = next
    tell(reports)
  }
  const beat = setInterval(() => {
    if (message !== '') tell(reports)
  }, BEAT_MS).unref()

  // Not at once: whoever opens it has to have joined it, or would miss what is said first.
  const done = Promise.resolve()
    .then(() => work(abort.signal, say))
    .finally(() => clearInterval(beat))
  const ended = done.catch(() => {})

  return {
    ended,
    isLeft: () => abort.signal.aborted,
    async join({ signal, report }) {
      if (report !== undefined) reports.add(report)
      // Whoever comes later is told what is being done, and not only what comes next.
      if (report !== undefined && message !== '') tell([report])
      waiting += 1
      try {
        return await Promise.race([done.then(() => true), left(signal, ended)])
      } finally {
        if (report !== undefined) reports.delete(report)
        waiting -= 1
        if (waiting === 0) abort.abort()
        // Whoever is the last to go leaves nothing half done behind.
        if (waiting === 0) await ended
      }
    },
  }
}

/** Resolves to false when the caller goes away before the end. */
function left(signal: Stop | undefined, ended: Promise<void>): Promise<false> {
  return new Promise((resolve) => {
    if (signal === undefined) return
    const leave = (): void => resolve(false)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    void ended.then(() => signal.removeEventListener('abort', leave))
  })
}
