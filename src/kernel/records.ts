import type { ErrorCode, KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { hideBySecretKey } from '../shared/redact.ts'
import type { NewRecord } from '../store/store.ts'
import type { Call, Outcome, Work } from './call.ts'
import { OWN_PROCESS, tagText } from '../shared/own-process.ts'
import { resourceOf } from './policy/rule.ts'

const OWN_TAG = tagText(OWN_PROCESS)

/** That a call is about to happen, or that it was refused and why. */
export function decisionRecord(call: Call, wall: number, refusal?: KiwiError): NewRecord {
  const { ticket, work, verdict } = call
  const isRequest = work === null || work.parameters === null
  return {
    ...common(call, wall),
    kind: 'decision',
    status: refusal === undefined ? 'allow' : 'deny',
    body: {
      ...parametersOf(isRequest ? ticket.parameters : work.redact(work.parameters)),
      ...(work === null ? {} : workBody(work)),
      ...(verdict === null ? {} : { layer: verdict.layer, rule: verdict.rule }),
      caller: ticket.caller.kind,
      process: OWN_TAG,
      ...(call.run === null ? {} : { parent_session: call.run.parent ?? ticket.caller.session }),
      ...(refusal === undefined ? {} : { code: refusal.code, message: refusal.message }),
    },
  }
}

function workBody({ item, chain, demands, redact, trust }: Work): JsonObject {
  const { id, version, space } = item
  return {
    tool: id,
    version,
    space,
    chain: chain.map((link) => `${link.id}${link.version === null ? '' : `@${link.version}`} ${link.space}`),
    demands: redact(demands.map((demand) => `${demand.op} ${resourceOf(demand)}`)),
    ...(trust === undefined ? {} : { trust }),
  }
}

/** How it ended. Denials, failures, timeouts and cancelled calls have one too. */
export function outcomeRecord(
  call: Call,
  wall: number,
  durationMs: number,
  end: Outcome | KiwiError,
): NewRecord {
  const isError = end instanceof Error
  const body: JsonObject = isError
    ? { code: end.code, message: end.message, duration_ms: durationMs }
    : { duration_ms: durationMs, result_hash: sha256(canonicalJson(end.data)) }
  return {
    ...common(call, wall),
    kind: 'outcome',
    status: isError ? (STATUSES[end.code] ?? 'error') : 'success',
    body,
  }
}

function common(
  { ticket, run }: Call,
  wall: number,
): Pick<NewRecord, 'call_id' | 'session' | 'principal' | 'operation' | 'tool' | 'wall'> {
  return {
    call_id: ticket.callId,
    session: run?.id ?? ticket.caller.session,
    principal: ticket.caller.principal,
    operation: ticket.operation,
    tool: ticket.subject.slice(0, 256),
    wall,
  }
}

/** Codes whose calls ended otherwise than in plain failure. */
const STATUSES: Partial<Record<ErrorCode, string>> = {
  CONTENT_MODIFIED: 'denied',
  UNTRUSTED: 'denied',
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
function parametersOf(parameters: unknown): JsonObject {
  try {
    const text = JSON.stringify(parameters ?? {}, hideBySecretKey)
    const isShort = text.length <= LIMITS.journalCharacters
    return {
      parameters: isShort ? JSON.parse(text) : text.slice(0, LIMITS.journalCharacters),
      params_hash: sha256(canonicalJson(parameters ?? {})),
    }
  } catch {
    // Nested deeper than can be written down. The refusal of such a call must be on record all the same.
    return { parameters: null, params_hash: null }
  }
}
