import { KiwiError } from '../../shared/errors.ts'
import type { DirectiveOrigin } from './parse-directive.ts'
import { parseDirective } from './parse-directive.ts'

interface RepairedText {
  readonly text: string
  /** Lines that were written anew. */
  readonly lines: readonly number[]
}

/** More than these, and somebody should look at the file. */
const MOST_LINES = 200

/** Writes bare signs as text, line by line, until the directive can be read. What is otherwise wrong with it is thrown. */
export async function repairText(text: string, origin: DirectiveOrigin): Promise<RepairedText> {
  const lines: number[] = []
  for (let repaired = text; ;) {
    const line = await parseDirective(repaired, origin).then(
      () => null,
      (error: unknown) => lineOf(error, lines.length),
    )
    if (line === null) return { text: repaired, lines }
    repaired = withLine(repaired, line.at, line.written)
    lines.push(line.at)
  }
}

function lineOf(error: unknown, before: number): { readonly at: number; readonly written: string } {
  const { line: at, repaired: written } = error instanceof KiwiError ? error.details : {}
  if (typeof at !== 'number' || typeof written !== 'string' || before >= MOST_LINES) throw error
  return { at, written }
}

function withLine(text: string, line: number, written: string): string {
  return text
    .split('\n')
    .map((one, at) => (at === line - 1 ? `${written}${one.endsWith('\r') ? '\r' : ''}` : one))
    .join('\n')
}
