import { GROUPS } from '../../shared/groups.ts'
import { globFault, nameFault } from './glob.ts'

/** What is done with files, by the right it needs. */
export const FILE_OPERATIONS = {
  read: ['read', 'list', 'stat', 'search'],
  write: ['write', 'create', 'delete', 'move'],
} as const

/** How other servers call the same. */
const FILE_SPELLINGS: ReadonlyMap<string, string> = new Map([
  ['read_file', 'read'],
  ['read_text_file', 'read'],
  ['write_file', 'write'],
  ['edit_file', 'write'],
  ['list_directory', 'list'],
  ['create_file', 'create'],
  ['create_directory', 'create'],
  ['delete_file', 'delete'],
  ['move_file', 'move'],
  ['get_file_info', 'stat'],
  ['search_files', 'search'],
])

export function fileOperation(name: string): string {
  return FILE_SPELLINGS.get(name) ?? name
}

/** Why nothing that is done with files has this name, or null. */
export function fileOperationFault(name: string): string | null {
  if (/[*?]/.test(name)) return globFault(name)
  const known = Object.values(FILE_OPERATIONS).flat()
  return known.some((operation) => operation === fileOperation(name))
    ? null
    : `is no operation on files: ${known.join(', ')}`
}

/** What is shipped, by its server or group: why it has no tool of this name, or null. */
const SHIPPED: ReadonlyMap<string, (tool: string) => string | null> = new Map([
  ['filesystem', fileOperationFault],
  ['shell', (tool) => (tool === 'run' || /[*?]/.test(tool) ? null : 'is none of the shell: run')],
])

/** Why a server or group of our own has no tool of this name; null for those of others, of which nobody knows. */
export function toolFault(server: string, tool: string): string | null {
  return SHIPPED.get(server)?.(tool) ?? null
}

/** A tool of a server as it is called here. */
export function toolOf(server: string, tool: string): string {
  return server === 'filesystem' ? fileOperation(tool) : tool
}

/** Why no server or group can have this name, or null. */
export function serverFault(name: string): string | null {
  if (name.includes('.')) return 'holds a dot, which no server has in its name'
  if (name === 'kiwi' || name === 'kiwi-mcp' || name === 'code') return 'is no server: the name is reserved'
  return nameFault(name)
}

/** The same for what stands under `mcps`, where the groups do not belong. */
export function mcpFault(name: string): string | null {
  if (GROUPS.some((group) => group === name))
    return `is a group of its own: write internal_tools.${name}, or mcp_${name} for the server`
  return /[*?]/.test(name) ? 'is a pattern: name each server' : serverFault(name)
}
