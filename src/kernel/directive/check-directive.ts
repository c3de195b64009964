import { KiwiError } from '../../shared/errors.ts'
import { GROUPS, serverName } from '../../shared/groups.ts'
import { readExtended } from '../../spaces/directive/extend.ts'
import type { Directive } from '../../spaces/directive/model.ts'
import type { Item } from '../../spaces/item.ts'
import type { Lookup } from '../../spaces/lookup.ts'
import type { Permissions } from '../policy/compile-permissions.ts'
import { compilePermissions } from '../policy/compile-permissions.ts'
import type { Excess } from './excess.ts'
import { excessOf } from './excess.ts'

/** What is known of a directive before anybody runs it. */
export interface CheckedDirective {
  readonly directive: Directive
  readonly granted: Permissions
  /** Wanted, and not granted. */
  readonly excess: readonly Excess[]
  /** Servers it names that nobody has configured. */
  readonly unknownServers: readonly string[]
}

interface CheckMeans {
  readonly lookup: Lookup
  readonly home: string
}

/** Reads a directive with all it is built on, and holds what it wants against what it grants. */
export async function checkDirective(item: Item, means: CheckMeans): Promise<CheckedDirective> {
  const { lookup, home } = means
  const { directive } = await readExtended(item, (ref, by) => lookup.baseOf(by, ref))
  const { name, wanted, permissions } = directive
  await lookup.syncIndex()
  const known = (await lookup.servers()).map((server) => server.name)
  const named = wanted.servers.map((server) => serverName(server.name))
  const context = { directive: name, projectPath: lookup.projectPath, home }
  const servers = new Set([...known, ...named])
  const granted = compilePermissions(permissions ?? undefined, { ...context, servers })
  return {
    directive,
    granted,
    excess: excessOf(wanted, granted.permissions, context),
    unknownServers: named.filter(
      (server) => !known.includes(server) && !GROUPS.some((group) => group === server),
    ),
  }
}

/** What nobody should vouch for: a directive that cannot be read, or that wants more than it grants. */
export async function assertDirective(item: Item, action: string, means: CheckMeans): Promise<void> {
  if (item.manifest.tool_type !== 'directive') return
  const { excess, directive } = await checkDirective(item, means)
  // What a skill asks for was written for another client: it is proposed to a person, and held against nobody.
  if (excess.length === 0 || directive.dialect === 'skill') return
  const wanted = excess.map((one) => one.wanted).join(', ')
  const lines = [...new Set(excess.map(({ required }) => required))]
  throw new KiwiError(
    'VALIDATION_FAILED',
    `Cannot ${action} "${item.id}": its tools go beyond its permissions: ${wanted}`,
    { hint: `Add to <permissions>: ${lines.join(' ')}`, details: { excess, required: lines } },
  )
}
