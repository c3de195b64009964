import { KiwiError } from '../../shared/errors.ts'
import { GROUPS, serverName } from '../../shared/groups.ts'
import { nameIn } from '../../spaces/directive/dialect.ts'
import { readExtended } from '../../spaces/directive/extend.ts'
import { isNarrowing } from '../../spaces/directive/wanted.ts'
import type { Directive } from '../../spaces/directive/model.ts'
import type { Item } from '../../spaces/item.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import type { Permissions } from '../policy/compile-permissions.ts'
import { compilePermissions } from '../policy/compile-permissions.ts'
import type { PathContext } from '../policy/expand-path.ts'
import { missingGrant } from '../policy/missing-grant.ts'
import type { Demand, Rule, Verdict, WantedLayer } from '../policy/rule.ts'
import { wantedLayer } from '../policy/wanted-layer.ts'
import type { CallFault } from './check-calls.ts'
import { checkCalls } from './check-calls.ts'
import type { Excess } from './excess.ts'
import { excessOf, judgeOf, requiredFor } from './excess.ts'
import { idleGrants } from './idle-grants.ts'
import { settleAliases } from './settle-aliases.ts'
import { unmatchedGrants } from './unmatched-grants.ts'

/** What is known of a directive before anybody runs it. */
export interface CheckedDirective {
  readonly directive: Directive
  readonly granted: Permissions
  /** Wanted, and not granted. */
  readonly excess: readonly Excess[]
  /** Granted, and of no use: it says that it will use other things. */
  readonly idle: readonly string[]
  /** Granted, and of nothing that is there. */
  readonly unmatched: readonly string[]
  /** Names it gives to servers, and cannot. */
  readonly unnamed: readonly string[]
  /** Servers it names that nobody has configured. */
  readonly unknownServers: readonly string[]
  /** Calls of its steps, and tools it names, that it could not use. */
  readonly calls: readonly CallFault[]
}

interface CheckMeans {
  readonly lookup: Lookup
  readonly home: string
}

/** Reads a directive with all it is built on, and holds what it wants against what it grants. */
export async function checkDirective(item: Item, means: CheckMeans): Promise<CheckedDirective> {
  const { lookup, home } = means
  const { directive } = await readExtended(item, (ref, by) => lookup.baseOf(by, ref))
  const { name, dialect, wanted, permissions } = directive
  await lookup.syncIndex()
  const known = (await lookup.servers()).map((server) => server.name)
  const named = wanted.servers.map((server) => serverName(server.name))
  const context = { directive: name, dialect, projectPath: lookup.projectPath, home }
  const servers = new Set([...known, ...named])
  const { directive: settled, warnings: unnamed } = await settleAliases(directive, lookup)
  const granted = compilePermissions(permissions ?? undefined, { ...context, servers })
  const layer = narrowingOf(settled, context)
  return {
    directive,
    granted,
    unnamed,
    excess: excessOf(wanted, granted.permissions, context),
    calls: await checkCalls(settled, { lookup, refusalOf: refusals(settled, granted.permissions, layer) }),
    unmatched: await unmatchedGrants(granted.permissions, lookup),
    idle: layer === null ? [] : idleGrants(granted.permissions, settled.wanted, judgeOf(layer.rules)),
    unknownServers: named.filter(
      (server) => !known.includes(server) && !GROUPS.some((group) => group === server),
    ),
  }
}

/** What it says it will use, as the layer that it becomes; null where it says nothing. */
function narrowingOf({ name, dialect, wanted }: Directive, context: PathContext): WantedLayer | null {
  if (!isNarrowing(wanted)) return null
  return wantedLayer(wanted, { ...context, directive: name, dialect, aliases: {} })
}

/** What its own words say of a call: its permissions, and what it says it will use. */
function refusals(
  { name, dialect, wanted }: Directive,
  rules: readonly Rule[],
  layer: WantedLayer | null,
): (demand: Demand) => Pick<Verdict, 'remedy' | 'required'> | null {
  const isGranted = judgeOf(rules)
  const isWanted = layer === null ? null : judgeOf(layer.rules)
  return (demand) => {
    const isScript = demand.op === 'tool' && demand.of === undefined && wanted.scripts.includes(demand.id)
    if (!isScript && !isGranted(demand)) {
      const required = requiredFor(demand, { directive: name, dialect })
      return { required, remedy: `add ${required} to ${nameIn(dialect, 'permissions')}` }
    }
    if (layer === null || isWanted?.(demand) !== false) return null
    const { required } = missingGrant(layer, demand, [demand])
    return { required, remedy: `add ${required ?? 'it'} to ${nameIn(dialect, 'tools')}` }
  }
}

/** What nobody should vouch for: a directive that cannot be read, or that wants more than it grants. */
export async function assertDirective(
  item: Item,
  action: string,
  means: CheckMeans,
): Promise<readonly string[]> {
  if (item.manifest.tool_type !== 'directive') return []
  const { excess, directive, calls, unmatched, unnamed } = await checkDirective(item, means)
  // What a skill asks for was written for another client: it is proposed to a person, and held against nobody.
  if (directive.dialect === 'skill') return []
  if (excess.length > 0) {
    const wanted = excess.map((one) => one.wanted).join(', ')
    const lines = [...new Set(excess.map(({ required }) => required))]
    throw new KiwiError(
      'VALIDATION_FAILED',
      `Cannot ${action} "${item.id}": its tools go beyond its permissions: ${wanted}`,
      {
        hint: `Add to ${nameIn(directive.dialect, 'permissions')}: ${lines.join(' ')}`,
        details: { excess, required: lines },
      },
    )
  }
  const refused = calls.filter(({ required }) => required !== null)
  if (refused.length > 0)
    throw new KiwiError(
      'VALIDATION_FAILED',
      `Cannot ${action} "${item.id}": ${refused.map(({ said }) => said).join('; ')}`,
      {
        hint: 'Add what is missing, or remove the calls',
        details: { calls: refused, required: [...new Set(refused.map(({ required }) => required))] },
      },
    )
  // What is not there now may be there where it is run.
  return [
    ...directive.findings.map(({ line, column, message }) => `${line}:${column}: ${message}`),
    ...unnamed,
    ...calls.map(({ said }) => said),
    ...unmatched,
  ]
}
