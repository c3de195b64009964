import type { ErrorCode, KiwiError } from '../shared/errors.ts'
import type { Clock } from '../shared/clock.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import { groupOf } from '../shared/groups.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Redact } from '../shared/redact.ts'
import { withoutSecretKeys } from '../shared/redact.ts'
import { textOf } from '../shared/template.ts'
import type { NewRecord } from '../store/journal.ts'
import type { Call, Outcome, Work } from './call.ts'
import { OWN_PROCESS, tagText } from '../shared/own-process.ts'
import type { Demand } from './policy/rule.ts'
import { resourceOf } from './policy/rule.ts'

const OWN_TAG = tagText(OWN_PROCESS)

/** That a call is about to happen; with its end, that it was refused and why, or waits for a person. */
export function decisionRecord(call: Call, clock: Clock, end?: Outcome | KiwiError): NewRecord {
  const { ticket, work, verdict, approval, redact } = call
  const isRequest = work === null || work.parameters === null
  const refusal = end instanceof Error ? end : null
  const body: Body = { project: call.projectPath, group: mirroredIn(work) }
  const { parameters, hash } = parametersOf(isRequest ? ticket.parameters : work.parameters, redact)
  body['parameters'] = parameters
  body['params_hash'] = hash
  if (work !== null) addWork(body, work)
  if (verdict !== null) {
    body['layer'] = verdict.layer
    body['rule'] = verdict.rule
  }
  if (approval !== null) body['approval_id'] = approval.id
  body['caller'] = ticket.caller.kind
  if (ticket.caller.protocol !== undefined) body['protocol'] = ticket.caller.protocol
  body['process'] = OWN_TAG
  if (call.run !== null) body['directive'] = call.run.directive
  if (refusal !== null) Object.assign(body, failureOf(refusal, redact, null))
  const status = end === undefined ? 'allow' : refusal === null ? 'ask' : 'deny'
  return recordOf(call, clock, { kind: 'decision', status, body })
}

/** Filled key by key: every call makes one, and in Node 20 to spread one into another takes microseconds. */
type Body = Record<string, JsonValue>

function addWork(body: Body, { item, chain, demands, redact, trust, digest }: Work): void {
  const reached = demands.find((demand) => demand.op === 'read' || demand.op === 'write')
  body['tool'] = item.id
  body['version'] = item.version
  body['space'] = item.space
  body['chain'] = chain.map(
    ({ id, version, space }) => `${id}${version === null ? '' : `@${version}`} ${space}`,
  )
  // A tool may be judged by its own name and as the shell.
  body['demands'] = [...new Set(demands.slice(0, MOST_DEMANDS).map((demand) => demandText(demand, redact)))]
  if (reached !== undefined) body['path'] = redact(resourceOf(reached))
  if (digest !== undefined) body['digest'] = digest
  if (trust !== undefined) body['trust'] = trust
}

const MOST_DEMANDS = 100
const LONGEST_DEMAND = 1000

/** Cut only when the secrets are out: half of one would not be found. */
function demandText(demand: Demand, redact: Redact): string {
  const words = demand.op === 'exec' ? demand.argv?.map((word) => textOf(redact(word))) : undefined
  const clean = demand.op === 'exec' && words !== undefined ? { ...demand, argv: words } : demand
  return textOf(redact(`${demand.op} ${resourceOf(clean)}`)).slice(0, LONGEST_DEMAND)
}

/** How it ended. Denials, failures, timeouts and cancelled calls have one too. */
export function outcomeRecord(
  call: Call,
  clock: Clock,
  durationMs: number,
  end: Outcome | KiwiError,
): NewRecord {
  const isError = end instanceof Error
  const undo = call.work?.undo?.tier
  const body: Body = {
    project: call.projectPath,
    group: mirroredIn(call.work),
    duration_ms: durationMs,
    ...(isError ? failureOf(end, call.redact, call.work) : resultOf(end, call.work)),
  }
  if (undo !== undefined) body['undo'] = undo
  const found = call.work?.found?.()
  if (found !== undefined) Object.assign(body, found)
  const ended = isError ? (STATUSES[end.code] ?? 'error') : null
  const status = ended ?? (!isError && end.status === 'approval_required' ? 'parked' : 'success')
  return recordOf(call, clock, { kind: 'outcome', status, body })
}

function resultOf({ data, status }: Outcome, work: Work | null): JsonObject {
  const text = canonicalJson(data)
  return {
    result_hash: sha256(text),
    bytes: Buffer.byteLength(text),
    ...heldBy(data, status === 'success' ? work : null),
  }
}

/** What really held the program; what was not started has given nothing back. */
function heldBy(data: JsonObject | null | undefined, work: Work | null): JsonObject {
  const sandbox = data?.['sandbox'] ?? (data === undefined ? undefined : work?.heldBy)
  return sandbox === undefined ? {} : { sandbox }
}

/** What a tool or a service said may be part of the message, so it is as little trusted as a result. */
function failureOf({ code, message, partial }: KiwiError, redact: Redact, work: Work | null): JsonObject {
  const told = textOf(redact(message, true))
  return { code, message: told.slice(0, LIMITS.messageCharacters), ...heldBy(partial, work) }
}

/** A run is a session of its own, below the one that sends it or the run that began it. */
function recordOf(
  { ticket, run, redact }: Call,
  clock: Clock,
  { kind, status, body }: Pick<NewRecord, 'kind' | 'status' | 'body'>,
): NewRecord {
  const { principal, session, parentSession = null } = ticket.caller
  return {
    kind,
    status,
    body,
    call_id: ticket.callId,
    session: run?.id ?? session,
    parent_session: run === null ? parentSession : (run.parent ?? session),
    principal,
    // Both are what was asked for, cut: it may be anything.
    operation: textOf(redact(ticket.operation, true)),
    tool: textOf(redact(ticket.subject, true)).slice(0, 256),
    wall: clock.now(),
    mono: clock.monotonic(),
  }
}

/** The file of its project that mirrors the record. */
function mirroredIn(work: Work | null): string {
  const [first] = work?.demands ?? []
  if (first?.op === 'spawn') return 'thread'
  if (first?.op !== 'tool' || first.of === undefined) return 'tool'
  return groupOf(first.of.server) ?? 'mcp'
}

/** Codes whose calls ended otherwise than in plain failure. */
const STATUSES: Partial<Record<ErrorCode, string>> = {
  CONTENT_MODIFIED: 'denied',
  UNTRUSTED: 'denied',
  QUARANTINED: 'denied',
  VALIDATION_FAILED: 'denied',
  DEPENDENCY_REFUSED: 'denied',
  PERMISSION_DENIED: 'denied',
  POLICY_ERROR: 'denied',
  AUDIT_UNAVAILABLE: 'denied',
  RATE_LIMITED: 'denied',
  BUDGET_EXCEEDED: 'denied',
  APPROVAL_REJECTED: 'rejected',
  APPROVAL_TIMEOUT: 'rejected',
  APPROVAL_USED: 'denied',
  APPROVAL_MISMATCH: 'denied',
  SANDBOX_UNAVAILABLE: 'denied',
  SECRET_NOT_GRANTED: 'denied',
  EGRESS_DENIED: 'denied',
  TIMEOUT: 'timeout',
  CANCELLED: 'cancelled',
  OUTCOME_UNKNOWN: 'unknown',
}

/** All of them by hash; in words only as far as the record has room. */
function parametersOf(parameters: unknown, redact: Redact): { parameters: JsonValue; hash: string | null } {
  try {
    const shown = redact(JSON.parse(withoutSecretKeys(parameters ?? {})))
    // As long as it is in any order of its keys.
    const text = canonicalJson(shown)
    const isShort = text.length <= LIMITS.journalCharacters
    return {
      parameters: isShort ? shown : JSON.stringify(shown).slice(0, LIMITS.journalCharacters),
      // Of what is shown: a hash of a short secret would tell it to whoever tries all of them.
      hash: sha256(text),
    }
  } catch {
    // Nested deeper than can be written down. The refusal of such a call must be on record all the same.
    return { parameters: null, hash: null }
  }
}
