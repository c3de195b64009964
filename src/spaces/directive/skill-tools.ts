import type { JsonValue } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { WantedServer, WantedTools } from './model.ts'
import type { Note } from './note.ts'
import type { Position } from './position.ts'
import { NOTHING_WANTED } from './wanted.ts'

/** Tools of the clients that skills are written for, and what they do here. */
const KINDS: ReadonlyMap<string, 'read' | 'write' | 'shell'> = new Map([
  ['Read', 'read'],
  ['Grep', 'read'],
  ['Glob', 'read'],
  ['LS', 'read'],
  ['Write', 'write'],
  ['Edit', 'write'],
  ['MultiEdit', 'write'],
  ['Bash', 'shell'],
])

/** What `allowed-tools` of a skill asks for. It is a wish, and no grant. */
export function skillTools(given: JsonValue, place: Position, note: Note): WantedTools {
  const wanted = { read: new Set<string>(), write: new Set<string>(), shell: new Set<string>() }
  const seen = new Set<string>()
  const servers = new Map<string, string[]>()
  for (const [, name = '', inside = ''] of textIn(given).matchAll(/([^\s,()]+)(?:\(([^()]*)\))?/g)) {
    const kind = KINDS.get(name)
    const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? []
    if (kind !== undefined) {
      seen.add(kind)
      wanted[kind].add(kind === 'shell' ? programIn(inside) : inside === '' ? '**/*' : inside)
    } else if (server !== undefined && tool !== undefined) {
      const tools = servers.get(server)
      if (tools === undefined) servers.set(server, [tool])
      else tools.push(tool)
    } else {
      note(place, `"${name}" of allowed-tools has no counterpart here: kept, without effect`)
    }
  }
  return {
    ...NOTHING_WANTED,
    servers: [...servers].map(([name, tools]) => wantedServer(name, tools, place)),
    filesystem:
      seen.has('read') || seen.has('write') ? { read: [...wanted.read], write: [...wanted.write] } : null,
    // Whoever wants any program is held to what is granted alone.
    shell: seen.has('shell') && !wanted.shell.has('') ? [...wanted.shell] : null,
  }
}

function textIn(given: JsonValue): string {
  return Array.isArray(given) ? given.map(textOf).join(' ') : textOf(given)
}

/** `git:*`, `npm run test`: the program alone, as rights are granted by program. */
function programIn(inside: string): string {
  const [program = ''] = inside.trim().split(/[\s:]/)
  return program === '*' ? '' : program
}

function wantedServer(name: string, tools: readonly string[], { line }: Position): WantedServer {
  return { name, required: false, alias: null, proxy: true, refresh: false, tools, why: '', line }
}
