import { constants, closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { errnoOf } from '../shared/errors.ts'
import { unifiedDiff } from '../shared/unified-diff.ts'
import { visible, visibleLine } from '../shared/visible.ts'
import type { Approval } from '../store/approvals.ts'
import { changeOf } from './approval-view.ts'

const MOST_LINES = 200
const MOST_CHARACTERS = 16 * 1024

/** The file as it is now against what it would be: for the person alone, since nobody else may have read it. */
export function changeLines(question: Approval, isFull: boolean): readonly string[] {
  const change = changeOf(question)
  if (change === null) return []
  const before = contentOf(change.path)
  const diff = before === null ? null : unifiedDiff(before, change.content)
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

const MOST_BYTES = 1024 * 1024

/** Empty for none there; null for what is no plain file, or a large one. */
function contentOf(path: string): string | null {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? '' : null
  }
  try {
    const stats = fstatSync(file)
    return stats.isFile() && stats.size <= MOST_BYTES ? readFileSync(file, 'utf8') : null
  } finally {
    closeSync(file)
  }
}
