import { canonicalJson, sha256 } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { VERSION } from '../shared/version.ts'
import type { AuditCall } from './audit-calls.ts'
import { calledTool } from './audit-calls.ts'

/** Calls as spans, one request of the OTLP/JSON form: what a collector reads from a file, or takes over HTTP. */
export function otelSpans(calls: readonly AuditCall[], hasArguments: boolean): unknown {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf({ 'service.name': 'kiwi-mcp', 'service.version': VERSION }) },
        scopeSpans: [
          {
            scope: { name: 'kiwi-mcp', version: VERSION },
            spans: calls.map((call) => spanOf(call, hasArguments)),
          },
        ],
      },
    ],
  }
}

const SERVER = 2
const FAILED = 2

function spanOf(call: AuditCall, hasArguments: boolean): unknown {
  const { last, decision, outcome, said, start, end, root } = call
  const isFailed = said['code'] !== undefined
  const tool = calledTool(call)
  const attributes = {
    ...(said['caller'] === 'person' ? {} : { 'mcp.method.name': 'tools/call' }),
    'mcp.session.id': last.session,
    'mcp.protocol.version': said['protocol'],
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.call.id': last.call_id,
    'error.type': said['code'],
    'user.id': last.principal,
    'kiwi.operation': last.operation,
    'kiwi.decision': decision?.status,
    'kiwi.status': outcome?.status,
    'kiwi.layer': said['layer'],
    'kiwi.rule': said['rule'],
    'kiwi.directive': said['directive'],
    'kiwi.approval_id': said['approval_id'],
    'kiwi.project': said['project'],
    'kiwi.params_hash': said['params_hash'],
    'kiwi.sandbox': said['sandbox'],
    'kiwi.undo': said['undo'],
    'kiwi.parent_session': last.parent_session,
    'kiwi.seq': last.seq,
    'kiwi.hash': last.hash,
    ...(hasArguments ? { 'gen_ai.tool.call.arguments': canonicalJson(said['parameters'] ?? {}) } : {}),
  }
  return {
    traceId: sha256(`trace ${root}`).slice(0, 32),
    spanId: sha256(`span ${last.call_id}`).slice(0, 16),
    name: `tools/call ${tool}`,
    kind: SERVER,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(end),
    attributes: attributesOf(attributes),
    // The code alone: a message may quote arguments.
    status: isFailed ? { code: FAILED, message: textOf(said['code']) } : {},
  }
}

function nanoseconds(ms: number): string {
  return `${ms}000000`
}

function attributesOf(values: Readonly<Record<string, unknown>>): readonly unknown[] {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([key, value]) => ({
      key,
      value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: textOf(value) },
    }))
}
