import type { ToolType } from './tool-type.ts'

/** Groups of tools that are shipped and that policies speak of by name: nobody else can be called so. */
export const GROUPS = ['filesystem', 'shell', 'git'] as const

const RESERVED: ReadonlySet<string> = new Set([...GROUPS, 'kiwi', 'kiwi-mcp', 'code'])

/** The tools that every client sees. */
const META_TOOLS: ReadonlySet<string> = new Set(['search', 'load', 'execute', 'help'])

export function isMetaTool(name: string): boolean {
  return META_TOOLS.has(name)
}

/** Whether nobody but us may be called so. Documents have names of their own. */
export function isOurName(id: string, toolType: ToolType): boolean {
  if (toolType === 'knowledge') return false
  return META_TOOLS.has(id) || RESERVED.has(id.split('.', 1)[0] ?? id)
}

/** `github`, `mcp_github` and `github_mcp` are said of one server. */
export function plainName(name: string): string {
  return name.replace(/^(?:mcp_)+(?=.)/, '').replace(/(?<=.)(?:_mcp)+$/, '')
}

/** The name of a server as people and policies say it: `mcp_github` is `github`; `mcp_filesystem` stays, as filesystem is ours. */
export function serverName(id: string): string {
  const name = plainName(id)
  return RESERVED.has(name) && name !== id ? `mcp_${name}` : name
}

/** The server that an item is or belongs to, as people say it; null for what has none. */
export function serverOf(toolType: ToolType, id: string, executor: string | null): string | null {
  if (toolType === 'mcp_server') return serverName(id)
  return toolType === 'mcp_tool' && executor !== null ? serverName(executor) : null
}

/** The group an id belongs to: its own name, or what stands before its first dot. */
export function groupOf(id: string): (typeof GROUPS)[number] | undefined {
  return GROUPS.find((group) => id === group || id.startsWith(`${group}.`))
}
