import { denied } from './permission.ts'
import type { Stage } from './gate.ts'

/** Where a layer says ask, a person answers for this very call, once. */
export const approval: Stage = async (call, next) => {
  const { verdict, work } = call
  if (verdict?.effect === 'ask' && work !== null) throw denied(verdict, work)
  return next()
}
