import type { NewCheckpoint } from '../store/undo.ts'
import type { Call, Outcome } from './call.ts'

/** What is kept before a call, to be completed when it is over. */
export interface Kept {
  /** Said before the call is made. */
  readonly warnings: readonly string[]
  /** Whether there is something to take back now, and what has to be said of it. The end is null when the call failed. */
  finish(end: Outcome | null): Promise<Finished>
}

export interface Finished {
  readonly isKept: boolean
  readonly warnings: readonly string[]
}

export function nothingKept(why: string): Kept {
  return {
    warnings: [`this call cannot be undone: ${why}`],
    finish: () => Promise.resolve({ isKept: false, warnings: [] }),
  }
}

/** What a checkpoint says of its call. */
export function newCheckpoint(
  { ticket: { callId, subject, caller, runId }, projectPath, work }: Call,
  tier: NewCheckpoint['tier'],
  wall: number,
): NewCheckpoint {
  const { session, principal } = caller
  return {
    call_id: callId,
    run: runId ?? null,
    session,
    principal,
    project: projectPath,
    tool: work?.item.id ?? subject,
    tier,
    wall,
  }
}
