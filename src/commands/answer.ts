import { constants, closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { changeOf, questionText } from '../kernel/approval-view.ts'
import type { Question } from '../kernel/questions.ts'
import type { Kiwi } from '../kiwi.ts'
import { errnoOf } from '../shared/errors.ts'
import type { Reply } from '../shared/reply.ts'
import { visible, visibleLine } from '../shared/visible.ts'
import { canAsk, typed } from './ask.ts'
import { openTerminal, printReply } from './terminal.ts'
import { unifiedDiff } from './unified-diff.ts'
import type { Decide } from './with-kiwi.ts'

const Waiting = z.looseObject({ approval_id: z.string() })

/** Asks the person at this terminal about their own call. Whether they said anything. */
export async function answerHere({ status, data }: Reply, kiwi: Kiwi, decide: Decide): Promise<boolean> {
  if (status !== 'approval_required' || !canAsk()) return false
  const question = await kiwi.questions.find(Waiting.parse(data).approval_id)
  openTerminal().note(shownQuestion(question, false))
  const said = await typed('Run it once? yes or no: ')
  if (!/^(?:yes|no)$/i.test(said)) return false
  const decision = /^yes$/i.test(said) ? 'approve' : 'deny'
  const { id, mac, project } = question
  const reply = await decide(
    {
      approval: id,
      seen: mac,
      decision,
      scope: 'once',
      reason: null,
      parameters: null,
      channel: 'terminal',
    },
    project,
  )
  if (reply.error !== null) printReply(reply, false, () => undefined)
  return true
}

/** All that is known of a question, and what it would do to a file. */
export function shownQuestion(question: Question, isFull: boolean): string {
  const { id, state, isOurs, created_at, expires_at, decided_by, channel, reason } = question
  const who = decided_by === null ? '' : ` by ${visible(decided_by)} (${visible(channel ?? '')})`
  const why = reason === null ? '' : `: ${visible(reason)}`
  return [
    `${id} ${state}${who}${why}, asked ${timeOf(created_at)}, until ${timeOf(expires_at)}`,
    ...(isOurs ? [] : ['Kiwi did not ask this, or it was changed since: it cannot be approved']),
    questionText(question, isFull),
    ...changeLines(question, isFull),
  ].join('\n')
}

export function timeOf(time: number): string {
  return new Date(time).toISOString().replace('T', ' ').slice(0, 19)
}

const MOST_LINES = 200

/** The file as it is now against what it would be. */
function changeLines(question: Question, isFull: boolean): readonly string[] {
  const change = changeOf(question)
  if (change === null) return []
  const before = contentOf(change.path)
  const diff = before === null ? null : unifiedDiff(before, change.content)
  if (diff === null) return [`changes   "${visible(change.path)}": too large or too different to compare`]
  const lines = diff.split('\n').map(visibleLine)
  const shown = isFull ? lines : lines.slice(0, MOST_LINES)
  const more = lines.length - shown.length
  return [
    `changes   "${visible(change.path)}"`,
    ...shown,
    ...(more > 0 ? [`... ${more} more lines: kiwi approvals ${question.id} --full`] : []),
  ]
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
