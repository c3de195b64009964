import type { JsonObject } from '../shared/json.ts'
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

const MOST_SAID = 3
const MOST_KEPT = 20

/** Said of paths that undo does not give back, each with its reason. */
export function notCovered(paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return []
  const more = paths.length > MOST_SAID ? ` (and ${paths.length - MOST_SAID} more)` : ''
  return [`undo does not cover ${paths.slice(0, MOST_SAID).join('; ')}${more}`]
}

/** The same for whoever takes the call back later: how many they are, and some of them. */
export function uncoveredDetails(paths: readonly string[]): JsonObject {
  return { not_covered: paths.slice(0, MOST_KEPT), not_covered_count: paths.length }
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
