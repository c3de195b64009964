import { z } from 'zod'
import { ERRORS, KiwiError } from '../shared/errors.ts'
import type { Checkpoint } from '../store/undo.ts'
import { timeOf } from './answer.ts'
import type { Terminal } from './terminal.ts'
import { openTerminal, printReply, printable, printableText, table } from './terminal.ts'
import { unifiedDiff } from '../shared/unified-diff.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface UndoOptions extends CommonOptions {
  readonly run?: string
  readonly yes?: boolean
}

/**
 * `kiwi undo <call>`, `kiwi undo --run <run or session>`: shows what would be put back; --yes does it. Without either:
 * which calls there are.
 */
export function undoCommand(id: string | undefined, options: UndoOptions): Promise<number> {
  return withKiwi(options, async ({ kiwi, call }) => {
    if (id === undefined && options.run === undefined && options.yes !== true)
      return list(await kiwi.store.standing(MOST_LISTED), options.json === true)
    const isDone = options.yes === true
    const reply = await call('execute', {
      item_type: 'tool',
      action: 'undo',
      item_id: readId(id, options.run),
      dry_run: !isDone,
    })
    const code = printReply(reply, options.json === true, (data, terminal) =>
      show(Report.parse(data), isDone, terminal),
    )
    const isPart = isDone && reply.error === null && Report.parse(reply.data).totals.conflict > 0
    return isPart ? ERRORS.CONFLICT.exit : code
  })
}

const MOST_LISTED = 20

function list(calls: readonly Checkpoint[], isJson: boolean): number {
  const terminal = openTerminal()
  if (isJson) terminal.out(JSON.stringify(calls, null, 2))
  else if (calls.length === 0) terminal.note('Nothing is kept that could be undone.')
  else {
    const rows = calls.map(({ call_id, tool, wall, project }) => [call_id, timeOf(wall), tool, project ?? ''])
    terminal.out(table([['call', 'time', 'tool', 'project'], ...rows]))
    terminal.note('\nShow what undoing one would change: kiwi undo CALL')
  }
  return 0
}

function readId(call: string | undefined, run: string | undefined): string {
  const id = call ?? run
  if (id !== undefined && (call === undefined || run === undefined)) return id
  throw new KiwiError('INVALID_PARAMETERS', 'Cannot undo: give one call, or --run with a run or session', {
    hint: 'kiwi undo alone lists the calls',
    details: { missing: id === undefined ? ['call'] : [], invalid: [] },
  })
}

const Report = z.object({
  output: z.string().optional(),
  calls: z.array(z.object({ call_id: z.string(), tool: z.string(), time: z.string() })),
  makes_calls: z.array(z.object({ for: z.string(), tool: z.string() })).default([]),
  paths: z.array(
    z.object({
      path: z.string(),
      action: z.string(),
      reason: z.string().optional(),
      changed_at: z.string().optional(),
      before: z.string().optional(),
      now: z.string().optional(),
    }),
  ),
  totals: z.object({ conflict: z.number() }),
  not_covered: z.array(z.string()),
  denied_by: z.object({ layer: z.string(), remedy: z.string() }).nullable().optional(),
  undo_id: z.string().optional(),
})
type Report = z.infer<typeof Report>

/** Lines that are printed; `--json` has them all. */
const MOST_LINES = 100

const WORDS: Readonly<Record<string, string>> = { bring_back: 'bring back' }

function show(report: Report, isDone: boolean, terminal: Terminal): void {
  const { calls, makes_calls: makes, paths, not_covered: uncovered } = report
  terminal.out(isDone ? (report.output ?? '') : 'Would undo')
  terminal.out(
    table(
      calls.map(({ call_id, tool, time: when }) => ['', call_id, when.replace('T', ' ').slice(0, 19), tool]),
    ),
  )
  const rows = [
    ...makes.map(({ tool, for: of }) => ['', 'call', tool, `takes back ${of}`]),
    ...paths.map((line) => ['', WORDS[line.action] ?? line.action, line.path, remark(line)]),
  ]
  if (rows.length > 0) terminal.out(`\n${table(rows.slice(0, MOST_LINES))}`)
  if (rows.length > MOST_LINES) terminal.out(`  and ${rows.length - MOST_LINES} more: --json shows all`)
  for (const { path, before, now } of paths)
    if (before !== undefined && now !== undefined) showDifference(path, before, now, terminal)
  if (uncovered.length === 1) terminal.note(`\nnot covered: ${printable(uncovered.join(''))}`)
  else if (uncovered.length > 1)
    terminal.note(['\nnot covered:', ...uncovered.map((each) => `  ${printable(each)}`)].join('\n'))
  if (report.denied_by) {
    const { layer, remedy } = report.denied_by
    return terminal.note(`\nThe layer "${printable(layer)}" denies it: ${printable(remedy)}`)
  }
  if (!isDone) terminal.note('\nNothing was changed. Give --yes to undo')
  else if (report.undo_id !== undefined) terminal.note(`\nTake it back: kiwi undo ${report.undo_id}`)
}

/** When it was last changed is said where it may have been by somebody else. */
function remark({ reason = '', action, changed_at: at }: Report['paths'][number]): string {
  return reason === '' || at === undefined || action === 'conflict'
    ? reason
    : `${reason}; last at ${at.replace('T', ' ').slice(0, 19)}`
}

/** What somebody made of it since, beside what it was before the call. */
function showDifference(path: string, before: string, now: string, terminal: Terminal): void {
  const difference = unifiedDiff(before, now) ?? 'too different to be shown'
  terminal.out(printableText(`\n--- ${path} before the call\n+++ ${path} now\n${difference}`))
}
