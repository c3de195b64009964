import { z } from 'zod'
import { questionText } from '../kernel/approval-view.ts'
import { changeLines } from '../kernel/change-lines.ts'
import type { Question } from '../kernel/questions.ts'
import type { Kiwi } from '../kiwi.ts'
import type { Redact } from '../shared/redact.ts'
import type { Reply } from '../shared/reply.ts'
import { visible } from '../shared/visible.ts'
import { canAsk, typed } from './ask.ts'
import { openTerminal, printReply } from './terminal.ts'
import type { Decide } from './with-kiwi.ts'

const Waiting = z.looseObject({ approval_id: z.string() })

/** Asks the person at this terminal about their own call. Whether they said anything. */
export async function answerHere({ status, data }: Reply, kiwi: Kiwi, decide: Decide): Promise<boolean> {
  if (status !== 'approval_required' || !canAsk()) return false
  const question = await kiwi.questions.find(Waiting.parse(data).approval_id)
  openTerminal().note(shownQuestion(question, false, kiwi.questions.redact))
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
export function shownQuestion(question: Question, isFull: boolean, redact: Redact): string {
  const { id, state, isOurs, created_at, expires_at, decided_by, channel, reason } = question
  const who = decided_by === null ? '' : ` by ${visible(decided_by)} (${visible(channel ?? '')})`
  const why = reason === null ? '' : `: ${visible(reason)}`
  return [
    `${id} ${state}${who}${why}, asked ${timeOf(created_at)}, until ${timeOf(expires_at)}`,
    ...(isOurs ? [] : ['Kiwi did not ask this, or it was changed since: it cannot be approved']),
    questionText(question, isFull),
    ...changeLines(question, isFull, redact),
  ].join('\n')
}

export function timeOf(time: number): string {
  return new Date(time).toISOString().replace('T', ' ').slice(0, 19)
}
