import { describe, test } from 'vitest'
import { approvalCases } from './store-approvals.cases.ts'
import { catalogCases } from './store-catalog.cases.ts'
import type { StoreBed } from './store-bed.ts'
import { exclusiveCases } from './store-exclusive.cases.ts'
import { budgetCases, windowCases } from './store-limits.cases.ts'
import { grantCases } from './store-grants.cases.ts'
import { journalCases, tamperCases } from './store-journal.cases.ts'
import { latestCases, refusalCases, resolveCases, roundTripCases } from './store-registry.cases.ts'
import { indexCases, rankCases, reachCases } from './store-search.cases.ts'
import { runCases } from './store-runs.cases.ts'
import { protectionCases, seedCases } from './store-seed.cases.ts'
import { taskCases } from './store-tasks.cases.ts'
import { trustCases } from './store-trust.cases.ts'
import { undoCases } from './store-undo.cases.ts'
import { useCases } from './store-uses.cases.ts'
import { vectorCases } from './store-vectors.cases.ts'

/** What every store must do, whichever engine is below it. */
export function storeCases(name: string, makeBed: () => Promise<StoreBed>): void {
  const cases = {
    ...roundTripCases,
    ...latestCases,
    ...refusalCases,
    ...resolveCases,
    ...seedCases,
    ...protectionCases,
    ...indexCases,
    ...rankCases,
    ...reachCases,
    ...journalCases,
    ...tamperCases,
    ...exclusiveCases,
    ...trustCases,
    ...runCases,
    ...approvalCases,
    ...windowCases,
    ...budgetCases,
    ...undoCases,
    ...grantCases,
    ...taskCases,
    ...catalogCases,
    ...useCases,
    ...vectorCases,
  }
  describe(name, () => {
    for (const [title, run] of Object.entries(cases)) {
      test(title, async () => {
        const bed = await makeBed()
        try {
          await run(bed)
        } finally {
          await bed.dispose()
        }
      })
    }
  })
}
