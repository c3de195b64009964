import { GROUPS } from '../../shared/groups.ts'
import { canonicalJson } from '../../shared/json.ts'
import type { Harness } from '../../spaces/harness.ts'
import type { HarnessFile, WrittenRule } from '../../spaces/harness-file.ts'
import type { PathContext } from './expand-path.ts'
import { expandPath } from './expand-path.ts'
import { toolOf } from './groups.ts'
import { groupsOf } from './harness-groups.ts'
import { KEEPERS } from './missing-grant.ts'
import type { Effect, LayerData, Match, Operation, Rule } from './rule.ts'
import { OPERATIONS, SAMPLE } from './rule.ts'
import { matchesOf } from './written-rule.ts'

/** Where what a file says is meant. */
export interface HarnessContext extends PathContext {
  /** The project of the agent's session, when its call names another: what is forbidden in either is forbidden. */
  readonly sessionProject: string | null
}

interface Circumstances extends HarnessContext {
  /** Whether every child is confined at least to its files, by whichever file says so. */
  readonly isConfined: boolean
}

/**
 * A file becomes two layers, so that what it asks about or forbids never opens what it does not list: one that lists,
 * and one that limits.
 */
export function compileHarness(harness: ReadHarness, given: Circumstances): readonly LayerData[] {
  const { content, place, path } = harness
  const written: Written = { ...harness, groups: groupsOf(content), ...given }
  const atTop = (['git', 'mcps'] as const).filter((key) => content[key] !== undefined)
  const base = { name: `${place} harness`, source: { kind: 'harness', file: path, place, atTop } } as const
  const listing = listingRules(written)
  const limits = limitRules(written)
  // What is forbidden by name is the better reason to give.
  return [
    ...(limits.length === 0 ? [] : [{ ...base, rules: [...limits, ...allowed(written, OPERATIONS)] }]),
    ...(listing === null ? [] : [{ ...base, rules: listing }]),
  ]
}

interface ReadHarness extends Harness {
  readonly content: HarnessFile
}

interface Written extends ReadHarness, Circumstances {
  readonly groups: HarnessFile['internal_tools']
}

const ANY: Match = { kind: 'any' }
const FIXED: Match = { kind: 'fixed' }

/** In proxy mode what the file does not list is denied; in hybrid mode so it is in the groups it speaks of. */
function isClosed({ content: { mode }, groups }: Written, group: keyof Written['groups']): boolean {
  return mode === 'proxy' || (mode === 'hybrid' && groups[group] !== undefined)
}

/** What may be used; null when the file closes nothing. What belongs to no server or group stays open. */
function listingRules(written: Written): readonly Rule[] | null {
  const { shell, git } = written.groups
  // What is started by scripts that somebody vouches for is no business of it.
  const isExecClosed = shell?.allowed_commands !== undefined || isClosed(written, 'shell')
  const isFilesClosed = isClosed(written, 'filesystem')
  const isServersClosed = isClosed(written, 'mcps')
  if (!isExecClosed && !isFilesClosed && !isServersClosed && git?.allowed === undefined) return null
  return [
    ...listedTools(written, isServersClosed),
    ...listedPrograms(written, isExecClosed),
    ...listedPaths(written, isFilesClosed),
    ...allowed(written, ['net', 'spawn']),
    ...writtenRules(written, ({ effect }) => effect !== 'deny', 'allow'),
  ]
}

function listedTools(written: Written, isClosedHere: boolean): readonly Rule[] {
  const { mcps = {}, git } = written.groups
  const operations = git?.allowed === undefined ? {} : { tools: git.allowed }
  const servers: readonly Match[] = isClosedHere
    ? Object.keys(mcps).map((server) => ({ kind: 'tool', server }))
    : [{ kind: 'tool', server: '*', except: GROUPS }]
  const matches: readonly (readonly [string, Match])[] = [
    ['own', { kind: 'tool', server: null }],
    ['filesystem', { kind: 'tool', server: 'filesystem' }],
    ['shell', { kind: 'tool', server: 'shell' }],
    ['git', { kind: 'tool', server: 'git', ...operations }],
    ...servers.map((match) => ['mcps', match] as const),
  ]
  return matches.map(([key, match]) => made(written, key, { op: 'tool', match, effect: 'allow' }))
}

function listedPrograms(written: Written, isClosedHere: boolean): readonly Rule[] {
  const names = written.groups.shell?.allowed_commands
  const allow = (key: string, match: Match): Rule =>
    made(written, key, { op: 'exec', match, effect: 'allow' })
  return [
    allow('fixed', isClosedHere ? FIXED : ANY),
    ...(names === undefined ? [] : [allow('shell.allowed_commands', { kind: 'program', names })]),
  ]
}

function listedPaths(written: Written, isClosedHere: boolean): readonly Rule[] {
  const { allowed_paths: both, read_only_paths: readOnly } = written.groups.filesystem ?? {}
  const allow = (op: Operation, key: string, match: Match): Rule =>
    made(written, key, { op, match, effect: 'allow' })
  return [
    ...(['read', 'write'] as const).flatMap((op) => [
      allow(op, 'fixed', isClosedHere ? FIXED : ANY),
      ...paths(written, both).map((match) => allow(op, 'filesystem.allowed_paths', match)),
    ]),
    ...paths(written, readOnly).map((match) => allow('read', 'filesystem.read_only_paths', match)),
  ]
}

/** Those of `rules`, with their own effect or with another. */
function writtenRules(
  written: Written,
  isMeant: (rule: WrittenRule) => boolean,
  effect?: Effect,
): readonly Rule[] {
  return written.content.rules.flatMap((rule, at) =>
    isMeant(rule)
      ? matchesIn(written, effect ?? rule.effect, (context) => matchesOf(rule, context)).map((match) => ({
          ...made(written, `rules/${at + 1}`, { op: rule.op, match, effect: effect ?? rule.effect }),
          ...(rule.when === undefined ? {} : { when: rule.when }),
        }))
      : [],
  )
}

/** What is denied or asked about, whatever else is listed. */
function limitRules(written: Written): readonly Rule[] {
  const { groups, isConfined } = written
  const { shell, filesystem, mcps = {} } = groups
  const limit = (key: string, op: Operation, match: Match, effect: Effect = 'deny'): Rule =>
    made(written, key, { op, match, effect })
  const unlisted = GROUPS.filter((group) => groups[group] === undefined && isClosed(written, group))
  const closed = GROUPS.filter((group) => groups[group]?.enabled === false)
  const off = Object.entries(mcps).filter(([, { enabled }]) => !enabled)
  return [
    // A word on the shell alone is a word on what its programs do: git in a line is one of them.
    ...unlisted.map((server) => ({
      ...limit(server, 'tool', { kind: 'tool', server, isCalled: true }),
      isUnlisted: true as const,
    })),
    ...closed.map((server) => limit(`${server}.enabled`, 'tool', { kind: 'tool', server })),
    // By whatever tool: to start what a call chooses is what the shell is.
    ...(shell?.enabled === false ? [limit('shell.enabled', 'exec', { kind: 'chosen' })] : []),
    ...off.map(([server]) => limit(`mcps.${server}.enabled`, 'tool', { kind: 'tool', server })),
    ...(shell?.blocked_commands ?? []).map((text) =>
      limit(`shell.blocked_commands/${text}`, 'exec', { kind: 'command', patterns: [text] }),
    ),
    ...(filesystem?.read_only_paths ?? []).flatMap((text) =>
      matchesIn(written, 'deny', (context) => paths(context, [text])).map((match) =>
        limit(`filesystem.read_only_paths/${text}`, 'write', match),
      ),
    ),
    ...askRules(written),
    ...(shell?.allowed_commands !== undefined && !isConfined
      ? [limit('shell.runs_code', 'exec', { kind: 'runs_code' }, 'ask')]
      : []),
    ...writtenRules(written, ({ effect }) => effect !== 'allow'),
    // Granted by name only, so it counts where everything else is open, too.
    ...writtenRules(written, (rule) => rule.effect === 'allow' && namesSampling(rule)),
  ]
}

function namesSampling(rule: WrittenRule): boolean {
  return rule.op === 'tool' && rule.match.actions?.includes(SAMPLE) === true
}

/** `require_approval`: names of tools, of operations, and for the shell of programs. */
function askRules(written: Written): readonly Rule[] {
  const { filesystem, shell, git, mcps = {} } = written.groups
  const ask = (key: string, op: Operation, match: Match): Rule =>
    made(written, key, { op, match, effect: 'ask' })
  const groups = Object.entries({ filesystem, shell, git, ...mcps })
  return groups.flatMap(([server, group]) =>
    (group?.require_approval ?? []).flatMap((name) => {
      const key = `${Object.hasOwn(mcps, server) ? 'mcps.' : ''}${server}.require_approval/${name}`
      return memberMatches(server, name).map(({ op, match }) => ask(key, op, match))
    }),
  )
}

/** What a name within a group or server means: a tool, an operation on files, and for the shell a program. */
export function memberMatches(
  server: string,
  name: string,
): readonly { readonly op: 'tool' | 'exec'; readonly match: Match }[] {
  return [
    ...(server === 'shell' ? [{ op: 'exec', match: { kind: 'program', names: [name] } } as const] : []),
    { op: 'tool', match: { kind: 'tool', server, tools: [toolOf(server, name)] } },
  ]
}

/** What is forbidden or asked about is so in the session's own project too, whichever a call names. */
function matchesIn(
  { home, projectPath, sessionProject }: Written,
  effect: Effect,
  matchesAt: (context: PathContext) => readonly Match[],
): readonly Match[] {
  const here = matchesAt({ home, projectPath })
  if (effect === 'allow' || sessionProject === null) return here
  const there = matchesAt({ home, projectPath: sessionProject })
  return [...new Map([...here, ...there].map((match) => [canonicalJson(match), match])).values()]
}

function paths(context: PathContext, texts: readonly string[] = []): readonly Match[] {
  return texts.flatMap((text) => expandPath(text, context) ?? [])
}

function allowed(written: Written, ops: readonly Operation[]): readonly Rule[] {
  return ops.map((op) => made(written, `open-${op}`, { op, match: ANY, effect: 'allow' }))
}

function made({ place, path }: Written, key: string, rule: Pick<Rule, 'op' | 'match' | 'effect'>): Rule {
  return {
    id: `${place}/${key}`,
    ...rule,
    remedy:
      rule.effect === 'ask'
        ? `A person has to approve it: "${key}" of ${path} asks for that`
        : `Change "${key}" in ${path}: ${KEEPERS[place]}`,
  }
}
