import type { Harness } from '../../spaces/harness.ts'
import type { HarnessFile } from '../../spaces/harness-file.ts'
import type { PathContext } from './expand-path.ts'
import { expandPath } from './expand-path.ts'
import { GROUPS, fileOperation } from './groups.ts'
import { KEEPERS } from './missing-grant.ts'
import type { Effect, LayerData, Match, Operation, Rule } from './rule.ts'
import { OPERATIONS } from './rule.ts'
import { matchesOf } from './written-rule.ts'

interface Circumstances extends PathContext {
  /** Whether every child is confined at least to its files, by whichever file says so. */
  readonly isConfined: boolean
}

/** Groups as they stand in a file, in whichever of the two places. */
export function groupsOf({ internal_tools, mcps, git }: HarnessFile): HarnessFile['internal_tools'] {
  return {
    ...internal_tools,
    mcps: internal_tools.mcps ?? mcps,
    git: internal_tools.git ?? git,
  }
}

/**
 * A file becomes two layers, so that what it asks about or forbids never opens what it does not list: one that lists,
 * and one that limits.
 */
export function compileHarness(harness: Harness, given: Circumstances): readonly LayerData[] {
  const { content, place, path } = harness
  if (content === null) return []
  const written: Written = { ...harness, content, groups: groupsOf(content), ...given }
  const base = { name: `${place} harness`, source: { kind: 'harness', file: path, place } } as const
  const listing = listingRules(written)
  const limits = limitRules(written)
  return [
    ...(listing === null ? [] : [{ ...base, rules: listing }]),
    ...(limits.length === 0 ? [] : [{ ...base, rules: [...limits, ...allowed(written, OPERATIONS)] }]),
  ]
}

interface Written extends Omit<Harness, 'content'>, Circumstances {
  readonly content: HarnessFile
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
  const { groups, content } = written
  const { shell, filesystem, mcps = {}, git } = groups
  const isListed = shell?.allowed_commands !== undefined
  // Without a word on the shell its own tools are closed; what scripts are started by is no business of it.
  const isExecClosed = isListed || (shell !== undefined && isClosed(written, 'shell'))
  const isFilesClosed = isClosed(written, 'filesystem')
  const isServersClosed = isClosed(written, 'mcps')
  if (!isExecClosed && !isFilesClosed && !isServersClosed && git?.allowed === undefined) return null
  const allow = (key: string, op: Operation, match: Match): Rule => made(written, key, op, match, 'allow')
  const extra = content.rules.flatMap((rule, at) =>
    rule.effect === 'deny'
      ? []
      : matchesOf(rule, written).map((match) => ({
          ...allow(`rules/${at + 1}`, rule.op, match),
          ...(rule.when === undefined || rule.effect === 'ask' ? {} : { when: rule.when }),
        })),
  )
  const servers: readonly Match[] = isServersClosed
    ? Object.keys(mcps).map((server) => ({ kind: 'tool', server }))
    : [{ kind: 'tool', server: '*', except: GROUPS }]
  return [
    allow('own', 'tool', { kind: 'tool', server: null }),
    allow('filesystem', 'tool', { kind: 'tool', server: 'filesystem' }),
    allow('shell', 'tool', { kind: 'tool', server: 'shell' }),
    allow('git', 'tool', {
      kind: 'tool',
      server: 'git',
      ...(git?.allowed === undefined ? {} : { tools: git.allowed }),
    }),
    ...servers.map((match) => allow('mcps', 'tool', match)),
    allow('fixed', 'exec', isExecClosed ? FIXED : ANY),
    ...(shell?.allowed_commands === undefined
      ? []
      : [allow('shell.allowed_commands', 'exec', { kind: 'program', names: shell.allowed_commands })]),
    ...(['read', 'write'] as const).flatMap((op) => [
      allow('fixed', op, isFilesClosed ? FIXED : ANY),
      ...paths(written, filesystem?.allowed_paths).map((match) =>
        allow('filesystem.allowed_paths', op, match),
      ),
    ]),
    ...paths(written, filesystem?.read_only_paths).map((match) =>
      allow('filesystem.read_only_paths', 'read', match),
    ),
    ...allowed(written, ['net', 'spawn']),
    ...extra,
  ]
}

/** What is denied or asked about, whatever else is listed. */
function limitRules(written: Written): readonly Rule[] {
  const { groups, content, isConfined } = written
  const { shell, filesystem, mcps = {} } = groups
  const limit = (key: string, op: Operation, match: Match, effect: Effect = 'deny'): Rule =>
    made(written, key, op, match, effect)
  const closed = GROUPS.filter((group) =>
    groups[group] === undefined ? isClosed(written, group) : !groups[group].enabled,
  )
  const off = Object.entries(mcps).filter(([, { enabled }]) => !enabled)
  return [
    ...closed.map((server) => limit(server, 'tool', { kind: 'tool', server })),
    ...off.map(([server]) => limit(`mcps.${server}.enabled`, 'tool', { kind: 'tool', server })),
    ...(shell?.blocked_commands ?? []).map((text) =>
      limit(`shell.blocked_commands/${text}`, 'exec', { kind: 'command', patterns: [text] }),
    ),
    ...(filesystem?.read_only_paths ?? []).flatMap((text) =>
      paths(written, [text]).map((match) => limit(`filesystem.read_only_paths/${text}`, 'write', match)),
    ),
    ...askRules(written),
    ...(shell?.allowed_commands !== undefined && !isConfined
      ? [limit('shell.runs_code', 'exec', { kind: 'runs_code' }, 'ask')]
      : []),
    ...content.rules.flatMap((rule, at) =>
      rule.effect === 'allow'
        ? []
        : matchesOf(rule, written).map((match) => ({
            ...limit(`rules/${at + 1}`, rule.op, match, rule.effect),
            ...(rule.when === undefined ? {} : { when: rule.when }),
          })),
    ),
  ]
}

/** `require_approval`: names of tools, of operations, and for the shell of programs. */
function askRules(written: Written): readonly Rule[] {
  const { filesystem, shell, git, mcps = {} } = written.groups
  const ask = (key: string, op: Operation, match: Match): Rule => made(written, key, op, match, 'ask')
  const groups = Object.entries({ filesystem, git, ...mcps })
  const tools = groups.flatMap(([server, group]) =>
    (group?.require_approval ?? []).map((name) => {
      const isServer = Object.hasOwn(mcps, server)
      const tool = server === 'filesystem' ? fileOperation(name) : name
      const key = `${isServer ? 'mcps.' : ''}${server}.require_approval/${name}`
      return ask(key, 'tool', { kind: 'tool', server, tools: [tool] })
    }),
  )
  const programs = (shell?.require_approval ?? []).flatMap((name) => [
    ask(`shell.require_approval/${name}`, 'exec', { kind: 'program', names: [name] }),
    ask(`shell.require_approval/${name}`, 'tool', { kind: 'tool', server: 'shell', tools: [name] }),
  ])
  return [...tools, ...programs]
}

function paths(context: PathContext, texts: readonly string[] = []): readonly Match[] {
  return texts.flatMap((text) => expandPath(text, context) ?? [])
}

function allowed(written: Written, ops: readonly Operation[]): readonly Rule[] {
  return ops.map((op) => made(written, `open-${op}`, op, ANY, 'allow'))
}

/** The effect is last, and there are five, because a rule reads like that in the lists above. */
// oxlint-disable-next-line max-params -- each is a column of the table of rules
function made({ place, path }: Written, key: string, op: Operation, match: Match, effect: Effect): Rule {
  return {
    id: `${place}/${key}`,
    op,
    match,
    effect,
    remedy:
      effect === 'ask'
        ? `A person has to approve it: "${key}" of ${path} asks for that`
        : `Change "${key}" in ${path}: ${KEEPERS[place]}`,
  }
}
