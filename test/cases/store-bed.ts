import type { Store } from '../../src/store/store.ts'

/** A place of its own for one store, made fresh for each test. */
export interface StoreBed {
  /** Another handle on the same store, as another process would have it. */
  open(): Promise<Store>
  /** Runs SQL behind the store's back, with what protects the journal taken away. */
  tamper(sql: string): Promise<void>
  /** Closes the handles that are still open and removes the place. */
  dispose(): Promise<void>
}

/** The name of a test, and the test. */
export type Cases = Readonly<Record<string, (bed: StoreBed) => Promise<void>>>
