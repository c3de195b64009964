import { messageOf } from '../../shared/errors.ts'
import { canonicalJson } from '../../shared/json.ts'
import type { Harness, HarnessFault } from '../../spaces/harness.ts'
import type { HarnessFile, WrittenRule } from '../../spaces/harness-file.ts'
import { conditionFaults } from './condition-faults.ts'
import type { PathContext } from './expand-path.ts'
import { expandPath, pathFault } from './expand-path.ts'
import { nameFault } from './glob.ts'
import { fileOperationFault, mcpFault } from './groups.ts'
import { groupsOf, saidOtherwise } from './harness-groups.ts'
import type { LayerMeans } from './layer.ts'
import { compileLayer } from './layer.ts'
import { readRate } from './rate-text.ts'
import type { Layer } from './rule.ts'
import type { Example } from './rule-example.ts'
import { exampleOf } from './rule-example.ts'
import { commandFault, matchesOf, programFault, ruleFaults } from './written-rule.ts'

type Fault = readonly [path: readonly PropertyKey[], reason: string]

/** What a schema cannot see: what could never match, says two things at once, or is not as its own examples say. */
export async function harnessFaults(
  harness: Harness,
  context: PathContext,
  means: LayerMeans,
): Promise<readonly HarnessFault[]> {
  const { content, faults, at } = harness
  if (content === null) return faults
  const found = [
    ...placeFaults(content),
    ...groupFaults(content),
    ...contradictions(content, context),
    ...(await Promise.all(content.rules.map((rule, index) => faultsOf(rule, index, context, means)))).flat(),
  ]
  return found.map(([path, reason]) => ({ ...at(path), reason }))
}

function placeFaults(content: HarnessFile): readonly Fault[] {
  return saidOtherwise(content).map((path) => [
    path,
    `"${path.at(-1)}" stands here and in internal_tools, with another value: keep one`,
  ])
}

/** Of servers and git, in both places where they may stand. */
function groupFaults({ internal_tools, mcps, git }: HarnessFile): readonly Fault[] {
  const { filesystem, shell } = internal_tools
  const files = ['internal_tools', 'filesystem']
  const programs = ['internal_tools', 'shell']
  return [
    ...commonFaults(files, filesystem, fileOperationFault),
    ...judge([...files, 'allowed_paths'], filesystem?.allowed_paths, pathFault),
    ...judge([...files, 'read_only_paths'], filesystem?.read_only_paths, pathFault),
    ...commonFaults(programs, shell, programFault),
    ...judge([...programs, 'allowed_commands'], shell?.allowed_commands, programFault),
    ...judge([...programs, 'blocked_commands'], shell?.blocked_commands, (text) =>
      commandFault(text, 'deny'),
    ),
    ...gitFaults(['internal_tools', 'git'], internal_tools.git),
    ...gitFaults(['git'], git),
    ...serverFaults(['internal_tools', 'mcps'], internal_tools.mcps),
    ...serverFaults(['mcps'], mcps),
  ]
}

function gitFaults(path: readonly string[], git: HarnessFile['git']): readonly Fault[] {
  return [...commonFaults(path, git, nameFault), ...judge([...path, 'allowed'], git?.allowed, nameFault)]
}

function serverFaults(path: readonly string[], servers: HarnessFile['mcps'] = {}): readonly Fault[] {
  return Object.entries(servers).flatMap(([name, group]): readonly Fault[] => {
    const place = [...path, name]
    const fault = mcpFault(name)
    return [
      ...(fault === null ? [] : [[place, `"${name}" ${fault}`] as const]),
      ...commonFaults(place, group, nameFault),
    ]
  })
}

function commonFaults(path: readonly string[], group: Group | undefined, faultOf: FaultOf): readonly Fault[] {
  return [
    ...judge([...path, 'require_approval'], group?.require_approval, faultOf),
    ...rateFaults([...path, 'rate_limit'], group?.rate_limit),
    ...Object.entries(group?.rate_limits ?? {}).flatMap(([name, text]): readonly Fault[] => {
      const place = [...path, 'rate_limits', name]
      const fault = faultOf(name)
      return [...(fault === null ? [] : [[place, `"${name}" ${fault}`] as const]), ...rateFaults(place, text)]
    }),
  ]
}

type FaultOf = (value: string) => string | null

function judge(path: readonly string[], values: readonly string[] = [], faultOf: FaultOf): readonly Fault[] {
  return values.flatMap((value, at) => {
    const fault = faultOf(value)
    return fault === null ? [] : [[[...path, at], `"${value}" ${fault}`] as const]
  })
}

function rateFaults(path: readonly string[], text: string | undefined): readonly Fault[] {
  if (text === undefined || readRate(text) !== null) return []
  return [[path, `"${text}" is no rate such as 100/minute or 100/minute per session`]]
}

interface Group {
  readonly rate_limit?: string | undefined
  readonly rate_limits?: Readonly<Record<string, string>> | undefined
  readonly require_approval?: readonly string[] | undefined
}

/** The same thing allowed and denied in one file is a mistake, whichever was meant. */
function contradictions(content: HarnessFile, context: PathContext): readonly Fault[] {
  const { filesystem, shell, git } = groupsOf(content)
  const gitPath = content.git?.allowed === undefined ? ['internal_tools', 'git'] : ['git']
  const lists = [
    [['internal_tools', 'filesystem', 'allowed_paths'], filesystem?.enabled, filesystem?.allowed_paths],
    [['internal_tools', 'shell', 'allowed_commands'], shell?.enabled, shell?.allowed_commands],
    [[...gitPath, 'allowed'], git?.enabled, git?.allowed],
  ] as const
  const off = lists.flatMap(([path, isEnabled, listed]): readonly Fault[] =>
    isEnabled === false && listed !== undefined
      ? [[path, `"${path.at(-1)}" lists what "enabled: false" takes away: keep one`]]
      : [],
  )
  const blocked = shell?.blocked_commands ?? []
  const commands = (shell?.allowed_commands ?? []).flatMap((name, at): readonly Fault[] =>
    blocked.includes(name)
      ? [[['internal_tools', 'shell', 'allowed_commands', at], `"${name}" is in blocked_commands too`]]
      : [],
  )
  const seen = new Map<string, WrittenRule['effect']>()
  const rules = content.rules.flatMap(({ op, match, when = {}, effect }, at): readonly Fault[] => {
    const key = canonicalJson({ op, match, when })
    const before = seen.get(key)
    seen.set(key, effect)
    if (before === undefined || before === effect) return []
    return [[['rules', at], `it says ${effect} where another rule with the same match says ${before}`]]
  })
  return [...off, ...commands, ...pathContradictions(filesystem, context), ...rules]
}

/** What is below a path may well be read-only; the path itself is one or the other. */
function pathContradictions(
  { allowed_paths: both = [], read_only_paths: readOnly = [] }: Paths = {},
  context: PathContext,
): readonly Fault[] {
  const placeOf = (text: string): string => canonicalJson(expandPath(text, context) ?? text)
  const written = new Set(both.map(placeOf))
  return readOnly.flatMap((text, at): readonly Fault[] =>
    written.has(placeOf(text))
      ? [[['internal_tools', 'filesystem', 'read_only_paths', at], `"${text}" is in allowed_paths too`]]
      : [],
  )
}

interface Paths {
  readonly allowed_paths?: readonly string[] | undefined
  readonly read_only_paths?: readonly string[] | undefined
}

async function faultsOf(
  rule: WrittenRule,
  index: number,
  context: PathContext,
  means: LayerMeans,
): Promise<readonly Fault[]> {
  const path = ['rules', index]
  const conditions = rule.when === undefined ? [] : conditionFaults(rule.when)
  const wrong = [...ruleFaults(rule), ...conditions.map((reason) => [['when'], reason] as const)]
  if (wrong.length > 0) return wrong.map(([inner, reason]) => [[...path, ...inner], reason])
  try {
    const rules = matchesOf(rule, context).map((match) => ({
      id: `rules/${index + 1}`,
      op: rule.op,
      match,
      effect: rule.effect,
      remedy: '',
      ...(rule.when === undefined ? {} : { when: rule.when }),
    }))
    const layer = await compileLayer({ name: '', source: { kind: 'machine' }, rules }, true, means)
    return exampleFaults(rule, layer, path, context)
  } catch (error) {
    return [[[...path, 'when'], messageOf(error)]]
  }
}

function exampleFaults(
  { op, examples }: WrittenRule,
  layer: Layer,
  path: readonly PropertyKey[],
  context: PathContext,
): readonly Fault[] {
  const matches = (example: Example): boolean =>
    layer.byOperation[op].some(
      ({ speaksOf, holds }) => speaksOf(example.demand) && (holds === null || holds(example.parameters)),
    )
  return (['match', 'not_match'] as const).flatMap((kind) =>
    examples[kind].flatMap((given, at): readonly Fault[] => {
      const where = [...path, 'examples', kind, at]
      const example = exampleOf(op, given, context)
      const shown = JSON.stringify(given)
      // Without a project nothing can be said of what lies in it.
      if (example === null)
        return context.projectPath === null && op !== 'exec'
          ? []
          : [[where, `the example ${shown} is no ${op}`]]
      if (matches(example) === (kind === 'match')) return []
      return [[where, `the example ${shown} ${kind === 'match' ? 'does not match' : 'matches'}`]]
    }),
  )
}
