import type { Call } from './call.ts'

/** Whose calls are counted together: those of a session. */
export function holderOf({ ticket: { caller } }: Call): string {
  return caller.session
}
