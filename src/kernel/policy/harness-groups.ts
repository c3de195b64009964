import type { HarnessFile } from '../../spaces/harness-file.ts'

type Groups = HarnessFile['internal_tools']
type Git = NonNullable<Groups['git']>
type Group = NonNullable<Groups['mcps']>[string]

/** Groups as they stand in a file: servers and git within `internal_tools`, at the top, or in both, which both apply. */
export function groupsOf({ internal_tools, mcps, git }: HarnessFile): Groups {
  return {
    ...internal_tools,
    mcps: either(internal_tools.mcps, mcps, joinServers),
    git: either(internal_tools.git, git, joinGit),
  }
}

function either<T>(inner: T | undefined, top: T | undefined, join: (inner: T, top: T) => T): T | undefined {
  return inner === undefined || top === undefined ? (inner ?? top) : join(inner, top)
}

function joinServers(
  inner: NonNullable<Groups['mcps']>,
  top: NonNullable<Groups['mcps']>,
): Groups['mcps'] & object {
  const both = Object.entries(top).map(([name, group]) => [
    name,
    either(ownOf(inner, name), group, joinGroup),
  ])
  return { ...inner, ...Object.fromEntries(both) }
}

function joinGit(inner: Git, top: Git): Git {
  return { ...joinGroup(inner, top), allowed: inner.allowed ?? top.allowed }
}

/** The stricter of what both say; that both name another rate is a fault of the file. */
function joinGroup(inner: Group, top: Group): Group {
  return {
    enabled: inner.enabled && top.enabled,
    rate_limit: inner.rate_limit ?? top.rate_limit,
    rate_limits: either(inner.rate_limits, top.rate_limits, (a, b) => ({ ...a, ...b })),
    require_approval: either(inner.require_approval, top.require_approval, (a, b) => [
      ...new Set([...a, ...b]),
    ]),
    approval_timeout: either(inner.approval_timeout, top.approval_timeout, Math.min),
  }
}

/** Where a file says at the top another rate, or another list of git, than within `internal_tools`. */
export function saidOtherwise({
  internal_tools,
  mcps = {},
  git,
}: HarnessFile): readonly (readonly string[])[] {
  const pairs = [
    [['git'], internal_tools.git, git],
    ...Object.entries(mcps).map(
      ([name, group]) => [['mcps', name], ownOf(internal_tools.mcps, name), group] as const,
    ),
  ] as const
  return pairs.flatMap(([path, inner, top]) => {
    const before = new Map(sayingsOf(inner))
    return sayingsOf(top)
      .filter(([key, said]) => (before.get(key) ?? said) !== said)
      .map(([key]) => [...path, ...key.split('\n')])
  })
}

function sayingsOf(group: Git | undefined): readonly (readonly [key: string, said: string])[] {
  const { rate_limit: rate, rate_limits: rates = {}, allowed } = group ?? {}
  return [
    ...(rate === undefined ? [] : [['rate_limit', rate] as const]),
    ...(allowed === undefined ? [] : [['allowed', allowed.join('\n')] as const]),
    ...Object.entries(rates).map(([name, said]) => [`rate_limits\n${name}`, said] as const),
  ]
}

function ownOf<T>(groups: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return groups !== undefined && Object.hasOwn(groups, name) ? groups[name] : undefined
}
