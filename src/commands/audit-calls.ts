import type { JsonObject, JsonValue } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { JournalRecord } from '../store/journal.ts'

/** The two records of a call as one; either may be missing, because it is still to come or was not asked for. */
export interface AuditCall {
  /** The record that came last. */
  readonly last: JournalRecord
  readonly decision: JournalRecord | null
  readonly outcome: JournalRecord | null
  /** What both say. */
  readonly said: JsonObject
  readonly start: number
  readonly end: number
  /** The session that all the others of this tree came from. */
  readonly root: string
}

/** Puts the records of calls together as they come by. */
export interface CallPairs {
  add(records: readonly JournalRecord[]): readonly AuditCall[]
  /** Calls whose outcome never came. */
  rest(): readonly AuditCall[]
}

export function openPairs(): CallPairs {
  const open = new Map<string, JournalRecord>()
  const parents = new Map<string, string>()
  const rootOf = (session: string): string => {
    const seen = new Set<string>()
    let root = session
    for (let up = parents.get(root); up !== undefined && !seen.has(up); up = parents.get(root)) {
      seen.add(up)
      root = up
    }
    return root
  }
  const call = (decision: JournalRecord | null, outcome: JournalRecord | null): readonly AuditCall[] => {
    const last = outcome ?? decision
    if (last === null) return []
    const said = { ...decision?.body, ...outcome?.body }
    const end = last.wall
    const start = outcome === null ? end : end - numberOf(said['duration_ms'])
    return [{ last, decision, outcome, said, start, end, root: rootOf(last.session) }]
  }
  return {
    add: (records) =>
      records.flatMap((record) => {
        if (record.parent_session !== null) parents.set(record.session, record.parent_session)
        if (record.kind === 'decision') {
          open.set(record.call_id, record)
          return []
        }
        const decision = open.get(record.call_id) ?? null
        open.delete(record.call_id)
        return call(decision, record)
      }),
    rest: () => [...open.values()].flatMap((decision) => call(decision, null)),
  }
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' ? value : 0
}

const QUESTIONS: ReadonlySet<string> = new Set(['search', 'load', 'help'])

/** What was called: of a question the question itself, since what it is about is an argument. */
export function calledTool({ last: { operation, tool }, said }: AuditCall): string {
  return QUESTIONS.has(operation) ? operation : textOf(said['tool'] ?? tool)
}
