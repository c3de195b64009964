import { setTimeout as sleep } from 'node:timers/promises'
import { auditEntry } from '../kernel/audit-entry.ts'
import { jsonLine } from '../shared/json-line.ts'
import type { JournalFilter, JournalRecord } from '../store/journal.ts'
import type { StoreView } from '../store/store.ts'
import { recordLine } from './audit-lines.ts'
import type { Terminal } from './terminal.ts'

interface FollowMeans {
  readonly store: StoreView
  readonly terminal: Terminal
  readonly isJson: boolean
  readonly isWide: boolean
  readonly signal: AbortSignal
}

const PAUSE_MS = 250
const PAGE = 500

/** The newest records that fit, then each as it comes, from whichever process, until the signal. */
export async function follow(filter: JournalFilter, means: FollowMeans): Promise<void> {
  const { store, terminal, isJson, isWide, signal } = means
  const show = (records: readonly JournalRecord[]): void => {
    for (const record of records)
      terminal.out(isJson ? jsonLine(auditEntry(record)) : recordLine(record, isWide))
  }
  const [newest] = await store.records({ limit: 1 })
  let last = newest?.seq ?? 0
  show((await store.records(filter)).filter(({ seq }) => seq <= last).toReversed())
  while (!signal.aborted) {
    // What stands by now and does not fit is not looked at again.
    const [seen] = await store.records({ limit: 1 })
    const page = await store.records({ ...filter, limit: PAGE, after: last })
    show(page)
    last =
      page.length < PAGE ? Math.max(last, seen?.seq ?? 0, page.at(-1)?.seq ?? 0) : (page.at(-1)?.seq ?? last)
    if (page.length < PAGE) await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined)
  }
}
