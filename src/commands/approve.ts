import { readFileSync } from 'node:fs'
import type { Answer } from '../kernel/call.ts'
import type { Question } from '../kernel/questions.ts'
import type { Kiwi } from '../kiwi.ts'
import type { JsonObject } from '../shared/json.ts'
import { ERRORS, KiwiError, messageOf } from '../shared/errors.ts'
import { shownQuestion } from './answer.ts'
import { canAsk, typed } from './ask.ts'
import { readParameters } from './parameters.ts'
import { openTerminal, printReply, printable } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface AnswerOptions extends CommonOptions {
  readonly key?: string
}

interface ApproveOptions extends AnswerOptions {
  readonly run?: boolean
  readonly params?: string
}

/** `kiwi approve ID`: at a terminal, where all of the call is shown and a yes is typed, or by the approver's key. */
export function approveCommand(id: string, options: ApproveOptions): Promise<number> {
  return withKiwi(options, async ({ kiwi, decide }) => {
    const channel = await channelOf('approve', id, options, kiwi)
    const question = await kiwi.questions.find(id)
    const parameters = options.params === undefined ? null : readParameters([], options.params, null)
    // What cannot be approved any more is refused at once, on record: nobody reads it all for nothing.
    if (channel === 'terminal' && isOpen(question)) {
      const terminal = openTerminal()
      terminal.note(shownQuestion(asWillRun(question, parameters), false, kiwi.questions.redact))
      if (parameters !== null) terminal.note(`instead   ${printable(JSON.stringify(parameters))}`)
      const what = options.run === true ? 'Allow this tool for the rest of the session' : 'Run it once'
      if (!/^yes$/i.test(await typed(`${what}? Type yes: `))) {
        terminal.note('Nothing was decided.')
        return ERRORS.APPROVAL_REJECTED.exit
      }
    }
    const reply = await decide(
      {
        approval: question.id,
        seen: question.mac,
        decision: 'approve',
        scope: options.run === true && parameters === null ? 'run' : 'once',
        reason: null,
        parameters,
        channel,
      },
      question.project,
    )
    return printReply(reply, options.json === true, showOutput)
  })
}

/** What would have become of a file is no part of a call that is given other arguments. */
function asWillRun(question: Question, parameters: JsonObject | null): Question {
  const { change: _change, ...rest } = question.summary
  return parameters === null ? question : { ...question, summary: rest }
}

function isOpen({ state, isOurs }: Question): boolean {
  return isOurs && (state === 'pending' || state === 'rejected')
}

/** `kiwi deny ID [reason]`: a no needs no second thought. */
export function denyCommand(id: string, reason: readonly string[], options: AnswerOptions): Promise<number> {
  return withKiwi(options, async ({ kiwi, decide }) => {
    const channel = await channelOf('deny', id, options, kiwi)
    const { id: approval, mac: seen, project } = await kiwi.questions.find(id)
    const said = reason.length === 0 ? null : reason.join(' ').slice(0, MOST_CHARACTERS)
    const answer = {
      approval,
      seen,
      decision: 'deny',
      scope: 'once',
      reason: said,
      parameters: null,
    } as const
    return printReply(await decide({ ...answer, channel }, project), options.json === true, showOutput)
  })
}

const MOST_CHARACTERS = 500

async function channelOf(
  action: string,
  id: string,
  { key }: AnswerOptions,
  { questions }: Kiwi,
): Promise<Answer['channel']> {
  if (key === undefined) {
    assertAnswering(
      action,
      id,
      'Run it in a terminal of your own, or give --key with the file of the approver key',
    )
    return 'terminal'
  }
  if (await questions.isKey(readKey(key))) return 'key'
  throw new KiwiError(
    'PERMISSION_DENIED',
    `Cannot ${action} "${id}": "${key}" does not hold the approver's key`,
    {
      details: { layer: 'machine', rule: 'person-only', op: 'tool', resource: action },
    },
  )
}

/** Whoever answers is a person at a terminal: a program started by an agent has none. */
export function assertAnswering(action: string, subject: string, hint: string): void {
  if (canAsk()) return
  throw new KiwiError(
    'PERMISSION_DENIED',
    `Cannot ${action} "${subject}": there is no terminal to answer at`,
    {
      hint,
      details: { layer: 'machine', rule: 'person-only', op: 'tool', resource: action },
    },
  )
}

function readKey(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new KiwiError('INVALID_PARAMETERS', `Cannot read --key "${path}": ${messageOf(error)}`, {
      cause: error,
    })
  }
}

function showOutput(data: unknown, terminal: ReturnType<typeof openTerminal>): void {
  const output = typeof data === 'object' && data !== null && 'output' in data ? data.output : ''
  terminal.out(printable(String(output)))
}
