/** Time is passed in, so that tests move it by hand. */
export interface Clock {
  /** Milliseconds since 1970, for people and records. */
  now(): number
  /** Milliseconds from an arbitrary start that never go back, for durations and deadlines. */
  monotonic(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
}
