import { join } from 'node:path'
import type { JsonObject } from '../../shared/json.ts'

/** A client that keeps its servers in a file. */
export interface KnownClient {
  readonly name: string
  /** Its file below a project; null for one that knows no projects. */
  readonly inProject: string | null
  /** Its file below the home of a person: one for all systems, or one each for Linux, macOS and Windows. */
  readonly inHome: readonly [string] | readonly [linux: string, mac: string, windows: string]
  /** Other files that it reads as well, below a project or the home. */
  readonly besides?: readonly string[]
  /** Where servers stand in the file. */
  readonly key: 'mcpServers' | 'servers' | 'mcp_servers' | 'mcp'
  /** A server that is started by a command, as this client writes it. */
  readonly entry: (command: string, args: readonly string[]) => JsonObject
}

const plain: KnownClient['entry'] = (command, args) => ({ command, args })
const typed: KnownClient['entry'] = (command, args) => ({ type: 'stdio', command, args })

/** In the order in which their servers are taken over. */
export const CLIENTS: readonly KnownClient[] = [
  { name: 'claude-code', inProject: '.mcp.json', inHome: ['.claude.json'], key: 'mcpServers', entry: typed },
  {
    name: 'claude-desktop',
    inProject: null,
    inHome: [
      '.config/Claude/claude_desktop_config.json',
      'Library/Application Support/Claude/claude_desktop_config.json',
      'AppData/Roaming/Claude/claude_desktop_config.json',
    ],
    key: 'mcpServers',
    entry: plain,
  },
  {
    name: 'cursor',
    inProject: '.cursor/mcp.json',
    inHome: ['.cursor/mcp.json'],
    key: 'mcpServers',
    entry: plain,
  },
  {
    name: 'vscode',
    inProject: '.vscode/mcp.json',
    inHome: [
      '.config/Code/User/mcp.json',
      'Library/Application Support/Code/User/mcp.json',
      'AppData/Roaming/Code/User/mcp.json',
    ],
    besides: [
      '.vscode/settings.json',
      '.config/Code/User/settings.json',
      'Library/Application Support/Code/User/settings.json',
      'AppData/Roaming/Code/User/settings.json',
      '.copilot/mcp-config.json',
    ],
    key: 'servers',
    entry: typed,
  },
  {
    name: 'codex',
    inProject: '.codex/config.toml',
    inHome: ['.codex/config.toml'],
    key: 'mcp_servers',
    entry: plain,
  },
  {
    name: 'gemini',
    inProject: '.gemini/settings.json',
    inHome: ['.gemini/settings.json'],
    key: 'mcpServers',
    entry: plain,
  },
  {
    name: 'opencode',
    inProject: 'opencode.json',
    inHome: ['.config/opencode/opencode.json'],
    besides: [
      'opencode.jsonc',
      '.opencode/opencode.json',
      '.opencode/opencode.jsonc',
      '.config/opencode/opencode.jsonc',
    ],
    key: 'mcp',
    entry: (command, args) => ({ type: 'local', command: [command, ...args], enabled: true }),
  },
]

export function isClientName(word: string): boolean {
  return CLIENTS.some(({ name }) => name === word)
}

/** Where these clients keep their servers, or all of them where none is named, the nearer first: below a project, and below the home of a person. */
export function clientPlaces(
  home: string,
  project: string | null,
  names: readonly string[] = [],
): readonly string[] {
  const clients = CLIENTS.filter(({ name }) => names.length === 0 || names.includes(name))
  const near = clients.flatMap(({ inProject, besides = [] }) => [
    ...(inProject === null ? [] : [inProject]),
    ...besides,
  ])
  const own = clients.flatMap(({ inHome, besides = [] }) => [...inHome, ...besides])
  const all = [
    ...(project === null ? [] : near.map((place) => join(project, place))),
    ...own.map((place) => join(home, place)),
  ]
  return [...new Set(all)]
}
