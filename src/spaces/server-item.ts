import { ItemName } from '../shared/ids.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Item } from './item.ts'
import { contentHash } from './item.ts'
import { readManifest } from './manifest.ts'
import { ServerEntry, serverId } from './server-entry.ts'

interface Origin {
  readonly name: string
  readonly space: 'project' | 'user'
  /** `mcp_registry.yaml#NAME`, with the whole path. */
  readonly path: string
  readonly updatedAt: string
}

/** The item that an entry of `mcp_registry.yaml` is, with all that it inherits. */
export function serverItem(entry: ServerEntry, { name, space, path, updatedAt }: Origin): Item {
  const raw = rawManifest(name, entry)
  const { manifest, warnings } = readManifest(raw, { stem: serverId(name), category: null })
  return {
    id: ItemName.parse(serverId(name)),
    space,
    form: 'entry',
    path,
    manifest,
    raw,
    text: null,
    contentHash: contentHash(raw, []),
    warnings,
    isReserved: false,
    updatedAt,
    filePaths: [],
    files: async () => [],
  }
}

/** Why nothing could be started or reached by it, or null. */
export function whyNoServer({ command, url, transport, type }: ServerEntry): string | null {
  const named = transport ?? type
  if (command !== undefined && url !== undefined) return 'has both "command" and "url": one of them'
  if (command === undefined && url === undefined)
    return 'has neither "command" nor "url", and no server of this name is shipped'
  if (named === 'stdio' && command === undefined) return 'is of type stdio and needs a "command"'
  if (named !== undefined && url !== undefined && isSocket(url) && !SOCKETS.has(named))
    return `is of type ${named}, and its "url" is one of a websocket: leave out the type, or begin with https://`
  return named !== undefined && named !== 'stdio' && url === undefined
    ? `is of type ${named} and needs a "url"`
    : null
}

const SOCKETS: ReadonlySet<string> = new Set(['websocket', 'ws'])

function isSocket(url: string): boolean {
  return /^wss?:/i.test(url)
}

/** A shipped server in the form of an entry, for one that only switches it on or changes some of it. */
export function shippedEntry({ manifest }: Item): ServerEntry {
  const { config, description, secrets, sandbox } = manifest
  const known = Object.entries(config).filter(([key]) => key in ServerEntry.shape)
  return ServerEntry.parse({
    ...Object.fromEntries(known),
    description,
    secrets,
    ...(sandbox === undefined ? {} : { sandbox }),
  })
}

function rawManifest(name: string, entry: ServerEntry): JsonObject {
  const { description, secrets = [], sandbox, enabled, allowed_paths: paths = [], ...rest } = entry
  const { transport, type, args = [], ...how } = rest
  const isStarted = entry.command !== undefined
  const usual = isSocket(entry.url ?? '') ? 'websocket' : 'http'
  const config = defined({
    transport: isStarted ? 'stdio' : (transport ?? type ?? usual),
    ...how,
    ...(isStarted ? { args: isFilesystem(entry) ? withPaths(args, paths) : args } : {}),
  })
  const held = heldTo(sandbox, paths)
  return {
    tool_id: serverId(name),
    tool_type: 'mcp_server',
    executor: isStarted ? 'subprocess' : 'http_client',
    version: '1.0.0',
    description: description ?? `The MCP server ${name}`,
    ...(enabled === undefined ? {} : { enabled }),
    ...(held === null ? {} : { sandbox: held }),
    secrets,
    config,
  }
}

function isFilesystem({ command, args = [] }: ServerEntry): boolean {
  return [command ?? '', ...args].some((word) => /(?:^|\/)(?:mcp-)?server-filesystem(?:@|\/|$)/.test(word))
}

function withPaths(args: readonly string[], paths: readonly string[]): readonly string[] {
  return [...args, ...paths.filter((path) => !args.includes(path))]
}

/** Paths bind where the server is held; by themselves they ask for no sandbox. */
function heldTo(sandbox: JsonObject | undefined, paths: readonly string[]): JsonObject | null {
  if (paths.length === 0) return sandbox ?? null
  return { level: 'off', write: [...paths], ...sandbox }
}

function defined(config: Readonly<Record<string, unknown>>): JsonObject {
  const given = Object.entries(config).filter(([, value]) => value !== undefined)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its schema takes JSON values only
  return Object.fromEntries(given) as Record<string, JsonValue>
}

/** The manifest of a server as it may be shown: names of variables and headers stay, what they hold goes. */
export function withoutValues(raw: JsonObject): JsonObject {
  const { config, ...rest } = raw
  if (!isJsonObject(config)) return raw
  const shown = Object.entries(config).map(([key, value]): [string, JsonValue] => [
    key,
    VALUES.has(key) ? hidden(value) : value,
  ])
  return { ...rest, config: Object.fromEntries(shown) }
}

const VALUES: ReadonlySet<string> = new Set(['env', 'headers', 'auth'])
/** What only names a variable says nothing of its value. */
const ONLY_NAMED = /^(?:(?:Bearer|Basic|Token) )?\$\{[A-Za-z_]\w*\}$/
const HIDDEN = '[hidden]'

function hidden(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => hidden(item))
  if (isJsonObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, key === 'type' ? inner : hidden(inner)]),
    )
  return typeof value === 'string' && ONLY_NAMED.test(value) ? value : HIDDEN
}
