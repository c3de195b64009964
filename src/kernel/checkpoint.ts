import type { Stage } from './gate.ts'

/** Keeps what the call may change, so that it can be undone. No effect yet. */
export const checkpoint: Stage = async (_call, next) => {
  return next()
}
