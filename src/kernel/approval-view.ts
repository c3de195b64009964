import { z } from 'zod'
import { groupOf } from '../shared/groups.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { visible, visibleJson, visibleLine } from '../shared/visible.ts'
import type { Approval } from '../store/approvals.ts'
import type { Call, Work } from './call.ts'
import { isOfMany } from './find-answer.ts'
import type { Demand, Verdict } from './policy/rule.ts'
import { resourceOf } from './policy/rule.ts'

/** Bytes of the arguments that are shown unless all are asked for. */
const SHOWN_CHARACTERS = 4096

/** What is kept of a call for the person who is asked about it: all of its arguments, live secrets taken out. */
export function summaryOf(call: Call, asks: readonly Verdict[]): JsonObject {
  const { work, ticket, projectPath } = call
  if (work === null) throw new TypeError('nobody is asked about a call before it was worked out')
  const { item, action, demands, parameters, redact, preview, change } = work
  const would = preview(true)
  // How a shipped server is started is the same for every call of it, and tells nothing of this one.
  const isOwnServer = 'would_call' in would && item.space === 'builtin' && groupOf(item.id) !== undefined
  return {
    tool: item.id,
    version: item.version,
    space: item.space,
    action,
    subject: redact(ticket.subject, true),
    // Not by their names, as in the journal: a person must see what an agent calls a secret.
    parameters: redact(parameters ?? asJson(ticket.parameters)),
    would: redact(would),
    commands: isOwnServer ? [] : redact(demands.flatMap(commandOf)),
    ...(runsCode(demands) ? { runs_code: true } : {}),
    ...(change === undefined ? {} : { change: redact({ path: change.path, content: change.content }) }),
    undo: undoText(work),
    asks: asks.map(({ layer, rule, demand, reason }) => ({
      layer,
      rule,
      op: demand.op,
      resource: redact(resourceOf(demand)),
      reason: redact(reason),
    })),
    caller: ticket.caller.kind,
    ...(isOfMany(call) ? { of_many: true } : {}),
    project: projectPath,
  }
}

/** What a yes can be for: where several clients have the session, this call alone. */
export function longestScope({ summary }: Approval): Approval['scope'] {
  return summary['of_many'] === true ? 'once' : 'run'
}

/** What is judged as a command is shown as one, argument by argument. */
function commandOf(demand: Demand): readonly (readonly string[])[] {
  return demand.op === 'exec' && demand.argv !== undefined ? [[demand.program, ...demand.argv.slice(1)]] : []
}

/** Whether files run that are not part of what is approved. */
function runsCode(demands: readonly Demand[]): boolean {
  const isLine = demands.some((demand) => demand.op === 'tool' && demand.of?.server === 'shell')
  return isLine && demands.some((demand) => demand.op === 'exec' && demand.runsCode === true)
}

/** What came over the wire, or nothing. */
function asJson(value: unknown): JsonValue {
  return z.json().catch(null).parse(value)
}

function undoText({ undo, noReturn }: Work): string | null {
  if (noReturn !== undefined) return `cannot be undone: ${noReturn}`
  switch (undo?.tier) {
    case 'files':
      return 'can be undone: what its files are now is kept'
    case 'tree':
      return `can be undone: what ${quoted(undo.root)} holds now is kept, but for .git, what .gitignore names and repositories inside of it`
    case 'call':
      return `can be undone by ${quoted(undo.tool)}`
    case 'never':
      return `cannot be undone: ${undo.why}`
    case undefined:
      return null
  }
}

const Ask = z.looseObject({
  layer: z.string(),
  rule: z.string().nullable(),
  op: z.string(),
  resource: z.string(),
  reason: z.string().nullable().catch(null),
})
const Summary = z.looseObject({
  tool: z.string(),
  version: z.string().nullable().catch(null),
  action: z.string(),
  parameters: z.json(),
  commands: z.array(z.array(z.string())).catch([]),
  runs_code: z.boolean().catch(false),
  would: z.record(z.string(), z.json()).catch({}),
  change: z.looseObject({ path: z.string(), content: z.string() }).optional(),
  undo: z.string().nullable().catch(null),
  asks: z.array(Ask),
})

/** The file a call would write, as it would be; null when that was not known before. */
export function changeOf({ summary }: Approval): { readonly path: string; readonly content: string } | null {
  return Summary.parse(summary).change ?? null
}

/** The question in words: every character of the call can be told, and none passes for one of ours. */
export function questionText(approval: Approval, isFull = false): string {
  const summary = Summary.parse(approval.summary)
  const { tool, version, action, parameters, would, commands, undo, asks } = summary
  const { command, args, cwd } = Command.parse(would['would_run'])
  const { method, url } = Request.parse(would['would_send'])
  const bounded = (text: string): string => bound(text, approval.id, isFull)
  const starts = commands.length > 0 || command === null ? commands : [[command, ...args]]
  const lines: readonly (readonly [string, string | null])[] = [
    ['call', `${visible(action)} ${visible(tool)}${version === null ? '' : `@${visible(version)}`}`],
    ['with', bounded(visibleJson(parameters))],
    ['starts', bounded(starts.map((argv) => argv.map(quoted).join(' ')).join('\n'))],
    ['note', summary.runs_code ? unboundText(would['would_run']) : null],
    ['in', cwd === null ? null : quoted(cwd)],
    ['sends', url === null ? null : bounded(`${visible(method ?? '')} ${visible(url)}`)],
    ['undo', undo === null ? null : visibleLine(undo)],
    ['asked by', asks.map(askText).join('\n')],
    ['for', forWhom(approval)],
    ['content', approval.digest],
    ['call hash', approval.call_hash],
  ]
  return lines
    .filter((line): line is readonly [string, string] => line[1] !== null && line[1] !== '')
    .map(([label, text]) => `${label.padEnd(10)}${text.replaceAll('\n', `\n${' '.repeat(10)}`)}`)
    .join('\n')
}

/** What of the code that runs is not part of the answer: of a line all of it, of a tool what it does not carry itself. */
function unboundText(started: JsonValue | undefined): string {
  return Line.safeParse(started).success
    ? 'it runs code of the project: you approve the command, not the content of the files it runs'
    : 'its own files are part of what you approve (content, below); other files that it runs are not'
}

const Line = z.looseObject({ commands: z.array(z.json()) })

const Command = z
  .looseObject({
    command: z.string().nullable(),
    args: z.array(z.string()),
    cwd: z.string().nullable().catch(null),
  })
  .catch({ command: null, args: [], cwd: null })
const Request = z
  .looseObject({ method: z.string().nullable(), url: z.string().nullable() })
  .catch({ method: null, url: null })

function askText({ layer, rule, op, resource, reason }: z.infer<typeof Ask>): string {
  const by = rule === null ? '' : ` rule ${visible(rule)}`
  const why = reason === null ? '' : ` (${visible(reason)})`
  return `layer ${visible(layer)}${by}: ${op} ${visible(resource).slice(0, 200)}${why}`
}

function forWhom({ principal, session, run, project }: Approval): string {
  const where = project === null ? '' : ` in ${quoted(project)}`
  return `${visible(principal)}, session ${visible(session)}${run === null ? '' : `, run ${visible(run)}`}${where}`
}

function quoted(text: string): string {
  return `"${visible(text)}"`
}

function bound(text: string, id: string, isFull: boolean): string {
  if (isFull || text.length <= SHOWN_CHARACTERS) return text
  const shown = text.slice(0, SHOWN_CHARACTERS)
  const more = Buffer.byteLength(text) - Buffer.byteLength(shown)
  return `${shown}\n... ${more} more bytes: kiwi approvals ${id} --full`
}
