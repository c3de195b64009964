import type { Stage } from './gate.ts'

/** What one session or run may use in all. */
export const budget: Stage = async (_call, next) => {
  return next()
}
