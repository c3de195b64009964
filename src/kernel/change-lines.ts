import type { Redact } from '../shared/redact.ts'
import { textOf } from '../shared/template.ts'
import { unifiedDiff } from '../shared/unified-diff.ts'
import { visible, visibleLine } from '../shared/visible.ts'
import type { Approval } from '../store/approvals.ts'
import { changeOf } from './approval-view.ts'
import { textAt } from './text-at.ts'

const MOST_LINES = 200
const MOST_CHARACTERS = 16 * 1024

/**
 * The file as it is now against what it would be: for the person alone, since nobody else may have read it. Secrets are
 * taken out before the two are compared, as they were out of what it would be.
 */
export function changeLines(question: Approval, isFull: boolean, redact: Redact): readonly string[] {
  const change = changeOf(question)
  if (change === null) return []
  const before = textAt(change.path)
  const diff = before === null ? null : unifiedDiff(textOf(redact(before)), textOf(redact(change.content)))
  if (diff === null) return [`changes   "${visible(change.path)}": too large or too different to compare`]
  const lines = diff.split('\n').map(visibleLine)
  const shown = isFull ? lines : bounded(lines)
  const more = lines.length - shown.length
  return [
    `changes   "${visible(change.path)}"`,
    ...shown,
    ...(more > 0 ? [`... ${more} more lines: kiwi approvals ${question.id} --full`] : []),
  ]
}

/** Whole lines only: half of one could pass for all of it. */
function bounded(lines: readonly string[]): readonly string[] {
  let characters = 0
  const end = lines.findIndex((line) => (characters += line.length) > MOST_CHARACTERS)
  return lines.slice(0, Math.min(end < 0 ? lines.length : end, MOST_LINES))
}
