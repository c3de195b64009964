import { isOurName, serverName } from '../../shared/groups.ts'
import type { Directive, WantedServer } from '../../spaces/directive/model.ts'
import type { Lookup } from '../../spaces/lookup.ts'

interface Settled {
  /** Without names that cannot be given. */
  readonly directive: Directive
  readonly aliases: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
}

/** Names that a directive gives to servers for its own calls: none that stands for something already. */
export async function settleAliases(directive: Directive, lookup: Lookup): Promise<Settled> {
  const { servers } = directive.wanted
  const aliases = new Map<string, string>()
  const warnings: string[] = []
  const settled: WantedServer[] = []
  for (const server of servers) {
    const { name, alias } = server
    const fault = alias === null ? null : await faultOf(alias, aliases, directive, lookup)
    if (alias !== null && fault === null) aliases.set(alias, serverName(name))
    if (fault !== null) {
      const given = directive.dialect === 'xml' ? `alias="${alias}"` : `"alias: ${alias}"`
      warnings.push(`${given} of "${name}" is ignored: ${fault}`)
    }
    settled.push(fault === null ? server : { ...server, alias: null })
  }
  return {
    directive: { ...directive, wanted: { ...directive.wanted, servers: settled } },
    aliases: Object.fromEntries(aliases),
    warnings,
  }
}

async function faultOf(
  alias: string,
  taken: ReadonlyMap<string, string>,
  { wanted: { servers } }: Directive,
  lookup: Lookup,
): Promise<string | null> {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(alias)) return 'use letters, digits, "_" and "-"'
  if (isOurName(alias, 'mcp_server')) return 'the name is reserved'
  if (taken.has(alias)) return 'another server has it already'
  const isServer = servers.some(({ name }) => name === alias) || (await lookup.serverFor(alias)) !== null
  return isServer ? 'a server is called so' : null
}
