import type { JsonObject } from '../shared/json.ts'
import type { JournalRecord } from '../store/journal.ts'

/** A record as it is handed out: the same fields in every one, null where there is nothing to say, then what else it holds. */
export function auditEntry(record: JournalRecord): JsonObject {
  const { version, path, parameters, params_hash, directive, rule, approval_id, duration_ms, ...more } =
    record.body
  // The item that was found stands beside the one that was asked for.
  const { tool: item = null, ...rest } = more
  return {
    seq: record.seq,
    timestamp: new Date(record.wall).toISOString(),
    kind: record.kind,
    call_id: record.call_id,
    operation: record.operation,
    tool: record.tool,
    item,
    version: version ?? null,
    path: path ?? null,
    parameters: parameters ?? null,
    params_hash: params_hash ?? null,
    directive: directive ?? null,
    agent_session: record.session,
    parent_session: record.parent_session,
    principal: record.principal,
    decision: record.kind === 'decision' ? record.status : null,
    rule: rule ?? null,
    approval_id: approval_id ?? null,
    status: record.status,
    duration_ms: duration_ms ?? null,
    ...rest,
    mono: record.mono,
    prev: record.prev,
    hash: record.hash,
  }
}
