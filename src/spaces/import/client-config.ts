import { basename, dirname, join, resolve } from 'node:path'
import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import { leadsOutTo, realPathOf, statOf } from '../disk.ts'
import { parseValue } from '../parse-document.ts'
import { parseToml } from '../parse-toml.ts'
import { decodeText, readRegularFile } from '../read-file.ts'
import { readJson } from '../read-json.ts'
import { SERVER_NAME } from '../server-entry.ts'
import type { ServerEntry } from '../server-entry.ts'
import type { Client } from './client-entry.ts'
import { isKiwi, toEntry } from './client-entry.ts'
import { CLIENTS } from './clients.ts'
import type { Dialect, Inputs } from './client-variables.ts'
import { readInputs, takeVariables } from './client-variables.ts'
import { takeEnvFile } from './env-file.ts'
import { namesIn, refusedInClaude } from './switched-off.ts'
import { withoutComments } from './without-comments.ts'

/** One server of the config of another client, as it would be one of ours. */
export interface ClientServer {
  readonly name: string
  readonly from: string
  readonly entry: ServerEntry | null
  /** Why it is left out. */
  readonly reason: string | null
  /** Secrets that the client would have asked for. */
  readonly asked: readonly string[]
  readonly notes: readonly string[]
}

const NAMES: ReadonlySet<string> = new Set([
  '.mcp.json',
  'mcp.json',
  'mcp-config.json',
  'claude_desktop_config.json',
  '.claude.json',
  'opencode.json',
  'opencode.jsonc',
])
const WITHIN: ReadonlySet<string> = new Set([
  '.codex/config.toml',
  '.gemini/settings.json',
  '.vscode/settings.json',
  'User/settings.json',
])

/** Whose configs these are, and which project of theirs. */
export interface Whose {
  readonly home: string
  readonly project: string | null
}

/** Whether a file is the config of a client by its name. */
export function isClientConfig(path: string): boolean {
  const name = basename(path)
  const within = `${basename(dirname(path))}/${name}`
  return NAMES.has(name) || WITHIN.has(within)
}

/** Reads the servers of one config, for this project. Nothing of it is run; what is wrong with one loses no other. */
export async function readClientConfig(path: string, whose: Whose): Promise<readonly ClientServer[]> {
  const { project } = whose
  if (statOf(path) === null) {
    throw new KiwiError('NOT_FOUND', `Cannot import "${path}": there is no such file`, {
      hint: `Correct the path, name a client (${CLIENTS.map(({ name }) => name).join(', ')}), or leave it out: kiwi import mcp looks where all of them keep their servers`,
    })
  }
  const text = decodeText(readRegularFile(behindLinks(path, project), LIMITS.bundleBytes).bytes, path)
  const value = path.endsWith('.toml') ? await parseToml(text, path) : await parseJson(text, path, project)
  const found = isJsonObject(value) ? rootsIn(value, path, whose) : []
  if (found.length === 0) {
    throw new KiwiError('INVALID_PARAMETERS', `Cannot import "${path}": no servers stand in it`, {
      hint: 'Give a config with mcpServers, servers, mcp_servers or mcp in it',
      details: { missing: [], invalid: [{ name: 'path', reason: 'no config of servers' }] },
    })
  }
  return found.flatMap(({ servers, ...how }) =>
    Object.entries(servers).map(([name, given]) => readServer(name, given, { path, project, ...how })),
  )
}

/** People keep their configs elsewhere, and links to them; what comes with a project leads nowhere else. */
function behindLinks(path: string, project: string | null): string {
  const isBelow = project !== null && path.startsWith(join(project, '/'))
  if (!isBelow || leadsOutTo(path, project) === null) return realPathOf(path) ?? path
  throw new KiwiError('PARSE_ERROR', `Cannot read "${path}": a link leads out of the project`, {
    hint: 'Name the file that it leads to, if that is what you mean',
  })
}

/** Only the part that holds servers is looked at: the rest of these files is the client's. */
async function parseJson(text: string, path: string, project: string | null): Promise<JsonValue> {
  const bare = withoutComments(text)
  try {
    const whole: unknown = JSON.parse(bare)
    const roots = ['mcpServers', 'servers', 'mcp', 'inputs']
    if (!isJsonObject(whole)) return null
    const own = Object.entries(whole).filter(([key]) => roots.includes(key))
    const part = { ...Object.fromEntries(own), ...partFor(whole['projects'], project) }
    return (await parseValue(JSON.stringify(part), path)).value
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    // YAML would take what is no JSON for something else, such as the backslashes of a path.
    if (/\.jsonc?$/.test(path) && bare.trim() !== '') readJson(text, path)
    return (await parseValue(bare, path)).value
  }
}

/** One client keeps servers for each project in the file of the person. */
function partFor(projects: JsonValue | undefined, project: string | null): JsonObject {
  if (!isJsonObject(projects)) return {}
  const names = project === null ? [] : [project, realPathOf(project) ?? project]
  const found = names.map((name) => projects[name]).find((value) => isJsonObject(value))
  const { mcpServers: servers, disabledMcpServers: off = [] } = isJsonObject(found) ? found : {}
  const near = project === null || !isJsonObject(servers) ? {} : { [project]: servers }
  return { projects: near, disabledMcpServers: off }
}

interface Root {
  readonly servers: JsonObject
  readonly client: Client
  readonly dialect: Dialect
  /** What relative paths start from. */
  readonly folder: string
  readonly inputs: Inputs
  /** Names of servers that are switched off beside where they stand. */
  readonly isOff: (name: string) => boolean
}

/** The nearer first: what is for this project alone. */
function rootsIn(value: JsonObject, path: string, whose: Whose): readonly Root[] {
  const { inputs, mcp, projects, disabledMcpServers } = value
  const { project } = whose
  const beside = isJsonObject(mcp) ? mcp : {}
  const common = { inputs: readInputs(inputs ?? beside['inputs']) }
  const root = rootIn(value, path)
  const own =
    root === null
      ? []
      : [{ ...common, ...root, folder: folderOf(path), isOff: offIn(path, root.client, beside, whose) }]
  if (!isJsonObject(projects)) return own
  const given = project === null ? undefined : projects[project]
  const servers = isJsonObject(given) ? given : {}
  const off = new Set(namesIn(disabledMcpServers))
  const near = { servers, client: 'usual', dialect: 'usual', folder: project ?? folderOf(path) } as const
  // Those of all projects may be off in this one, and stay on in the others.
  return [{ ...common, ...near, isOff: (name) => off.has(name) }, ...own]
}

/** What clients say beside where a server stands. */
function offIn(path: string, client: Client, beside: JsonObject, { home, project }: Whose): Root['isOff'] {
  if (client === 'gemini') {
    const { excluded, allowed } = beside
    return (name) => (Array.isArray(allowed) && !allowed.includes(name)) || namesIn(excluded).includes(name)
  }
  if (project === null || path !== join(project, '.mcp.json')) return () => false
  const refused = refusedInClaude(home, project)
  return (name) => refused.has(name)
}

/** The folder that a config is for. */
function folderOf(path: string): string {
  const folder = dirname(path)
  return /^\.(?:cursor|vscode|codex|gemini|opencode|copilot)$/.test(basename(folder))
    ? dirname(folder)
    : folder
}

type Found = Pick<Root, 'servers' | 'client' | 'dialect'>

function rootIn({ mcpServers, servers, mcp_servers: codex, mcp }: JsonObject, path: string): Found | null {
  if (isJsonObject(codex)) return { servers: codex, client: 'codex', dialect: 'none' }
  if (isJsonObject(mcpServers)) {
    if (path.includes('.gemini/')) return { servers: mcpServers, client: 'gemini', dialect: 'dollar' }
    const dialect = basename(path) === 'claude_desktop_config.json' ? 'none' : 'usual'
    return { servers: mcpServers, client: 'usual', dialect }
  }
  if (isJsonObject(servers)) return { servers, client: 'usual', dialect: 'usual' }
  if (!isJsonObject(mcp) || path.includes('.gemini/')) return null
  const nested = mcp['servers']
  const isNested = isJsonObject(nested) && nested['type'] === undefined && nested['command'] === undefined
  if (basename(path) === 'settings.json')
    return isNested ? { servers: nested, client: 'usual', dialect: 'usual' } : null
  const own = isNested ? withTimes(nested, mcp['timeout']) : mcp
  return { servers: own, client: 'opencode', dialect: 'usual' }
}

/** What one client says once counts for every server that does not say otherwise. */
function withTimes(servers: JsonObject, times: JsonValue | undefined): JsonObject {
  if (!isJsonObject(times)) return servers
  const { catalog: _catalog, ...common } = times
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => {
      if (!isJsonObject(server)) return [name, server]
      const own = server['timeout']
      return [name, { ...server, timeout: { ...common, ...(isJsonObject(own) ? own : {}) } }]
    }),
  )
}

interface Read extends Omit<Root, 'servers'> {
  readonly path: string
  readonly project: string | null
}

function readServer(
  given: string,
  raw: JsonValue,
  { path, project, client, dialect, folder, inputs, isOff }: Read,
): ClientServer {
  const name = given.replaceAll(/[^A-Za-z0-9_-]+/g, '-').replaceAll(/^-+|-+$/g, '')
  const base = { name, from: path, entry: null, asked: [], notes: [] }
  if (!SERVER_NAME.test(name)) return { ...base, name: given, reason: 'its name cannot be one of a server' }
  if (!isJsonObject(raw)) return { ...base, reason: 'it is not an object' }
  const { value, asked, open, left } = takeVariables(raw, dialect, inputs)
  const whole = takeEnvFile(isJsonObject(value) ? value : {}, { folder, project })
  const read = toEntry(whole.entry, client)
  const notes = [
    ...(name === given ? [] : [`called "${given}" there`]),
    ...open.map((input) => `\${${input}:-} was asked for there and is no secret: write it in its place`),
    ...left.map((text) => `${text} is nothing that Kiwi knows: kept as text`),
    ...whole.notes,
    ...(read.left.length === 0 ? [] : [`left out: ${read.left.join(', ')}`]),
  ]
  if (read.entry === null) return { ...base, notes, reason: read.reason }
  if (isKiwi(name, read.entry)) return { ...base, notes, reason: 'it is Kiwi itself' }
  const entry = inFolder(read.entry, folder)
  if (!isOff(given)) return { name, from: path, entry, reason: null, asked, notes }
  const off = [...notes, 'switched off there']
  return { name, from: path, entry: { ...entry, enabled: false }, reason: null, asked, notes: off }
}

/** A path that starts from nowhere else. */
const WHOLE = /^(?:[/~]|\$\{|[A-Za-z]:)/

/** Relative paths mean the folder that the config was for, wherever the entry is kept now. */
function inFolder(entry: ServerEntry, folder: string): ServerEntry {
  const { cwd, command } = entry
  const at = cwd !== undefined && !WHOLE.test(cwd) ? resolve(folder, cwd) : cwd
  const isBeside = command !== undefined && /^\.{1,2}\//.test(command) && (at ?? '/').startsWith('/')
  return {
    ...entry,
    ...(at === undefined ? {} : { cwd: at }),
    ...(isBeside ? { command: resolve(at ?? folder, command) } : {}),
  }
}
