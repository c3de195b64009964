import { randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { auditEntry } from '../kernel/audit-entry.ts'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { jsonLine } from '../shared/json-line.ts'
import type { JournalFilter, JournalRecord } from '../store/journal.ts'
import type { StoreView } from '../store/store.ts'
import { openPairs } from './audit-calls.ts'
import { cefLine } from './export-cef.ts'
import { openOcsf } from './export-ocsf.ts'
import { otelSpans } from './export-otel.ts'
import type { Terminal } from './terminal.ts'
import { printable } from './terminal.ts'

export interface ExportOptions {
  /** A file, or - for standard output. */
  readonly export?: string
  readonly format?: string
  readonly withArguments?: boolean
}

const FORMATS = ['jsonl', 'otel', 'ocsf', 'cef'] as const
type Format = (typeof FORMATS)[number]
const PAGE = 500

/** Writes all records that fit, oldest first, in a form that others read. */
export async function exportAudit(
  store: StoreView,
  filter: Omit<JournalFilter, 'limit' | 'after'>,
  {
    export: to = '-',
    format: asked = 'jsonl',
    withArguments = false,
    terminal,
  }: ExportOptions & { terminal: Terminal },
): Promise<number> {
  const format = FORMATS.find((each) => each === asked)
  if (format === undefined) {
    throw new KiwiError('INVALID_PARAMETERS', `Cannot export as "${asked}": there is no such format`, {
      hint: `Give --format ${FORMATS.join(', ')}`,
    })
  }
  const [first] = await store.records({ limit: 1, after: 0 })
  const writer = openWriter(format, { chain: first?.hash ?? 'empty', hasArguments: withArguments })
  if (to === '-') {
    await writePages(store, filter, writer, writeOut)
    return 0
  }
  const file = resolve(to)
  const records = await intoFile(file, (write) => writePages(store, filter, writer, write))
  terminal.note(`${records} records exported to ${printable(file)}`)
  return 0
}

type Write = (text: string) => Promise<void>

/** Makes the text of records as they come by, and of what is left at the end. */
interface Writer {
  page(records: readonly JournalRecord[]): readonly string[]
  rest(): readonly string[]
}

async function writePages(
  store: StoreView,
  filter: Omit<JournalFilter, 'limit' | 'after'>,
  writer: Writer,
  write: Write,
): Promise<number> {
  const say = async (lines: readonly string[]): Promise<void> => {
    if (lines.length > 0) await write(`${lines.join('\n')}\n`)
  }
  let count = 0
  let page: readonly JournalRecord[] = []
  do {
    page = await store.records({ ...filter, limit: PAGE, after: page.at(-1)?.seq ?? 0 })
    await say(writer.page(page))
    count += page.length
  } while (page.length === PAGE)
  await say(writer.rest())
  return count
}

function openWriter(
  format: Format,
  { chain, hasArguments }: { chain: string; hasArguments: boolean },
): Writer {
  const pairs = openPairs()
  switch (format) {
    case 'jsonl': {
      const entry = (record: JournalRecord): string =>
        jsonLine(hasArguments ? auditEntry(record) : withoutArguments(record))
      return { page: (records) => records.map(entry), rest: () => [] }
    }
    case 'cef':
      return { page: (records) => records.map((record) => cefLine(record, hasArguments)), rest: () => [] }
    case 'ocsf': {
      const event = openOcsf(chain, hasArguments)
      return {
        page: (records) => pairs.add(records).map((call) => jsonLine(event(call))),
        rest: () => pairs.rest().map((call) => jsonLine(event(call))),
      }
    }
    case 'otel': {
      const request = (calls: ReturnType<typeof pairs.add>): readonly string[] =>
        calls.length === 0 ? [] : [jsonLine(otelSpans(calls, hasArguments))]
      return { page: (records) => request(pairs.add(records)), rest: () => request(pairs.rest()) }
    }
  }
}

/** Messages, paths and demands quote what a call was given, and a search asks for what it is named after. */
function withoutArguments(record: JournalRecord): JsonObject {
  const {
    parameters: _parameters,
    demands: _demands,
    path: _path,
    message: _message,
    ...rest
  } = auditEntry(record)
  return record.operation === 'search' ? { ...rest, tool: null, item: null } : rest
}

function writeOut(text: string): Promise<void> {
  return new Promise((done) => process.stdout.write(text, () => done()))
}

/** Whole or not at all, and for nobody else to read. */
async function intoFile<T>(file: string, fill: (write: Write) => Promise<T>): Promise<T> {
  const beside = `${file}.${randomUUID()}.tmp`
  let handle: FileHandle | null = null
  try {
    const opened = await open(beside, 'wx', 0o600)
    handle = opened
    const result = await fill((text) => opened.writeFile(text))
    await opened.close()
    await rename(beside, file)
    return result
  } catch (error) {
    await handle?.close().catch(() => undefined)
    await rm(beside, { force: true })
    if (error instanceof KiwiError) throw error
    const code = errnoOf(error) === 'ENOSPC' ? 'STORE_FULL' : 'STORE_UNAVAILABLE'
    throw new KiwiError(code, `Cannot write "${file}": ${messageOf(error)}`, {
      hint: 'Give --export a file in a folder you can write to, or - for standard output',
      cause: error,
    })
  }
}
