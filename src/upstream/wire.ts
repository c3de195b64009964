import type { JsonObject } from '../shared/json.ts'

/** How messages go to an upstream and come back: the lines of a program, or requests and streams to an address. */
export interface Wire {
  /** What arrives, one JSON text each, nothing checked yet. For one reader. Ends when the wire does. */
  readonly messages: AsyncIterable<string>
  /**
   * Kept when it is handed over and, where the answer comes the same way back, has its answer. Fails with a KiwiError
   * when that cannot be any more: OUTCOME_UNKNOWN when it was sent and nobody knows what became of it. An aborted
   * `signal` lets go of what was opened for this message. `headers` go along where a wire has such.
   */
  send(message: JsonObject, signal?: AbortSignal, headers?: Readonly<Record<string, string>>): Promise<void>
  /** Set where nothing is opened for a message: its signal would be made for nobody. */
  readonly isOnePipe?: boolean
  /** The revision of the protocol both sides speak from here on: some wires say it with every message. */
  agree(protocol: string): void
  /** The end of what the upstream wrote beside its messages, or ''. */
  said(): string
  /** Why the messages ended, in words; kept, never broken, when everything of it is gone. */
  readonly ended: Promise<WireEnd>
  close(): Promise<WireEnd>
}

export interface WireEnd {
  readonly reason: string
  /** It sent more at once than is taken. */
  readonly isTooLarge: boolean
  /** What a program ended with by itself. */
  readonly exitCode?: number
}
