import { setImmediate } from 'node:timers/promises'
import type { RE2JS } from 're2js'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { Finding } from './finding.ts'
import type { Pattern, PatternCheck } from './rules.ts'

/** A file of an item as text. */
export interface TextFile {
  readonly path: string
  readonly text: string
}

/** Says where in a text a pattern stands first, or null. Nothing in it takes longer than its length says. */
export type Matcher = (text: string) => Promise<number | null>

/** Steps of an expression before others get a turn, and in one search over all files. */
const STEPS_AT_ONCE = 2_000_000
const MOST_STEPS = 2_000_000_000
/** Steps of an expression for each character, at most. */
const LARGEST_EXPRESSION = 2000

/** Every pattern of a rule with its first place in each file. */
export async function searchPatterns(
  rule: PatternCheck,
  files: readonly TextFile[],
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const budget = { left: MOST_STEPS }
  for (const pattern of rule.patterns) {
    const find = await matcherOf(pattern, rule.tool, budget)
    for (const { path, text } of files) {
      const at = await find(text)
      if (at === null) continue
      const line = at === TOO_MUCH ? null : text.slice(0, at).split('\n').length
      const shown = JSON.stringify(pattern.name.slice(0, 100))
      const reason =
        at === TOO_MUCH ? `is too large to be searched for ${shown}` : `holds the dangerous pattern ${shown}`
      findings.push({ rule: rule.type, tool: rule.tool, path, line, reason })
    }
  }
  return findings
}

/** In place of a place: the search was given up, and what was not searched counts as found. */
const TOO_MUCH = -1

export async function matcherOf(
  { source, isExpression }: Pick<Pattern, 'source' | 'isExpression'>,
  tool: string,
  budget = { left: MOST_STEPS },
): Promise<Matcher> {
  if (!isExpression) {
    return async (text) => {
      const at = text.indexOf(source)
      return at < 0 ? null : at
    }
  }
  const expression = await compile(source, tool)
  const size = Math.max(1, expression.programSize())
  return async (text) => {
    for (const { start, part } of partsOf(text, Math.ceil(STEPS_AT_ONCE / size))) {
      budget.left -= size * part.length
      if (budget.left < 0) return TOO_MUCH
      const match = expression.matcher(part)
      if (match.find()) return start + match.start()
      if (part.length < text.length) await setImmediate()
    }
    return null
  }
}

async function compile(source: string, tool: string): Promise<RE2JS> {
  const { RE2JS: Expression } = await import('re2js')
  try {
    const expression = Expression.compile(Expression.translateRegExp(source), Expression.MULTILINE)
    if (expression.programSize() > LARGEST_EXPRESSION) throw new RangeError('it is too large')
    return expression
  } catch (error) {
    throw new KiwiError(
      'INVALID_MANIFEST',
      `Cannot use the pattern ${JSON.stringify(source.slice(0, 100))} of "${tool}": ${messageOf(error)}`,
      { hint: 'Correct the expression, or write {literal: ...} for a plain text', cause: error },
    )
  }
}

/** A line that is cut is searched on from a little before the cut, so that nothing hides behind it. */
const OVERLAP = 1000

/** Whole lines, as many as may be searched at once. */
function* partsOf(text: string, most: number): Generator<{ start: number; part: string }> {
  const length = Math.max(most, 2 * OVERLAP)
  for (let start = 0; start < text.length;) {
    const isLast = start + length >= text.length
    const line = isLast ? text.length : text.lastIndexOf('\n', start + length - 1) + 1
    const end = line > start ? line : start + length
    yield { start, part: text.slice(start, end) }
    start = line > start ? end : end - OVERLAP
  }
}
