import type { ApprovalState } from '../store/approvals.ts'
import type { Question } from '../kernel/questions.ts'
import { assertAnswering } from './approve.ts'
import { shownQuestion, timeOf } from './answer.ts'
import { openTerminal, table } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface ApprovalsOptions extends CommonOptions {
  readonly full?: boolean
  readonly all?: boolean
  readonly grants?: boolean
  readonly noticeSecret?: boolean
  readonly link?: boolean
  readonly port?: number
}

const MOST = 200
const AT_A_TERMINAL = 'Run it in a terminal of your own'

/** `kiwi approvals`: what waits, newest first. */
export function approvalsCommand(id: string | undefined, options: ApprovalsOptions): Promise<number> {
  return withKiwi(options, async ({ kiwi }) => {
    const terminal = openTerminal()
    if (options.noticeSecret === true) {
      assertAnswering('show the secret of', 'notices', AT_A_TERMINAL)
      terminal.out(await kiwi.questions.noticeSecret())
      return 0
    }
    if (options.link === true) {
      assertAnswering('make a link for', 'the console', AT_A_TERMINAL)
      const port = options.port ?? kiwi.config.port
      terminal.out(`http://127.0.0.1:${port}/console#${await kiwi.questions.makeCode()}`)
      terminal.note('Open it within five minutes, once, while "kiwi serve" runs.')
      return 0
    }
    if (id !== undefined) {
      const question = await kiwi.questions.find(id)
      terminal.out(
        options.json === true
          ? JSON.stringify(question)
          : shownQuestion(question, options.full === true, kiwi.questions.redact),
      )
      return 0
    }
    const states: readonly ApprovalState[] = [options.grants === true ? 'approved' : 'pending']
    const found = await kiwi.questions.list({ limit: MOST, ...(options.all === true ? {} : { states }) })
    const shown = options.all === true ? found : found.filter(({ state }) => states.includes(state))
    const rows = options.grants === true ? shown.filter(({ scope }) => scope === 'run') : shown
    if (options.json === true) terminal.out(JSON.stringify(rows))
    else if (rows.length === 0)
      terminal.note(options.grants === true ? 'Nothing is allowed for a whole session.' : 'Nothing waits.')
    else terminal.out(table([['id', 'state', 'tool', 'asked by', 'for', 'until'], ...rows.map(row)]))
    return 0
  })
}

function row({
  id,
  state,
  scope,
  tool,
  layer,
  rule,
  principal,
  session,
  expires_at,
  isOurs,
}: Question): string[] {
  const said = isOurs ? `${state}${scope === 'run' ? ' (session)' : ''}` : 'not ours'
  return [id, said, tool, rule ?? layer, `${principal} ${session}`, timeOf(expires_at)]
}
