import type { Literals } from './literal.ts'
import type { Masked } from './mask.ts'

/** A Python source, taken apart once. */
export interface PythonSource extends Masked {
  readonly lines: readonly Line[]
  readonly literals: Literals
}

/** One statement, or the head of a block: from its first character to where the next begins. */
export interface Line {
  readonly start: number
  readonly end: number
  /** Blanks in front of it; a tab counts for eight. */
  readonly indent: number
  /** Its code, strings and comments blanked. */
  readonly code: string
}

/** The logical lines of a Python source: brackets and backslashes join lines, semicolons part them. */
export function pythonLines({ code }: Masked): readonly Line[] {
  const lines: Line[] = []
  const next = /[\n()[\]{};]|\\\r?\n/g
  let start = 0
  let depth = 0
  let indent = indentAt(code, 0)
  const close = (end: number): void => {
    const text = code.slice(start, end)
    const lead = /^\s*/.exec(text)?.[0].length ?? 0
    if (lead < text.length) lines.push({ start: start + lead, end, indent, code: text.slice(lead).trimEnd() })
  }
  for (let found = next.exec(code); found !== null; found = next.exec(code)) {
    const [mark] = found
    if (mark.startsWith('\\')) continue
    if ('([{'.includes(mark)) depth += 1
    else if (')]}'.includes(mark)) depth = Math.max(0, depth - 1)
    else if (depth === 0) {
      close(found.index)
      start = next.lastIndex
      if (mark === '\n') indent = indentAt(code, start)
    }
  }
  close(code.length)
  return lines
}

const BLANKS = /[ \t\f]*/y

function indentAt(code: string, at: number): number {
  BLANKS.lastIndex = at
  const [blanks = ''] = BLANKS.exec(code) ?? []
  return blanks.includes('\t') ? blanks.replaceAll('\t', '        ').length : blanks.length
}
