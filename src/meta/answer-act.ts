import type { Answer } from '../kernel/call.ts'
import type { Act } from './acts.ts'

/** A person's answer to a call that waits for it. */
export function answerAct(answer: Answer, projectPath: string | null): Act {
  return {
    wish: () => ({ kind: 'decide', answer }),
    operation: answer.decision,
    subject: answer.approval,
    parameters: { scope: answer.scope, reason: answer.reason, channel: answer.channel },
    // Only other arguments are worked out in it: no project has a say in what a person answers.
    projectPath: answer.parameters === null ? null : projectPath,
  }
}
