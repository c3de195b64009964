import { dirname } from 'node:path'
import type { ArgvPolicies } from '../../chain/shell/argv-policy.ts'
import { serverName } from '../../shared/groups.ts'
import type { Harness } from '../../spaces/harness.ts'
import { memberMatches } from './compile-harness.ts'
import { groupsOf } from './harness-groups.ts'
import { compileMatch } from './match.ts'
import type { Notice, Policy, RateLimit } from './policy.ts'
import { floorOf } from './sandbox-floor.ts'
import { readRate } from './rate-text.ts'
import type { Demand, Match } from './rule.ts'

type Settings = Omit<Policy, 'layers' | 'faults' | 'conflicts'>
type Read = Harness & { readonly content: NonNullable<Harness['content']> }

const APPROVAL_TIMEOUT = 3600

/** What files say besides rules, taken together: the stricter wins, so that a project can only tighten. */
export function settingsOf(files: readonly Harness[], policies: ArgvPolicies): Settings {
  const read = files.filter((file): file is Read => file.content !== null)
  return {
    files: files.map(({ place, path, content }) => ({
      place,
      path,
      mode: content?.mode ?? null,
      allowedMcps: content?.allowed_mcps ?? null,
      hasIdleNotices: content !== null && place === 'project' && Object.keys(content.notify).length > 0,
      unsent: content === null || place === 'project' ? [] : unsentIn(content),
    })),
    signatureRequiredBy: read.filter(requiresSignature).map(({ path }) => `"${path}" requires it`)[0] ?? null,
    rateLimits: read.flatMap((file) => rateLimitsOf(file, policies)),
    approvalTimeoutMs: (demand) => {
      const given = read.flatMap((file) => groupFor(file, demand)?.approval_timeout ?? [])
      return Math.min(...(given.length === 0 ? [APPROVAL_TIMEOUT] : given)) * 1000
    },
    notices: read.filter(({ place }) => place !== 'project').flatMap(noticesOf),
    sandbox: floorOf(read.flatMap(({ content }) => content.sandbox ?? [])),
    guardsOwn: read.some(({ place, content }) => place !== 'project' && content.sandbox?.level === 'off')
      ? null
      : read.filter(({ place }) => place === 'project').map(({ path }) => dirname(path)),
    callBudget: least(read.flatMap(({ content }) => content.budgets.tool_calls ?? [])),
    asksIrreversible: irreversible(read),
    onSecret:
      (['block', 'redact'] as const).find((one) => read.some(({ content }) => content.secrets === one)) ??
      'flag',
  }
}

function irreversible(read: readonly Read[]): Policy['asksIrreversible'] {
  const found = read.find(({ content }) => content.irreversible === 'ask')
  return found === undefined ? null : { place: found.place, path: found.path }
}

/** Only the machine and the person may do without signatures in proxy mode. */
function requiresSignature({ place, content: { mode, require_signature: wanted } }: Read): boolean {
  return wanted === true || (mode === 'proxy' && !(wanted === false && place !== 'project'))
}

function least(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.min(...values)
}

function rateLimitsOf({ place, path, content }: Read, policies: ArgvPolicies): readonly RateLimit[] {
  const { mcps = {}, ...groups } = groupsOf(content)
  const named = [
    ...Object.entries(groups).map(([server, group]) => [server, server, group] as const),
    ...Object.entries(mcps).map(([server, group]) => [server, `mcps.${server}`, group] as const),
  ]
  return named.flatMap(([server, key, group]) => {
    const texts = [
      [
        `${place}/${key}/rate_limit`,
        group?.rate_limit ?? '',
        speaker([{ kind: 'tool', server }], policies),
      ] as const,
      ...Object.entries(group?.rate_limits ?? {}).map(([name, text]) => {
        const matches = memberMatches(server, name).map(({ match }) => match)
        return [`${place}/${key}/rate_limits/${name}`, text, speaker(matches, policies)] as const
      }),
    ]
    return texts.flatMap(([id, text, speaksOf]) => {
      const rate = readRate(text)
      return rate === null ? [] : [{ id, file: path, speaksOf, ...rate }]
    })
  })
}

/**
 * A limit is meant like a refusal: of a program also where another one starts it. What a server is asked for its list is no
 * call of an agent: every process does so by itself.
 */
function speaker(matches: readonly Match[], policies: ArgvPolicies): RateLimit['speaksOf'] {
  const speaking = matches.map((match) => compileMatch(match, policies, 'deny'))
  return (demand) => !isListing(demand) && speaking.some((speaksOf) => speaksOf(demand))
}

function isListing(demand: Demand): boolean {
  return demand.op === 'tool' && demand.action === 'list'
}

function groupFor(
  { content }: Read,
  demand: Demand,
): { readonly approval_timeout?: number | undefined } | undefined {
  const { filesystem, shell, git, mcps = {} } = groupsOf(content)
  switch (demand.op) {
    case 'read':
    case 'write':
      return filesystem
    case 'exec':
      return shell
    case 'tool': {
      const servers = Object.entries(mcps).map(([name, group]) => [serverName(name), group] as const)
      const named = new Map([...servers, ...Object.entries({ filesystem, shell, git })])
      return named.get(demand.of?.server ?? '')
    }
    case 'net':
    case 'spawn':
      return undefined
  }
}

function unsentIn({ notify: { email, desktop } }: Read['content']): readonly string[] {
  return [...(email === undefined ? [] : ['email']), ...(desktop === true ? ['desktop'] : [])]
}

function noticesOf({ content: { notify } }: Read): readonly Notice[] {
  const { desktop, ...addresses } = notify
  const sent = (['webhook', 'slack', 'email'] as const).flatMap((kind) => {
    const to = addresses[kind]
    return to === undefined ? [] : [{ kind, to }]
  })
  return desktop === true ? [...sent, { kind: 'desktop', to: null }] : sent
}
