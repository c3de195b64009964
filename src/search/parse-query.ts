import { isTelling } from './telling.ts'
import { serverName } from '../shared/groups.ts'
import { LIMITS } from '../shared/limits.ts'
import { pairsOf } from '../shared/pairs.ts'
import type { ToolType } from '../shared/tool-type.ts'
import { TOOL_TYPES } from '../shared/tool-type.ts'
import type { SpaceName } from '../store/store.ts'

/** What a query asks for: words to rank by, and what its modifiers narrow it to. */
export interface Query {
  readonly words: readonly string[]
  readonly spaces: readonly SpaceName[] | null
  readonly toolTypes: readonly ToolType[]
  readonly tags: readonly string[]
  /** One server, as people say it; null = all. */
  readonly server: string | null
}

/** Servers and what they offer. */
export const MCP_TYPES: readonly ToolType[] = ['mcp_server', 'mcp_tool']

const MODIFIER = /^(mcp|local|type|in|tag):(\S+)$/i
const SPACES_BY_WORD: ReadonlyMap<string, readonly SpaceName[]> = new Map([
  ['project', ['project']],
  ['user', ['user']],
  ['local', ['project', 'user']],
  ['builtin', ['builtin']],
  ['registry', ['builtin', 'registry']],
  ['mcp', ['mcp']],
])

/** Spaces that a word such as `local` or `registry` stands for; null for one that names none. */
export function spacesOf(word: string): readonly SpaceName[] | null {
  return SPACES_BY_WORD.get(word) ?? null
}

/** A query as somebody would say it, without its modifiers. */
export function spokenIn(text: string): string {
  const parts = text.split(/\s+/).filter((part) => part !== '' && !MODIFIER.test(part))
  return parts.join(' ')
}

interface Modifier {
  readonly name: string
  readonly value: string
}

/** A modifier, and a type, may be written in any case. */
function modifierIn(part: string): Modifier | null {
  const [, given, value] = MODIFIER.exec(part) ?? []
  if (given === undefined || value === undefined) return null
  const name = given.toLowerCase()
  return { name, value: name === 'type' ? value.toLowerCase() : value }
}

/** What of a query narrows it to nothing that there could be, for whoever finds nothing. */
export function strangeModifiers(text: string, languages: readonly string[]): readonly string[] {
  return text.split(/\s+/).flatMap((part) => {
    const { name, value = '' } = modifierIn(part) ?? {}
    if (name === 'in' && spacesOf(value) === null)
      return [`in:${value} names no space: use ${[...SPACES_BY_WORD.keys()].join(', ')}`]
    const isType = value === 'mcp' || languages.includes(value) || TOOL_TYPES.some((type) => type === value)
    return name === 'type' && !isType
      ? [`type:${value} is no type of item: use ${[...TOOL_TYPES, ...languages].join(', ')}`]
      : []
  })
}

/** Takes the modifiers out of a query; a repeated one: the last wins. The rest is text, cut into words. */
export function parseQuery(text: string): Query {
  const given = new Map<string, string>()
  const rest: string[] = []
  for (const part of text.split(/\s+/)) {
    const { name, value } = modifierIn(part) ?? {}
    // A space there is none of cannot narrow anything: it is text like the rest.
    const isModifier = name !== undefined && (name !== 'in' || spacesOf(value ?? '') !== null)
    if (isModifier && value !== undefined) given.set(name, value)
    else rest.push(part)
  }
  const server = given.get('mcp')
  const kind = kindOf(given.get('type'))
  const tag = given.get('tag')
  return {
    words: wordsOf(rest.join(' ')),
    spaces: spacesOf(given.has('local') ? 'local' : (given.get('in') ?? '')),
    toolTypes: server === undefined ? kind.toolTypes : MCP_TYPES,
    tags: [...kind.tags, ...(tag === undefined ? [] : [tag])],
    server: server === undefined || server === '*' ? null : serverName(server),
  }
}

/** A type of tool, `mcp` for the tools of servers, or the language of a script. */
function kindOf(type: string | undefined): Pick<Query, 'toolTypes' | 'tags'> {
  if (type === undefined) return { toolTypes: [], tags: [] }
  const known = TOOL_TYPES.find((candidate) => candidate === (type === 'mcp' ? 'mcp_tool' : type))
  return known === undefined ? { toolTypes: ['script'], tags: [type] } : { toolTypes: [known], tags: [] }
}

/** Lower case, identifiers split, stop words out unless nothing else is there, bounded in number. */
export function wordsOf(text: string): readonly string[] {
  const words = text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
  const telling = words.filter(isTelling)
  const once = [...new Set(telling.length > 0 ? telling : words)].slice(0, LIMITS.queryWords)
  return [...new Set(once.flatMap(withPairs))].slice(0, LIMITS.queryWords)
}

function withPairs(word: string): readonly string[] {
  return [word, ...pairsOf(word)]
}
