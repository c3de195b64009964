import { textOf } from '../shared/template.ts'
import type { JournalRecord } from '../store/journal.ts'
import { printable, table } from './terminal.ts'

const LONGEST_CELL = 80

interface Column {
  readonly heading: string
  /** In a table whose last lines are not known yet. */
  readonly width: number
  readonly of: (record: JournalRecord) => string
  readonly isWide?: true
}

const COLUMNS: readonly Column[] = [
  { heading: 'seq', width: 6, of: ({ seq }) => String(seq) },
  {
    heading: 'time',
    width: 19,
    of: ({ wall }) => new Date(wall).toISOString().replace('T', ' ').slice(0, 19),
  },
  { heading: 'call', width: 26, of: ({ call_id }) => call_id },
  { heading: 'session', width: 26, of: ({ session }) => session, isWide: true },
  { heading: 'kind', width: 8, of: ({ kind }) => kind },
  { heading: 'status', width: 9, of: ({ status }) => status },
  { heading: 'operation', width: 14, of: ({ operation }) => operation },
  { heading: 'tool', width: 24, of: ({ tool }) => tool.slice(0, LONGEST_CELL) },
  { heading: 'by', width: 16, of: ({ principal }) => principal },
  { heading: 'detail', width: 0, of: detailOf },
]

function columnsOf(isWide: boolean): readonly Column[] {
  return COLUMNS.filter((column) => isWide || column.isWide !== true)
}

/** Records as a table. */
export function recordTable(records: readonly JournalRecord[], isWide = false): string {
  const columns = columnsOf(isWide)
  const rows = records.map((record) => columns.map(({ of }) => of(record)))
  return table([columns.map(({ heading }) => heading), ...rows])
}

/** One record by itself, in columns that stay where they are. */
export function recordLine(record: JournalRecord, isWide = false): string {
  return columnsOf(isWide)
    .map(({ width, of }) => printable(of(record)).padEnd(width))
    .join('  ')
    .trimEnd()
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

function detailOf({ body }: JournalRecord): string {
  const { code, duration_ms, rule, approval_id } = body
  const said = code ?? approval_id ?? (duration_ms === undefined ? rule : `${textOf(duration_ms)} ms`)
  return textOf(Object.keys(body).length === 0 ? 'erased' : said).slice(0, LONGEST_CELL)
}
