import type { Stage } from './gate.ts'

/** Windows of calls, shared by all processes on one store. */
export const rate: Stage = async (_call, next) => {
  return next()
}
