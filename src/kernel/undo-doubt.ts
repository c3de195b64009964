import { z } from 'zod'
import type { Checkpoint } from '../store/undo.ts'
import type { UndoStep } from './undo-plan.ts'

const Ran = z.object({ ran_ms: z.number(), named: z.array(z.string()) })

/** Nobody looks at what a quick command did and has changed a file before it is over. */
const QUICK_MS = 2000

/**
 * Around a program the whole project is compared, so that what a person or another program changed meanwhile seems to
 * be its work. Only what the call names as written is surely its own. Null: nothing is in doubt.
 */
export function doubtOf({ tier, details }: Checkpoint): UndoStep['isDoubtful'] | null {
  if (tier !== 'tree') return null
  const { success, data } = Ran.safeParse(details)
  if (!success || data.ran_ms < QUICK_MS) return null
  return (path) => !data.named.some((root) => path === root || path.startsWith(`${root}/`))
}
