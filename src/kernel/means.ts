import type { Chain } from '../chain/chain.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import type { PackageTable } from '../spaces/imports.ts'
import type { SecretPatterns } from '../spaces/secret-patterns.ts'
import type { Store } from '../store/store.ts'
import type { Secrets } from '../store/vault/secrets.ts'
import type { PolicyOf } from './policy/policy.ts'
import type { Outputs } from './outputs.ts'
import type { Results } from './results.ts'
import type { Runs } from './runs.ts'
import type { Signer } from './signer.ts'

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
  readonly userSpace: string
  readonly signer: Signer
  readonly packageTable: PackageTable
  readonly secretPatterns: SecretPatterns
}
