/** What is given up at its time. */
export interface Expiring {
  /** By the monotonic clock, in milliseconds; Infinity for never. */
  readonly deadline: number
  readonly expire: () => void
}

/** One timer for all that wait: most are answered long before, and a timer for each costs more than the rest of them. */
export interface Deadlines {
  /** The moment so many milliseconds from now; whoever expires then is found by it. */
  in(milliseconds: number): number
}

/** Node takes longer ones for none at all. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export function openDeadlines(all: () => Iterable<Expiring>): Deadlines {
  let timer: NodeJS.Timeout | undefined
  let next = Infinity

  const arm = (deadline: number, now: number): void => {
    clearTimeout(timer)
    next = deadline
    timer = setTimeout(ring, Math.min(Math.max(Math.ceil(deadline - now), 1), LONGEST_TIMER_MS)).unref()
  }
  const ring = (): void => {
    next = Infinity
    const now = performance.now()
    let earliest = Infinity
    for (const expiring of all()) {
      if (expiring.deadline <= now) expiring.expire()
      else earliest = Math.min(earliest, expiring.deadline)
    }
    if (earliest < next) arm(earliest, now)
  }

  return {
    in(milliseconds) {
      const now = performance.now()
      const deadline = now + milliseconds
      if (deadline < next) arm(deadline, now)
      return deadline
    },
  }
}
