import { serverName } from '../../shared/groups.ts'
import type { Dialect } from '../../spaces/directive/dialect.ts'
import type { WantedServer, WantedTools } from '../../spaces/directive/model.ts'
import type { PathContext } from '../policy/expand-path.ts'
import { expandPath } from '../policy/expand-path.ts'
import { FILE_OPERATIONS, fileOperation } from '../policy/groups.ts'
import { compileMatch } from '../policy/match.ts'
import { missingGrant } from '../policy/missing-grant.ts'
import { execDemand } from './effective-rules.ts'
import type { Demand, Rule } from '../policy/rule.ts'

/** Something a directive wants and does not grant, with the line that would. */
export interface Excess {
  readonly wanted: string
  readonly required: string
  /** Where it is wanted; null where that is not known. */
  readonly line: number | null
}

interface ExcessContext extends PathContext {
  readonly directive: string
  readonly dialect?: Dialect
}

/** What of `<tools>` lies outside of `<permissions>`. A script is granted by being wanted. */
export function excessOf(
  { servers, filesystem, shell, kiwi }: WantedTools,
  rules: readonly Rule[],
  context: ExcessContext,
): readonly Excess[] {
  const isGranted = judgeOf(rules)
  const excess: Excessive = (wanted, demand, line = null) =>
    isGranted(demand) ? [] : [{ wanted, required: requiredFor(demand, context), line }]
  // A skill names the tool of another client, and no place: whatever is granted will do.
  const isAnyOf = (right: 'read' | 'write', path: string): boolean =>
    context.dialect === 'skill' &&
    path === '**/*' &&
    rules.some(({ op, effect }) => op === right && effect !== 'deny')
  const paths = (right: 'read' | 'write'): readonly Excess[] =>
    (filesystem?.[right] ?? []).flatMap((path) =>
      isAnyOf(right, path) || probesOf(path, context).every((probe) => isGranted({ op: right, path: probe }))
        ? []
        : [{ wanted: `${right} ${path}`, required: requiredFor({ op: right, path }, context), line: null }],
    )
  const { execute = [], ...questions } = kiwi ?? {}
  return [
    ...servers.flatMap((server) => ofServer(server, rules, excess)),
    ...paths('read'),
    ...paths('write'),
    ...(shell ?? []).flatMap((command) => excess(`shell ${command}`, execDemand(command))),
    ...Object.keys(questions).flatMap((action) =>
      excess(`kiwi ${action}`, { op: 'tool', id: 'kiwi-mcp', action }),
    ),
    // To run something takes a grant of that very thing.
    ...execute
      .filter((action) => action !== 'run' && action !== '*')
      .flatMap((action) => excess(`kiwi ${action}`, { op: 'tool', id: '*', action })),
  ]
}

type Excessive = (wanted: string, demand: Demand, line?: number | null) => readonly Excess[]

function ofServer(
  { name, tools, line }: WantedServer,
  rules: readonly Rule[],
  excess: Excessive,
): readonly Excess[] {
  const server = serverName(name)
  const demand = (tool: string): Demand => {
    const called = server === 'filesystem' ? fileOperation(tool) : tool
    return { op: 'tool', id: `${server}.${called}`, action: 'run', of: { server, tool: called } }
  }
  if (tools !== null) return tools.flatMap((tool) => excess(`${server}.${tool}`, demand(tool), line))
  // All of them are those that are granted: one will do.
  const speaks = rules.some(
    ({ op, effect, match }) =>
      op === 'tool' && effect !== 'deny' && match.kind === 'tool' && fitsServer(match.server, server),
  )
  return speaks ? [] : excess(server, demand('*'), line)
}

function fitsServer(given: string | null | undefined, server: string): boolean {
  return given === undefined || given === server || given === '*'
}

/** What is asked about is granted too; what is denied is not. */
export function judgeOf(rules: readonly Rule[]): (demand: Demand) => boolean {
  const ready = rules.map(({ op, match, effect }) => ({
    op,
    effect,
    match,
    speaksOf: compileMatch(match, new Map()),
  }))
  return (demand) => {
    const spoken = ready.filter(
      ({ op, match, speaksOf }) =>
        op === demand.op && (speaksOf(demand) || (demand.op === 'exec' && begins(match, demand))),
    )
    // What denies some commands of a program leaves the others.
    const counted = spoken.filter(({ effect, match }) => effect !== 'deny' || match.kind !== 'prefix')
    return counted.length > 0 && counted.every(({ effect }) => effect !== 'deny')
  }
}

/** A part of what a program can do is granted, which is enough where no command of it is named. */
function begins(match: Rule['match'], { program, argv }: Extract<Demand, { op: 'exec' }>): boolean {
  return argv === undefined && match.kind === 'prefix' && match.words[0] === program
}

/** Paths that only a glob at least as wide speaks of: what stands for anything is filled with names nobody has. */
function probesOf(path: string, context: PathContext): readonly string[] {
  const match = expandPath(path.replace(/\*\*\/\*$/, '**'), context)
  if (match === null) return []
  if (match.kind !== 'path') return match.kind === 'under' ? [...match.paths] : []
  return match.globs.flatMap((glob) =>
    ['\u0001', '\u0001/\u0001/\u0001'].map(
      (deep) => `${match.root}/${glob.replaceAll('**', deep).replaceAll(/[*?]/g, '\u0001')}`,
    ),
  )
}

/** The line for it. Files are granted by what is done with them. */
export function requiredFor(
  demand: Demand,
  { directive, dialect = 'xml' }: Pick<ExcessContext, 'directive' | 'dialect'>,
): string {
  const layer = {
    name: directive,
    source: { kind: 'directive', directive, dialect, element: 'permissions' },
    rules: [],
  } as const
  const meant = doneBy(demand)
  return missingGrant(layer, meant, [meant]).required ?? ''
}

/** What is done by a call of our own whose path or command nobody knows yet: that is what grants are about. */
export function doneBy(demand: Demand): Demand {
  const { server, tool } = demand.op === 'tool' ? (demand.of ?? {}) : {}
  if (server === 'shell') return { op: 'exec', program: '*' }
  if (server !== 'filesystem') return demand
  const isWritten = FILE_OPERATIONS.write.some((operation) => operation === tool)
  return { op: isWritten ? 'write' : 'read', path: '**/*' }
}
