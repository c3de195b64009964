import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { questionText } from '../kernel/approval-view.ts'
import { changeLines } from '../kernel/change-lines.ts'
import type { Question } from '../kernel/questions.ts'
import type { Kiwi } from '../kiwi.ts'
import { answerAct } from '../meta/answer-act.ts'
import type { Choice, Desk, Waiting } from '../server/console.ts'
import type { Ids } from '../shared/ids.ts'
import type { Redact } from '../shared/redact.ts'
import { visible } from '../shared/visible.ts'
import { timeOf } from './answer.ts'

const MOST = 50

/** What the console shows and does: a person's, through the same gate as the command line. */
export function createDesk(open: () => Promise<Kiwi>, newSession: Ids): Desk {
  return {
    async file(name) {
      const { consoleFolder } = await open()
      return readFile(join(consoleFolder, name)).catch(() => null)
    },
    useCode: async (code) => (await open()).questions.useCode(code),
    async waiting() {
      const { questions } = await open()
      const found = await questions.list({ limit: MOST, states: ['pending'] })
      return found
        .filter(({ state, isOurs }) => state === 'pending' && isOurs)
        .map((question) => toWaiting(question, questions.redact))
    },
    async decide(choice) {
      const kiwi = await open()
      const { id, mac, project } = await kiwi.questions.find(choice.id)
      const client = {
        principal: `user:${userInfo().username}`,
        session: newSession(),
        kind: 'person',
        defaultProject: () => Promise.resolve(project),
      } as const
      const answer = { ...answerOf(choice), approval: id, seen: mac, parameters: null } as const
      const { data, error } = await kiwi.act(answerAct({ ...answer, channel: 'console' }, project), client)
      if (error !== null) return `${error.message}. ${error.hint}`
      return typeof data === 'object' && data !== null && 'output' in data ? String(data.output) : 'Done'
    },
  }
}

function answerOf({ decision, reason }: Choice): {
  decision: 'approve' | 'deny'
  scope: 'once' | 'run'
  reason: string | null
} {
  return {
    decision: decision === 'reject' ? 'deny' : 'approve',
    scope: decision === 'run' ? 'run' : 'once',
    reason: reason === '' ? null : reason,
  }
}

function toWaiting(question: Question, redact: Redact): Waiting {
  const { id, tool, layer, rule, principal, session, project, expires_at } = question
  return {
    id,
    title: visible(tool),
    who: `${visible(principal)}, session ${visible(session)}${project === null ? '' : `, ${visible(project)}`}, until ${timeOf(expires_at)}`,
    text: [questionText(question), ...changeLines(question, false, redact)].join('\n'),
    rule: `layer ${visible(layer)}${rule === null ? '' : `, rule ${visible(rule)}`}`,
  }
}
