import type { InFlight, Pending } from './pending.ts'

/** Whose matter it is when an upstream speaks by itself, which few of them say. */
export type Addressee =
  | { readonly asked: InFlight }
  | { readonly asked: null; readonly why: 'several' | 'none' }

/**
 * The newest request that `can` take it, when all that wait are one caller's. Between several callers nothing is guessed:
 * one must not be asked, or told, what is another's.
 */
export function addresseeIn(pending: Pending, can: (inFlight: InFlight) => boolean): Addressee {
  let asked: InFlight | null = null
  let caller: unknown
  let hasCaller = false
  for (const inFlight of pending.all()) {
    const { request } = inFlight
    // Without a name, who can be asked is told apart by how.
    const who = request.caller ?? request.ask ?? request.tell
    if (who === undefined) continue
    if (hasCaller && who !== caller) return { asked: null, why: 'several' }
    caller = who
    hasCaller = true
    if (can(inFlight)) asked = inFlight
  }
  return asked === null ? { asked, why: 'none' } : { asked }
}
