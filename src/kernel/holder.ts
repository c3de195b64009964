import type { Call } from './call.ts'

/** Whose calls are counted together: those of a run, or of a session outside of any. */
export function holderOf({ ticket: { runId, caller } }: Call): string {
  return runId ?? caller.session
}

/**
 * Who is asked and told what an upstream says while the call runs. Of clients that share a session nothing tells one from
 * another, so each call of theirs stands for itself; whoever names the run of another session is not that session.
 */
export function waiterOf({ ticket: { callId, runId, caller } }: Call): string {
  if (caller.isShared === true) return callId
  return runId === undefined ? caller.session : `${caller.session} ${runId}`
}
