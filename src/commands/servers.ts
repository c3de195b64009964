import { ERRORS } from '../shared/errors.ts'
import type { KnownServer } from './known-servers.ts'
import { knownServers } from './known-servers.ts'
import { openTerminal, printable, table } from './terminal.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

/** `kiwi servers`: the MCP servers there are here, and what each needs. */
export function serversCommand(options: CommonOptions): Promise<number> {
  return withKiwi(options, async (session) => {
    const terminal = openTerminal()
    const { servers, faults } = await knownServers(session)
    for (const fault of faults) terminal.note(printable(fault))
    const code = faults.length === 0 ? 0 : ERRORS.INVALID_CONFIG.exit
    if (options.json === true) {
      terminal.out(
        JSON.stringify(
          servers.map(({ words: _words, ...shown }) => shown),
          null,
          2,
        ),
      )
      return code
    }
    if (servers.length === 0) {
      if (code === 0)
        terminal.note('No server yet: kiwi add NAME -- command, kiwi add NAME URL, or kiwi import mcp')
      return code
    }
    terminal.out(table([['server', 'from', 'transport', 'trust', 'tools', 'state'], ...servers.map(rowOf)]))
    for (const { name, problem } of servers)
      if (problem !== null) terminal.note(printable(`${name}: ${problem.fix}`))
    for (const server of servers) if (server.quarantined > 0) terminal.note(printable(heldBack(server)))
    for (const { name, warnings } of servers)
      for (const warning of warnings) terminal.note(printable(`${name}: ${warning}`))
    return code
  })
}

function rowOf(server: KnownServer): readonly string[] {
  const { name, source, transport, trust, tools, quarantined } = server
  const count =
    tools === null ? 'not asked yet' : `${tools}${quarantined === 0 ? '' : `, ${quarantined} held back`}`
  return [name, source, transport, trust ?? 'broken', count, stateOf(server)]
}

function heldBack({ name, quarantined: count }: KnownServer): string {
  const [held, them] = count === 1 ? ['1 tool is', 'it'] : [`${count} tools are`, 'them']
  return `${name}: ${held} held back, kiwi trust ${name} shows ${them}`
}

function stateOf({ enabled, problem, last_error }: KnownServer): string {
  if (!enabled) return 'switched off'
  return problem?.message ?? last_error ?? 'ready'
}
