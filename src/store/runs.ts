import type { JsonValue } from '../shared/json.ts'

/** A row of the tree of who works for whom: the layers it is judged by, and those of whoever it begins. */
export interface StoredRun {
  readonly id: string
  /** A client's session, an agent that follows a directive, or a thread that Kiwi drives. */
  readonly kind: 'session' | 'run' | 'thread'
  readonly parent: string | null
  /** The first of the tree: itself when it has no parent. */
  readonly root: string
  readonly principal: string
  /** The session that stays inside of it; null where none does. */
  readonly session: string | null
  readonly directive: string | null
  readonly own: readonly JsonValue[]
  readonly ceiling: readonly JsonValue[]
  readonly opened_at: string
  readonly closed_at: string | null
}

export interface Runs {
  /** Layers never change afterwards. */
  open(run: StoredRun): Promise<void>
  find(id: string): Promise<StoredRun | null>
  /** With all that were begun in it; what is closed already stays as it is. */
  close(id: string, closedAt: string): Promise<void>
}
