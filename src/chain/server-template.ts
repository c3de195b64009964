import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Tree } from '../shared/template.ts'
import { compileTree, textOf } from '../shared/template.ts'
import { readOverrides } from '../spaces/definitions/overrides.ts'
import type { Item } from '../spaces/item.ts'
import { launchIdentity } from '../spaces/launch-identity.ts'
import type { CommandTemplate } from './command-template.ts'
import { numberOf, timeoutMsOf } from './command-template.ts'
import type { Effect } from './plan.ts'
import type { RequestTemplate } from './request-template.ts'

/** How a server is reached: a program that is started, or an address. */
export type ServerTemplate =
  | { readonly kind: 'stdio'; readonly command: CommandTemplate }
  | {
      readonly kind: 'remote'
      readonly transport: RemoteTransport
      /** Its address, headers and credentials; what is sent is filled in by who speaks to it. */
      readonly request: RequestTemplate
      /** What its config says of a login with OAuth; null when it says nothing of one. */
      readonly oauth: Tree | null
    }

export type RemoteTransport = 'http' | 'sse' | 'websocket'

const TRANSPORTS: ReadonlyMap<string, RemoteTransport> = new Map([
  ['http', 'http'],
  ['streamable_http', 'http'],
  ['streamable-http', 'http'],
  ['sse', 'sse'],
  ['websocket', 'websocket'],
  ['ws', 'websocket'],
])

const DEFAULTS = { startup_timeout: 10, timeout: 60, keep_alive: 300 }

/** A server has less time for a call than a program has to end. */
export function withServerDefaults(config: JsonObject): JsonObject {
  const { auth, ...rest } = config
  const login = auth === undefined ? {} : isOauth(auth) ? { oauth: auth } : { auth }
  return { ...DEFAULTS, ...rest, ...login }
}

interface Served {
  readonly leaf: Item
  readonly server: Item
  /** Of the server, merged and checked. */
  readonly config: JsonObject
  /** What its chain ends in. */
  readonly end: Effect
}

export function compileServer({ leaf, server, config, end }: Served): Effect {
  const template = templateOf(server, config, end)
  const { mcp_tool_name: name, mcp_task: task, timeout } = leaf.manifest.config
  const own = typeof name === 'string' ? name : leaf.id.slice(leaf.id.indexOf('.') + 1)
  return {
    kind: 'mcp',
    server: template,
    toolName: leaf === server ? null : own,
    isTask: task === 'required',
    startupMs: numberOf(config, 'startup_timeout') * 1000,
    timeoutMs: timeoutMsOf(leaf === server || timeout === undefined ? config : { ...config, timeout }),
    keepAliveMs: Math.max(numberOf(config, 'keep_alive') * 1000, SHORTEST_KEPT_MS),
    waitsMs: waitsOf(config),
    isPerSession: config['state'] === 'session',
    identity: launchIdentity(server),
    sent: readOverrides(server.id, server.manifest.config).sent(own),
  }
}

/** What is asked before a call, and the call, are to be said to one and the same start of it. */
const SHORTEST_KEPT_MS = 1000

/** Before the second and the third try of a call; undefined where the config says nothing of it. */
function waitsOf({ reconnect, reconnect_delay: seconds }: JsonObject): readonly number[] | undefined {
  if (reconnect === false) return []
  return typeof seconds === 'number' && seconds >= 0 ? [seconds * 1000, seconds * 2000] : undefined
}

function templateOf({ id }: Item, config: JsonObject, end: Effect): ServerTemplate {
  const named = textOf(
    config['transport'] ?? config['type'] ?? (end.kind === 'subprocess' ? 'stdio' : 'http'),
  )
  if (end.kind === 'subprocess' && named === 'stdio') return { kind: 'stdio', command: end.command }
  const transport = TRANSPORTS.get(named)
  if (end.kind === 'http_client' && transport !== undefined) {
    const { oauth } = config
    const login = oauth === undefined ? null : compileTree(isJsonObject(oauth) ? oauth : {}, new Set())
    return { kind: 'remote', transport, request: end.request, oauth: login }
  }
  const executor = transport === undefined ? 'subprocess' : 'http_client'
  const isKnown = transport !== undefined || named === 'stdio'
  throw new KiwiError(
    'INVALID_CONFIG',
    `Cannot use "${id}": ${isKnown ? `transport "${named}" is not run by its executor` : `"${named}" is not a transport`}`,
    {
      hint: isKnown ? `Write executor: ${executor}` : 'Use stdio, http, sse or websocket',
    },
  )
}

function isOauth(auth: JsonValue): boolean {
  return auth === 'oauth' || (isJsonObject(auth) && auth['type'] === 'oauth')
}
