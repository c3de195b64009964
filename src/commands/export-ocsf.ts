import type { JsonObject, JsonValue } from '../shared/json.ts'
import { canonicalJson, sha256 } from '../shared/json.ts'
import { readTag } from '../shared/own-process.ts'
import { textOf } from '../shared/template.ts'
import { VERSION } from '../shared/version.ts'
import type { AuditCall } from './audit-calls.ts'
import { calledTool } from './audit-calls.ts'

/** Calls as events of the class API Activity of OCSF 1.9, each tied to the one before by its fingerprint. */
export function openOcsf(chain: string, hasArguments: boolean): (call: AuditCall) => JsonObject {
  let before: JsonObject | null = null
  let count = 0
  return (call) => {
    const attestation = {
      uid: `${chain}:${count}`,
      chain_uid: chain,
      authority_uid: 'kiwi-mcp',
      ...(before === null ? {} : { prev_event: before }),
    }
    const event = { ...eventOf(call, hasArguments), attestation_list: [attestation] }
    // Over all of the event but the fingerprint itself.
    const fingerprint = { ...FINGERPRINT, value: sha256(canonicalJson(event)) }
    before = { uid: call.last.call_id, type_uid: event.type_uid, fingerprint }
    count += 1
    return { ...event, attestation_list: [{ ...attestation, fingerprint }] }
  }
}

/** SHA-256, in hex, of the canonical JSON of RFC 8785. */
const FINGERPRINT = {
  algorithm: 'SHA-256',
  algorithm_id: 3,
  encoding: 'Hex',
  encoding_id: 1,
  serialization: 'JCS',
  serialization_id: 2,
}

const CLASS = 6003

/** What an operation does, in the words of the class; running a tool is none of them. */
const ACTIVITIES: Readonly<Record<string, readonly [number, string]>> = {
  'execute.create': [1, 'Create'],
  'load.copy': [1, 'Create'],
  search: [2, 'Read'],
  load: [2, 'Read'],
  help: [2, 'Read'],
  'execute.update': [3, 'Update'],
  'execute.publish': [3, 'Update'],
  'execute.delete': [4, 'Delete'],
}

function eventOf(call: AuditCall, hasArguments: boolean) {
  const { last, said, start, end, root } = call
  const [activity_id, activity_name] = ACTIVITIES[last.operation] ?? [99, 'Other']
  return {
    category_uid: 6,
    category_name: 'Application Activity',
    class_uid: CLASS,
    class_name: 'API Activity',
    activity_id,
    activity_name,
    type_uid: CLASS * 100 + activity_id,
    type_name: `API Activity: ${activity_name}`,
    time: start,
    start_time: start,
    end_time: end,
    duration: end - start,
    ...statusOf(call),
    metadata: {
      version: '1.9.0',
      uid: last.call_id,
      sequence: last.seq,
      correlation_uid: root,
      log_name: 'journal',
      profiles: ['ai_operation', 'record_integrity'],
      product: { name: 'Kiwi MCP', vendor_name: 'Kiwi', version: VERSION },
    },
    ...whoOf(call),
    api: {
      operation: last.operation,
      service: { name: 'kiwi' },
      request: {
        uid: last.call_id,
        ...(hasArguments ? { data: { parameters: said['parameters'] ?? null } } : {}),
      },
      ...(said['code'] === undefined ? {} : { response: { error: said['code'] } }),
    },
    resources: [{ name: calledTool(call), type: 'tool', ...given({ version: said['version'] }) }],
    unmapped: { kiwi: recordOf(call) },
  } satisfies JsonObject
}

function whoOf({ last, decision, said }: AuditCall): JsonObject {
  const host = readTag(textOf(said['process'] ?? ''))?.host ?? 'localhost'
  return {
    actor: {
      user: { name: last.principal, uid: last.principal },
      session: { uid: last.session },
      ...(decision === null
        ? {}
        : {
            authorizations: [
              {
                decision: decision.status,
                policy: given({ name: said['rule'], group: given({ name: said['layer'] }) }),
              },
            ],
          }),
    },
    src_endpoint: { hostname: host },
    ...(said['caller'] === 'person' ? {} : { ai_agent: { uid: last.principal, instance_uid: last.session } }),
  }
}

const REFUSED: ReadonlySet<string> = new Set(['denied', 'rejected'])

function statusOf({ outcome, said }: AuditCall): JsonObject {
  const isRefused = REFUSED.has(outcome?.status ?? '')
  const [status_id, status] =
    outcome === null || outcome.status === 'parked' || outcome.status === 'unknown'
      ? [0, 'Unknown']
      : outcome.status === 'success'
        ? [1, 'Success']
        : [2, 'Failure']
  return {
    severity_id: isRefused ? 3 : status_id === 2 ? 2 : 1,
    severity: isRefused ? 'Medium' : status_id === 2 ? 'Low' : 'Informational',
    status_id,
    status,
    ...given({ status_code: said['code'], status_detail: outcome?.status }),
  }
}

/** What ties the event to the journal, and what the class has no word for. */
function recordOf({ last, decision, said }: AuditCall): JsonObject {
  return given({
    decision: decision?.status,
    layer: said['layer'],
    rule: said['rule'],
    approval_id: said['approval_id'],
    directive: said['directive'],
    project: said['project'],
    params_hash: said['params_hash'],
    sandbox: said['sandbox'],
    undo: said['undo'],
    parent_session: last.parent_session,
    prev: last.prev,
    hash: last.hash,
  })
}

function given(values: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const entries = Object.entries(values).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [[key, value] as const],
  )
  return Object.fromEntries(entries)
}
