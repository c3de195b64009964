import { styleText } from 'node:util'
import { z } from 'zod'
import { ERRORS } from '../shared/errors.ts'
import type { Reply, ReplyError } from '../shared/reply.ts'
import { commandOf } from './command-of.ts'

/** Where a command writes: results to standard output, everything about them to standard error. */
export interface Terminal {
  out(text: string): void
  note(text: string): void
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
}

export function openTerminal(): Terminal {
  return {
    out: (text) => void process.stdout.write(`${text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    bold: style('bold', process.stdout),
    dim: style('dim', process.stdout),
    red: style('red', process.stderr),
  }
}

function style(format: 'bold' | 'dim' | 'red', stream: NodeJS.WriteStream): (text: string) => string {
  return (text) => (stream.isTTY ? styleText(format, text) : text)
}

/** Prints a reply as JSON, or hands it to `show` when it is no error. Returns the exit code. */
export function printReply(
  reply: Reply,
  isJson: boolean,
  show: (data: unknown, terminal: Terminal) => void,
): number {
  const terminal = openTerminal()
  if (isJson) terminal.out(JSON.stringify(reply, null, 2))
  else if (reply.status === 'approval_required') printWaiting(reply.data, terminal)
  else if (reply.error === null) show(reply.data, terminal)
  else printError(reply.error, terminal)
  if (!isJson)
    for (const warning of reply.metadata.warnings ?? []) terminal.note(`note: ${printable(warning)}`)
  if (reply.status === 'approval_required') return ERRORS.APPROVAL_TIMEOUT.exit
  return reply.error === null ? 0 : ERRORS[reply.error.code].exit
}

const Waiting = z.looseObject({ approval_id: z.string(), summary: z.string(), how: z.array(z.string()) })

/** Nothing was done yet: what waits, and who can go on with it. */
function printWaiting(data: unknown, terminal: Terminal): void {
  const { approval_id, summary, how } = Waiting.parse(data)
  terminal.note(`${terminal.red('approval_required')} ${approval_id}\n${printableText(summary)}`)
  for (const step of how) terminal.note(`  ${printable(step)}`)
}

/** What happened, what to do, and the very next call. */
function printError(error: ReplyError, terminal: Terminal): void {
  terminal.note(`${terminal.red(error.code)} ${printable(error.message)}`)
  terminal.note(`  ${printable(error.hint)}`)
  for (const line of faultLines(error.details)) terminal.note(`    ${printable(line)}`)
  if (error.code === 'UPSTREAM_UNAVAILABLE')
    for (const line of saidLines(error.details)) terminal.note(`    ${printable(line)}`)
  // The hint above says what help would.
  const { call, arguments: given } = error.fix
  if (call !== 'help')
    terminal.note(printable(`  next: ${commandOf(error.fix) ?? `${call} ${JSON.stringify(given)}`}`))
}

const SaidByServer = z.looseObject({ stderr: z.string() })
const MOST_SAID = 12

/** The end of what a server wrote before it was lost. */
function saidLines(details: unknown): readonly string[] {
  const { data } = SaidByServer.safeParse(details)
  return data === undefined ? [] : ['it wrote:', ...data.stderr.split('\n').slice(-MOST_SAID)]
}

const Finding = z.looseObject({
  path: z.string().nullable(),
  line: z.number().nullable(),
  reason: z.string(),
})
const Faults = z.looseObject({
  missing: z.array(z.string()).catch([]),
  invalid: z.array(z.looseObject({ name: z.string(), reason: z.string() })).catch([]),
  findings: z.array(Finding).catch([]),
})
const NO_FAULTS = { missing: [], invalid: [], findings: [] }

/** The fields that hints speak of, and what rules found. */
export function faultLines(details: unknown): readonly string[] {
  const { missing, invalid, findings } = Faults.catch(NO_FAULTS).parse(details)
  return [
    ...missing.map((name) => `${name}: is missing`),
    // What is wrong with the whole has no name.
    ...invalid.map(({ name, reason }) => (name === '' ? reason : `${name}: ${reason}`)),
    ...findings.map(({ path, line, reason }) => {
      const place = line === null ? path : `${path}:${line}`
      return path === null ? reason : `${place}: ${reason}`
    }),
  ].slice(0, MOST_FAULTS)
}

const MOST_FAULTS = 20

/** How an item is run, with what it must be given. */
export function runLine(id: string, required: readonly string[]): string {
  return printable(`Run it: kiwi run ${id}${required.map((name) => ` ${name}=...`).join('')}`)
}

/** Columns as wide as their widest cell; the last of a row may run on. A cell is made printable, then styled by its column. */
export function table(
  rows: readonly (readonly string[])[],
  styles: Readonly<Record<number, (text: string) => string>> = {},
): string {
  const clean = rows.map((cells) => {
    const end = cells.findLastIndex((cell) => cell !== '') + 1
    return cells.slice(0, end).map(printable)
  })
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...clean.map((cells) => cells[column]?.length ?? 0)),
  )
  return clean
    .map((cells) =>
      cells
        .map((cell, column) => {
          const padded = column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)
          return styles[column]?.(padded) ?? padded
        })
        .join('  '),
    )
    .join('\n')
}

/** Nothing that came in may write on the terminal: no colour, no cursor, no line of its own, no turned direction. */
export function printable(text: string): string {
  return printableText(text.replaceAll(/[\t\n\r\u2028\u2029]+/g, ' '))
}

/** A text of several lines keeps them, and its tabs. */
export function printableText(text: string): string {
  return (
    text
      .replaceAll('\r\n', '\n')
      // oxlint-disable-next-line no-control-regex -- control characters are what is taken out
      .replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028-\u202E\u2066-\u2069]/g, '?')
  )
}
