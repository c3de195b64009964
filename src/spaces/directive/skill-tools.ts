import type { JsonValue } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { WantedServer, WantedTools } from './model.ts'
import type { Note } from './note.ts'
import type { Position } from './position.ts'
import { NOTHING_WANTED } from './wanted.ts'

const READS: ReadonlySet<string> = new Set(['Read', 'Grep', 'Glob', 'LS'])
const WRITES: ReadonlySet<string> = new Set(['Write', 'Edit', 'MultiEdit'])

/** What `allowed-tools` of a skill asks for, in the words of the client it was written for. It is a wish, and no grant. */
export function skillTools(given: JsonValue, place: Position, note: Note): WantedTools {
  if (given === null) return NOTHING_WANTED
  const read: string[] = []
  const write: string[] = []
  const shell: string[] = []
  const servers = new Map<string, WantedServer>()
  for (const [, name = '', inside = ''] of textIn(given).matchAll(/([^\s,()]+)(?:\(([^()]*)\))?/g)) {
    const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? []
    if (READS.has(name)) read.push(inside === '' ? '**/*' : inside)
    else if (WRITES.has(name)) write.push(inside === '' ? '**/*' : inside)
    else if (name === 'Bash') shell.push(...commandOf(inside))
    else if (server !== undefined && tool !== undefined)
      servers.set(server, { ...server_(server, place.line), tools: [...(servers.get(server)?.tools ?? []), tool] })
    else note(place, `"${name}" of allowed-tools has no counterpart here: kept, without effect`)
  }
  return {
    ...NOTHING_WANTED,
    servers: [...servers.values()],
    filesystem: read.length + write.length === 0 ? null : { read: unique(read), write: unique(write) },
    shell: /\bBash\b/.test(textIn(given)) ? unique(shell) : null,
  }
}

function textIn(given: JsonValue): string {
  return Array.isArray(given) ? given.map(textOf).join(' ') : textOf(given)
}

/** `git:*`, `npm run test`: the program alone; rights are granted by program. */
function commandOf(inside: string): readonly string[] {
  const [program = ''] = inside.trim().split(/[\s:]/)
  return program === '' || program === '*' ? [] : [program]
}

function server_(name: string, line: number): WantedServer {
  return { name, required: false, alias: null, proxy: true, refresh: false, tools: [], why: '', line }
}

function unique(words: readonly string[]): readonly string[] {
  return [...new Set(words)]
}
