/** Another upstream, by the name a person gave it, with the tools it is known to have. */
export interface OtherServer {
  readonly name: string
  readonly tools: readonly string[]
}

/** What a text names of another server. */
interface Reference {
  readonly name: string
  /** No tool of the text's own server stands beside it. Those that do may be of a list that is not switched on whole. */
  readonly isAlone: boolean
}

interface Around {
  /** The tool whose text it is. */
  readonly self: string
  /** The tools that the text belongs to: naming them is what descriptions are for. */
  readonly own: ReadonlySet<string>
  readonly others: readonly OtherServer[]
  /** Words behind a dot that are no tools. */
  readonly endings: ReadonlySet<string>
}

/** `github.push` and `mcp__github__push`, not as a part of an address or a path. */
const DOTTED = /(?<![\w./@-])(?:mcp__)?([A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*?)(?:\.|__)([A-Za-z][\w-]+)/g
/** A name that is no word of a language: `create_issue`, `createIssue`. */
const NAMES = /(?<![\w./@-])[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+|[a-z][A-Z][A-Za-z0-9]*)+/g
const SHORTEST_NAME = 8

/** A tool of another server that a text names; null when there is none. */
export function referencesIn(text: string, { self, own, others, endings }: Around): Reference | null {
  if (others.length === 0) return null
  const servers = new Map(others.map(({ name, tools }) => [name.toLowerCase(), new Set(tools)]))
  for (const [whole, server = '', tool = ''] of text.matchAll(DOTTED)) {
    const tools = servers.get(server.toLowerCase())
    if (tools === undefined || own.has(whole)) continue
    // Of a server that was never listed any word could be a tool.
    if (tools.size > 0 ? tools.has(tool) : !endings.has(tool.toLowerCase()))
      return { name: whole, isAlone: true }
  }
  const tools = new Set([...servers.values()].flatMap((names) => [...names]))
  const names = [...text.matchAll(NAMES)].map(([name]) => name)
  const named = names.find((name) => name.length >= SHORTEST_NAME && tools.has(name) && !own.has(name))
  if (named === undefined) return null
  return { name: named, isAlone: !names.some((name) => name !== self && own.has(name)) }
}
