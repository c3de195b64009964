import type { Chain } from '../chain/chain.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import type { HarnessOf } from '../spaces/harness.ts'
import type { PackageTable } from '../spaces/imports.ts'
import type { Store } from '../store/store.ts'
import type { Layer } from './policy/rule.ts'
import type { Outputs } from './outputs.ts'
import type { Results } from './results.ts'
import type { Signer } from './signer.ts'

/** What the stages and the work behind them need. */
export interface Means {
  readonly chain: Chain
  readonly store: Store
  readonly results: Results
  readonly outputs: Outputs
  readonly clock: Clock
  readonly log: Log
  /** Every layer a call is judged by. */
  readonly layers: readonly Layer[]
  readonly userSpace: string
  readonly signer: Signer
  readonly harness: HarnessOf
  readonly packageTable: PackageTable
}
