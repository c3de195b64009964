import { textOf } from '../shared/template.ts'
import type { JournalRecord } from '../store/store.ts'
import { printable, table } from './terminal.ts'

const LONGEST_CELL = 80
const HEADINGS = ['seq', 'time', 'kind', 'status', 'operation', 'tool', 'by', 'detail'] as const
/** Of a table whose last lines are not known yet. */
const WIDTHS = [6, 19, 8, 9, 14, 24, 16] as const

/** Records as a table. */
export function recordTable(records: readonly JournalRecord[]): string {
  return table([HEADINGS, ...records.map(cellsOf)])
}

/** One record by itself, in columns that stay where they are. */
export function recordLine(record: JournalRecord): string {
  return cellsOf(record)
    .map((cell, column) => printable(cell).padEnd(WIDTHS[column] ?? 0))
    .join('  ')
}

/** The calls of each session below it, and below these the sessions that came from it. */
export function sessionTree(records: readonly JournalRecord[]): string {
  const sessions = new Map<string, Session>()
  for (const record of records) {
    const session = sessions.get(record.session) ?? { parent: record.parent_session, records: [] }
    session.records.push(record)
    sessions.set(record.session, session)
  }
  const roots = [...sessions].filter(([, { parent }]) => parent === null || !sessions.has(parent))
  const shown = new Set<string>()
  const lines = (roots.length === 0 ? [...sessions] : roots).flatMap(([id]) => branch(id, sessions, shown))
  return lines.join('\n')
}

interface Session {
  readonly parent: string | null
  readonly records: JournalRecord[]
}

function branch(id: string, sessions: ReadonlyMap<string, Session>, shown: Set<string>): readonly string[] {
  const session = sessions.get(id)
  if (session === undefined || shown.has(id)) return []
  // Written by nobody of ours, a session could come from itself.
  shown.add(id)
  const { principal } = session.records[0] ?? { principal: '' }
  const directive = session.records.find(({ body }) => body['directive'] !== undefined)?.body['directive']
  const told = directive === undefined ? '' : `  ${printable(textOf(directive))}`
  const below = [...sessions].filter(([, { parent }]) => parent === id)
  return [
    `${printable(id)}  ${printable(principal)}${told}`,
    ...recordTable(session.records).split('\n').map(indented),
    ...below.flatMap(([child]) => branch(child, sessions, shown)).map(indented),
  ]
}

function indented(line: string): string {
  return `  ${line}`
}

function cellsOf(record: JournalRecord): readonly string[] {
  const { seq, wall, kind, status, operation, tool, principal, body } = record
  const { code, duration_ms, rule, approval_id } = body
  const said = code ?? approval_id ?? (duration_ms === undefined ? rule : `${textOf(duration_ms)} ms`)
  const detail = Object.keys(body).length === 0 ? 'erased' : said
  const time = new Date(wall).toISOString().replace('T', ' ').slice(0, 19)
  return [String(seq), time, kind, status, operation, cut(tool), principal, cut(textOf(detail))]
}

function cut(text: string): string {
  return text.slice(0, LONGEST_CELL)
}
