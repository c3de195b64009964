/** What is counted over all processes that share the store. */
export interface Limits {
  /** Counts one use in each of the windows, or in none of them when one is full: then that one is given back. */
  take(windows: readonly Window[], now: number): Promise<FullWindow | null>
  /** Uncounts one use that was taken at this time in each of the windows. */
  giveBack(windows: readonly Window[], at: number): Promise<void>
  /** Sets an amount aside for a holder. Null: it is; else what there is, which is too little. */
  reserve(share: Share, now: number): Promise<Spending | null>
  /** Ends a reservation: `spent` of it is gone, the rest is free again. */
  settle(holder: Holder, reserved: number, spent: number): Promise<void>
  /** Gives a child a part of its parent's budget; false when the parent has not so much left. */
  divide(parent: Holder, child: Share, now: number): Promise<boolean>
  /** The child is done: what it used is spent by its parent, what it left is the parent's again. */
  reunite(child: Holder): Promise<void>
  /** What is remembered of how the calls of a run ended; null before the first. */
  streak(holder: string): Promise<string | null>
  setStreak(holder: string, streak: string, now: number): Promise<void>
}

/** So many uses in a span that slides along with time. */
export interface Window {
  readonly key: string
  readonly count: number
  readonly windowMs: number
}

export interface FullWindow extends Window {
  readonly used: number
  readonly retryAfterMs: number
}

/** Whose budget, and of what: `tool_calls`. */
export interface Holder {
  readonly holder: string
  readonly kind: string
}

/** An amount of a budget that holds `cap` in all: whole numbers. */
export interface Share extends Holder {
  readonly cap: number
  readonly amount: number
}

interface Spending {
  readonly cap: number
  readonly spent: number
  readonly reserved: number
}
