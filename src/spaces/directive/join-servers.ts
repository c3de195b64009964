import { serverName } from '../../shared/groups.ts'
import type { WantedServer } from './model.ts'
import type { Note } from './note.ts'

/** A server that is named twice, as in `<mcps>` and `<tools>`, is wanted with all that is said of it. */
export function joinServers(servers: readonly WantedServer[], note: Note): readonly WantedServer[] {
  const joined = new Map<string, WantedServer>()
  for (const server of servers) {
    const key = serverName(server.name)
    const before = joined.get(key)
    joined.set(key, before === undefined ? server : join(before, server, note))
  }
  return [...joined.values()]
}

function join(first: WantedServer, second: WantedServer, note: Note): WantedServer {
  const { alias, line } = second
  if (alias !== null && first.alias !== null && alias !== first.alias)
    note(
      { line, column: 1 },
      `the server "${second.name}" has the alias "${first.alias}" since line ${first.line}: "${alias}" is left out`,
    )
  return {
    ...first,
    ...(second.isOfMcps === true ? { isOfMcps: true } : {}),
    required: first.required || second.required,
    refresh: first.refresh || second.refresh,
    proxy: first.proxy && second.proxy,
    alias: first.alias ?? alias,
    tools:
      first.tools === null || second.tools === null ? null : [...new Set([...first.tools, ...second.tools])],
    why: [first.why, second.why].filter((why) => why !== '').join(' '),
  }
}
