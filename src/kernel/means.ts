import type { Config } from '../config/config.ts'
import type { Chain } from '../chain/chain.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import type { PackageTable } from '../spaces/imports.ts'
import type { Scan } from '../spaces/definitions/scan-definition.ts'
import type { SecretPatterns } from '../spaces/secret-patterns.ts'
import type { Approval } from '../store/approvals.ts'
import type { Store } from '../store/store.ts'
import type { Secrets } from '../store/vault/secrets.ts'
import type { Approver } from './approver.ts'
import type { OwnPaths } from './line-demands.ts'
import type { Listings } from './listings.ts'
import type { MissedRecords } from './missed-records.ts'
import type { Notice, PolicyOf } from './policy/policy.ts'
import type { Outputs } from './outputs.ts'
import type { RelayScreen } from './relay-screen.ts'
import type { Results } from './results.ts'
import type { Runs } from './runs.ts'
import type { Signer } from './signer.ts'
import type { Streaks } from './streaks.ts'

/** What the stages and the work behind them need. */
export interface Means {
  readonly chain: Chain
  readonly store: Store
  readonly secrets: Secrets
  readonly results: Results
  readonly outputs: Outputs
  readonly clock: Clock
  readonly log: Log
  /** What is decided for calls in a project. */
  readonly policyOf: PolicyOf
  readonly runs: Runs
  readonly approver: Approver
  /** Tells people that one of them is waited for; what cannot be told is logged. */
  readonly notify: (question: Approval, notices: readonly Notice[]) => void
  readonly streaks: Streaks
  readonly missed: MissedRecords
  readonly userSpace: string
  /** Of the person. */
  readonly home: string
  /** What of the file system is Kiwi's own. */
  readonly own: OwnPaths
  readonly signer: Signer
  readonly undo: Config['undo']
  readonly packageTable: PackageTable
  readonly secretPatterns: SecretPatterns
  /** Looks at the definitions of one listing. */
  readonly scanDefinitions: () => Promise<Scan>
  /** Looks at what else servers say to models. */
  readonly relayScreen: RelayScreen
  /** Null where nothing may be started: a dry run lists nothing. */
  readonly listings: Listings | null
}
