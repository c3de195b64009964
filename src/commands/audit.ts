import { ERRORS } from '../shared/errors.ts'
import { textOf } from '../shared/template.ts'
import type { JournalRecord } from '../store/store.ts'
import { openTerminal, table } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

const LONGEST_CELL = 80

interface AuditOptions extends CommonOptions {
  readonly limit: number
  readonly tool?: string
  readonly session?: string
  readonly call?: string
  readonly status?: string
  readonly verify?: boolean
}

/** `kiwi audit`: what was decided and how it ended, newest first. */
export function auditCommand(options: AuditOptions): Promise<number> {
  return withKiwi(options, async ({ kiwi }) => {
    const terminal = openTerminal()
    if (options.verify === true) {
      const { records, brokenAt } = await kiwi.store.verify()
      if (options.json === true) terminal.out(JSON.stringify({ records, broken_at: brokenAt }))
      else if (brokenAt === null) terminal.out(`${records} records, the chain is whole`)
      else
        terminal.out(
          terminal.red(`The chain is broken at record ${brokenAt}: it was changed, removed or moved`),
        )
      return brokenAt === null ? 0 : ERRORS.INTERNAL.exit
    }
    const records = await kiwi.store.records({
      limit: options.limit,
      ...(options.tool === undefined ? {} : { tool: options.tool }),
      ...(options.session === undefined ? {} : { session: options.session }),
      ...(options.call === undefined ? {} : { call_id: options.call }),
      ...(options.status === undefined ? {} : { status: options.status }),
    })
    if (options.json === true) terminal.out(records.map((record) => JSON.stringify(record)).join('\n'))
    else if (records.length === 0) terminal.note('No records fit.')
    else
      terminal.out(
        table([['seq', 'time', 'kind', 'status', 'operation', 'tool', 'by', 'detail'], ...records.map(row)]),
      )
    return 0
  })
}

function row(record: JournalRecord): readonly string[] {
  const { seq, wall, kind, status, operation, tool, principal, body } = record
  const { code, duration_ms, rule } = body
  const detail = code ?? (duration_ms === undefined ? rule : `${textOf(duration_ms)} ms`)
  const time = new Date(wall).toISOString().replace('T', ' ').slice(0, 19)
  return [String(seq), time, kind, status, operation, cut(tool), principal, cut(textOf(detail))]
}

function cut(text: string): string {
  return text.slice(0, LONGEST_CELL)
}
