import { ERASE } from '../kernel/erase-work.ts'
import { auditEntry } from '../kernel/audit-entry.ts'
import { KiwiError } from '../shared/errors.ts'
import { jsonLine } from '../shared/json-line.ts'
import { canAsk, isAgreed } from './ask.ts'
import type { ExportOptions } from './audit-export.ts'
import { exportAudit } from './audit-export.ts'
import type { FilterOptions } from './audit-filter.ts'
import { filterOf } from './audit-filter.ts'
import { follow } from './audit-follow.ts'
import { recordTable, sessionTree } from './audit-lines.ts'
import { recordsOfRun } from './audit-run.ts'
import { verifyAudit } from './audit-verify.ts'
import { openTerminal, printReply } from './terminal.ts'
import type { CommonOptions, Session } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface AuditOptions extends CommonOptions, FilterOptions, ExportOptions {
  readonly limit?: number
  readonly follow?: boolean
  readonly wide?: boolean
  readonly verify?: boolean
  readonly erase?: string
  readonly yes?: boolean
}

const SHOWN = 20

/** `kiwi audit`: what was decided and how it ended. */
export function auditCommand(options: AuditOptions): Promise<number> {
  // Before anything is opened: what is wrong with the options needs no store.
  const chosen = filterOf(options, Date.now())
  const filter = { ...chosen, limit: options.limit ?? SHOWN }
  const isJson = options.json === true
  const isWide = options.wide === true
  return withKiwi(options, async (session) => {
    const { kiwi } = session
    const terminal = openTerminal()
    if (options.erase !== undefined) return erase(options.erase, session, options)
    if (options.verify === true) return verifyAudit(kiwi, terminal, isJson)
    if (options.export !== undefined) return exportAudit(kiwi.store, filter, { ...options, terminal })
    if (options.follow === true) {
      const end = new AbortController()
      process.once('SIGINT', () => end.abort())
      await follow(filter, { store: kiwi.store, terminal, isJson, isWide, signal: end.signal })
      return 0
    }
    const { records, isCut } =
      chosen.session === undefined
        ? { records: await kiwi.store.records(filter), isCut: false }
        : await recordsOfRun(chosen, options.limit, kiwi.store)
    if (isJson) for (const record of records) terminal.out(jsonLine(auditEntry(record)))
    else if (records.length === 0) terminal.note('No records fit.')
    else if (filter.session === undefined) terminal.out(recordTable(records, isWide))
    else terminal.out(sessionTree(records.toReversed()))
    if (isCut) terminal.note('There are more records before these: --limit shows more, --export all')
    return 0
  })
}

/** What is dropped cannot be had again, so a person says so twice. */
async function erase(callId: string, { act }: Session, { yes, json }: AuditOptions): Promise<number> {
  const isSure = yes === true || (canAsk() && (await isAgreed(`Drop what the records of ${callId} hold?`)))
  if (!isSure) {
    throw new KiwiError('CONFIRM_REQUIRED', `Cannot erase "${callId}": nobody has confirmed it`, {
      hint: 'What is erased cannot be had again: confirm it with --yes',
    })
  }
  const reply = await act({
    wish: () => ({ kind: 'erase', callId }),
    operation: ERASE,
    subject: callId,
    projectPath: null,
  })
  return printReply(reply, json === true, (_, terminal) => {
    terminal.out(`Erased: ${callId}`)
    terminal.note('Its lines in .ai/logs, saved outputs and exports are files of yours and stay as they are.')
  })
}
