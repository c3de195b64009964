import { timeOfId } from '../shared/ids.ts'
import type { JournalFilter, JournalRecord } from '../store/journal.ts'
import type { StoreView } from '../store/store.ts'

/** Records of a run or session that are shown; an export has all. */
const MOST = 1000
/** Records that are looked through for the one that began a run: it is written right after the run has its id. */
const LOOKED_AT = 1000

interface RunRecords {
  /** Newest first. */
  readonly records: readonly JournalRecord[]
  readonly isCut: boolean
}

/** All records of a session and what came from it, with those of the call that began it when it is a run. */
export async function recordsOfRun(
  filter: Omit<JournalFilter, 'limit'>,
  limit: number = MOST,
  store: Pick<StoreView, 'records'>,
): Promise<RunRecords> {
  const { session = '', ...others } = filter
  const own = await store.records({ ...filter, limit: limit + 1 })
  const callId = filter.call_id === undefined ? await beginningOf(session, store) : null
  const first = callId === null ? [] : await store.records({ ...others, call_id: callId, limit: MOST })
  const known = new Set(own.map(({ seq }) => seq))
  const records = [...own.slice(0, limit), ...first.filter(({ seq }) => !known.has(seq))]
  return { records, isCut: own.length > limit }
}

async function beginningOf(run: string, store: Pick<StoreView, 'records'>): Promise<string | null> {
  const since = timeOfId(run)
  if (since === null) return null
  const records = await store.records({ since, status: 'success', after: 0, limit: LOOKED_AT })
  return records.find(({ body }) => body['run_id'] === run)?.call_id ?? null
}
