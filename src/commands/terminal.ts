import { styleText } from 'node:util'
import { ERRORS } from '../shared/errors.ts'
import type { Reply } from '../shared/reply.ts'

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
  else if (reply.error === null) show(reply.data, terminal)
  else printError(reply.error, terminal)
  if (!isJson) for (const warning of reply.metadata.warnings ?? []) terminal.note(`note: ${warning}`)
  return reply.error === null ? 0 : ERRORS[reply.error.code].exit
}

/** What happened, what to do, and the very next call. */
export function printError(
  error: Pick<NonNullable<Reply['error']>, 'code' | 'message' | 'hint' | 'fix'>,
  terminal: Terminal,
): void {
  terminal.note(`${terminal.red(error.code)} ${error.message}`)
  terminal.note(`  ${error.hint}`)
  if (error.fix !== undefined)
    terminal.note(`  next: ${error.fix.call} ${JSON.stringify(error.fix.arguments)}`)
}

/** Columns as wide as their widest cell; the last may run on. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  )
  return rows
    .map((cells) =>
      cells
        .map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
        .join('  '),
    )
    .join('\n')
}
