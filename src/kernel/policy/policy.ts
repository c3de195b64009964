import type { HarnessFault, HarnessSource } from '../../spaces/harness.ts'
import type { HarnessFile } from '../../spaces/harness-file.ts'
import type { PolicyConflict } from './layer-conflicts.ts'
import type { Rate } from './rate-text.ts'
import type { Demand, Layer } from './rule.ts'

/** What the machine, the user and the project have decided, as it stands for calls in one project. */
export interface Policy {
  /** The base layers: built in, machine, user, project. */
  readonly layers: readonly Layer[]
  /** The files all of this comes from. */
  readonly files: readonly PolicyFile[]
  /** What is wrong with a file: nothing runs until it is corrected. */
  readonly faults: readonly PolicyFault[]
  /** What one file allows by name and another one denies. */
  readonly conflicts: readonly PolicyConflict[]
  /** Why every item must be signed, or null when it need not be. */
  readonly signatureRequiredBy: string | null
  readonly rateLimits: readonly RateLimit[]
  /** How long a person may take to answer. */
  readonly approvalTimeoutMs: (demand: Demand) => number
  /** Who is told that a person is waited for. */
  readonly notices: readonly Notice[]
  /** What every child is confined to at least; null when nothing is asked for. */
  readonly sandbox: SandboxFloor | null
  /**
   * Programs that nobody vouches for are kept from what is Kiwi's own, and from these folders, whose files decide here;
   * null where a person says `off`.
   */
  readonly guardsOwn: readonly string[] | null
  /** Calls that one session or run may make; null for no bound. */
  readonly callBudget: number | null
  /** The file that has every call asked about which cannot be undone; null for none. */
  readonly asksIrreversible: Pick<HarnessSource, 'place' | 'path'> | null
  /** What becomes of a result that holds what looks like a secret. */
  readonly onSecret: 'block' | 'redact' | 'flag'
}

/** What an agent's own session works in binds it wherever it works. */
export type PolicyOf = (
  projectPath: string | null,
  sessionProject?: string | null,
) => Policy | Promise<Policy>

export interface PolicyFile {
  readonly place: HarnessSource['place']
  readonly path: string
  /** Null when it cannot be read. */
  readonly mode: HarnessFile['mode'] | null
  /** What the agent's own client may have besides Kiwi; null when the file does not say. */
  readonly allowedMcps: readonly string[] | null
  /** It says where notices go, which a project cannot. */
  readonly hasIdleNotices: boolean
  /** The kinds of notices it asks for and nobody gets. */
  readonly unsent: readonly string[]
}

export interface PolicyFault extends HarnessFault {
  readonly file: string
}

/** `100/minute` for a server or group, or for one of its tools. */
export interface RateLimit extends Rate {
  /** Shown in refusals: `user/mcps.supabase/rate_limit`. */
  readonly id: string
  /** Where it stands: the same words in two files are two limits. */
  readonly file: string
  readonly speaksOf: (demand: Demand) => boolean
}

/** Where a notice goes. Only the machine and the user say so: a project cannot send anything anywhere. */
export interface Notice {
  readonly kind: 'webhook' | 'slack' | 'desktop' | 'email'
  /** The address of a webhook or mailbox; null on the desktop. */
  readonly to: string | null
}

export interface SandboxFloor {
  readonly level: 'off' | 'fs' | 'strict'
  readonly isRequired: boolean
  /** Without a word about it, `strict` has none. */
  readonly net?: 'none' | 'proxy' | 'all'
}
