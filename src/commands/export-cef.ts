import { textOf } from '../shared/template.ts'
import { VERSION } from '../shared/version.ts'
import type { JournalRecord } from '../store/journal.ts'

/** A record as one line of the Common Event Format. */
export function cefLine(record: JournalRecord, hasArguments: boolean): string {
  const { kind, status, operation, body } = record
  const header = [
    'Kiwi',
    'Kiwi MCP',
    VERSION,
    `${operation}:${kind}`,
    `${operation} ${status}`,
    severityOf(status),
  ]
  const fields: Readonly<Record<string, unknown>> = {
    rt: record.wall,
    externalId: record.call_id,
    cat: kind,
    act: operation,
    outcome: status,
    suser: record.principal,
    fname: operation === 'search' && !hasArguments ? undefined : record.tool,
    reason: body['code'],
    cn1: record.seq,
    cn1Label: 'seq',
    cs1: record.session,
    cs1Label: 'session',
    cs2: body['rule'],
    cs2Label: body['rule'] === undefined ? undefined : 'rule',
    cs3: record.hash,
    cs3Label: 'hash',
    ...(hasArguments ? { msg: body['message'], cs4: body['parameters'], cs4Label: 'parameters' } : {}),
  }
  const extension = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([key, value]) => `${key}=${escapedValue(textOf(value))}`)
  return `CEF:0|${header.map(escapedHeader).join('|')}|${extension.join(' ')}`
}

function severityOf(status: string): string {
  if (['deny', 'denied', 'rejected'].includes(status)) return '6'
  return ['error', 'timeout', 'unknown'].includes(status) ? '4' : '2'
}

function escapedHeader(text: string): string {
  return plain(text.replaceAll(/[\\|]/g, String.raw`\$&`))
}

function escapedValue(text: string): string {
  const escaped = text.replaceAll(/[\\=]/g, String.raw`\$&`)
  return plain(escaped.replaceAll(/\r\n|[\n\r\u0085\u2028\u2029]/g, String.raw`\n`))
}

/** Nothing that a terminal, or a reader of lines, would take for more than a character. */
function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is taken out
  return text.replaceAll(/[\u0000-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]/g, '?')
}
