import { KiwiError } from '../../shared/errors.ts'
import type { DirectiveOrigin } from './parse-directive.ts'
import { BareSigns } from './parse-fault.ts'
import { parseDirective } from './parse-directive.ts'

interface RepairedText {
  readonly text: string
  /** Lines that were written anew. */
  readonly lines: readonly number[]
}

/** More than these, and somebody should look at the file. */
const MOST_LINES = 200

/** One for the directive and one for steps below it, and some for what only shows when the rest is written well. */
const MOST_ROUNDS = 8

/** Writes bare signs as text until the directive can be read. What is otherwise wrong with it is thrown. */
export async function repairText(text: string, origin: DirectiveOrigin): Promise<RepairedText> {
  const lines = new Set<number>()
  let repaired = text
  for (let round = 0; ; round++) {
    const written = await parseDirective(repaired, origin).then(
      () => null,
      (error: unknown) => {
        const found = repairsOf(error)
        for (const line of found.keys()) lines.add(line)
        if (found.size === 0 || lines.size > MOST_LINES || round >= MOST_ROUNDS) throw error
        return found
      },
    )
    if (written === null) return { text: repaired, lines: [...lines].toSorted((one, other) => one - other) }
    repaired = withLines(repaired, written)
  }
}

/** Lines as they should be, by their number: none where that cannot be told. */
function repairsOf(error: unknown): ReadonlyMap<number, string> {
  if (!(error instanceof KiwiError)) return new Map()
  const { line, repaired } = error.details
  const first = typeof line === 'number' && typeof repaired === 'string' ? [[line, repaired] as const] : []
  return new Map([...first, ...(error.cause instanceof BareSigns ? error.cause.lines() : [])])
}

function withLines(text: string, written: ReadonlyMap<number, string>): string {
  return text
    .split('\n')
    .map((line, at) => {
      const anew = written.get(at + 1)
      return anew === undefined ? line : `${anew}${line.endsWith('\r') ? '\r' : ''}`
    })
    .join('\n')
}
