import type { Call } from './call.ts'

/** Whose calls are counted together: those of a run, or of a session outside of any. */
export function holderOf({ ticket: { runId, caller } }: Call): string {
  return runId ?? caller.session
}
