/** What a child is held to. Every path is a real one: links are followed before. */
export interface Confinement {
  /** The program that holds it: what `sandbox()` found. */
  readonly program: string
  readonly level: SandboxLevel
  readonly hasNetwork: boolean
  /** Whether it sees only what it started, and all of that ends with it; strict always does. */
  readonly hasOwnProcesses?: boolean
  /** Places that it finds empty, and may fill for itself: the temporary folder, homes. */
  readonly hidden: readonly string[]
  /** Folders that are there, though what lies above them is hidden, and empty. */
  readonly empty: readonly string[]
  /** Folders below hidden places that take nothing; open where something in them is given back. */
  readonly sealed: readonly { readonly path: string; readonly isOpen: boolean }[]
  /** What is given back below hidden places, to read. */
  readonly read: readonly string[]
  /** The only places of the system it may write to; under `own`, folders that keep their names. */
  readonly write: readonly string[]
  /** What lies in places it may write to and is not written all the same. */
  readonly guarded: readonly string[]
  /** Kiwi's own: not seen, whatever is given back above. */
  readonly masked: readonly string[]
  /** What the program itself is made of: seen, never written. */
  readonly needed: readonly string[]
  /** Names that lead to what is given back, and would be hidden with what they lie in. */
  readonly links: readonly { readonly path: string; readonly target: string }[]
}

export const SANDBOX_LEVELS = ['own', 'fs', 'strict'] as const
/**
 * `own` leaves all as it is but what is Kiwi's own; `fs` bounds what is written; `strict` also network, processes,
 * memory and what is seen of homes.
 */
export type SandboxLevel = (typeof SANDBOX_LEVELS)[number]

/** What this host has: the program, and for each level null, or why it cannot be had. */
export interface SandboxHost {
  readonly mechanism: 'bubblewrap'
  readonly program: string
  readonly missing: Readonly<Record<SandboxLevel, string | null>>
}
