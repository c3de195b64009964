import { KiwiError } from '../shared/errors.ts'
import type { Stop } from '../shared/stop.ts'
import { cancelled } from './pending.ts'
import type { WireEnd } from './wire.ts'

/** The end of a wire that consists of many requests: it comes once, and takes with it what is still under way. */
export interface Ending {
  readonly ended: Promise<WireEnd>
  /** Does some work that ends with the caller's signal and with the wire. */
  during<T>(signal: Stop | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** `goodbye` is said when everything is let go of. */
  end(reason: string, goodbye: () => Promise<void>): Promise<WireEnd>
}

/** `id` is how people know the upstream. */
export function openEnding(id: string): Ending {
  const open = new Set<AbortController>()
  const whenEnded: ((end: WireEnd) => void)[] = []
  const ended = new Promise<WireEnd>((resolve) => whenEnded.push(resolve))
  let isOver = false
  return {
    ended,
    async during(signal, work) {
      if (isOver) throw new KiwiError('UPSTREAM_UNAVAILABLE', `Cannot use "${id}": it has ended`)
      const isCancelled = (): boolean => signal?.aborted === true
      if (isCancelled()) throw cancelled(id)
      const controller = new AbortController()
      const abort = (): void => controller.abort()
      signal?.addEventListener('abort', abort, { once: true })
      open.add(controller)
      try {
        return await work(controller.signal)
      } catch (error) {
        if (isCancelled()) throw cancelled(id)
        if (!isAborted(error)) throw error
        throw new KiwiError('OUTCOME_UNKNOWN', `Cannot use "${id}": it was closed before the answer`)
      } finally {
        signal?.removeEventListener('abort', abort)
        open.delete(controller)
      }
    },
    async end(reason, goodbye) {
      if (isOver) return ended
      isOver = true
      for (const controller of open) controller.abort()
      await goodbye()
      for (const settle of whenEnded) settle({ reason, isTooLarge: false })
      return ended
    },
  }
}

function isAborted(error: unknown): boolean {
  if (error instanceof KiwiError) return error.code === 'CANCELLED'
  return error instanceof Error && error.name === 'AbortError'
}
