import { z } from 'zod'
import { plainName } from '../shared/groups.ts'
import type { JsonObject } from '../shared/json.ts'

const Text = z.string().min(1).max(8192)
const Word = z.union([z.string().max(8192), z.number(), z.boolean()]).transform(String)
const Words = z.record(z.string().min(1).max(256), Word)
const Seconds = z.number().positive().max(31_536_000)
const Json: z.ZodType<JsonObject> = z.record(z.string(), z.json())
const Names = z.array(Text).max(1000)

export const TRANSPORTS = [
  'stdio',
  'http',
  'streamable_http',
  'streamable-http',
  'sse',
  'websocket',
  'ws',
] as const

/** One server of `mcp_registry.yaml`. A key it does not know is refused: a misspelt protection must not pass. */
export const ServerEntry = z.strictObject({
  type: z.enum(TRANSPORTS).optional(),
  transport: z.enum(TRANSPORTS).optional(),
  command: Text.optional(),
  args: z.array(Word).max(1000).optional(),
  env: Words.optional(),
  cwd: Text.optional(),
  url: Text.superRefine((url, context) => {
    const why = whyNoAddress(url)
    if (why !== null) context.addIssue({ code: 'custom', message: why })
  }).optional(),
  headers: Words.optional(),
  auth: z.union([Text, Json]).optional(),
  allowed_paths: Names.optional(),
  description: z.string().max(2000).optional(),
  startup_timeout: Seconds.optional(),
  timeout: Seconds.optional(),
  keep_alive: z.number().min(0).max(31_536_000).optional(),
  reconnect: z.boolean().optional(),
  reconnect_delay: z.number().min(0).max(3600).optional(),
  state: z.enum(['stateless', 'session']).optional(),
  tools: z
    .strictObject({ include: Names.optional(), exclude: Names.optional(), overrides: Json.optional() })
    .optional(),
  sandbox: Json.optional(),
  secrets: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)).optional(),
  enabled: z.boolean().optional(),
})
export type ServerEntry = Readonly<z.infer<typeof ServerEntry>>

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'ws:', 'wss:'])

/** Why no server can be at this address, or null. It is not shown: it may hold a password. What a variable fills in is judged later. */
function whyNoAddress(url: string): string | null {
  if (/^[a-z][\w+.-]*:\/\/[^/?#]*@/i.test(url))
    return 'holds credentials: leave them out, and give them under "auth" as {type: basic, username, password}'
  const origin = /^[^/?#]*\/\/[^/?#]*/.exec(url)?.[0] ?? url
  if (origin.includes('${')) return null
  const { protocol = '' } = URL.canParse(origin) ? new URL(origin) : {}
  if (SCHEMES.has(protocol)) return null
  return 'is no address that can be used: it begins with http://, https://, ws:// or wss://'
}

/** How the server at an address is spoken to, as far as the address tells. */
export function transportOf(url: string): 'http' | 'sse' | 'websocket' {
  if (/^wss?:/i.test(url)) return 'websocket'
  return /^[^?#]*\/sse\/?(?:[?#]|$)/i.test(url) ? 'sse' : 'http'
}

/** As it stands before the dot of a tool: no dot is in it, and no server of two names. */
export const SERVER_NAME = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$/

/** The id of the item that a server of this name is. */
export function serverId(name: string): string {
  return `mcp_${plainName(name)}`
}

const STARTED = ['command', 'args', 'env', 'cwd', 'allowed_paths'] as const
const REACHED = ['url', 'headers', 'auth'] as const

/** The nearer says what it says, key by key; what is reached otherwise keeps nothing of how it was reached. */
export function mergeEntries(below: ServerEntry, over: ServerEntry): ServerEntry {
  const gone = over.url !== undefined ? STARTED : over.command !== undefined ? REACHED : []
  const isMoved = gone.some((key) => below[key] !== undefined)
  const dropped = new Set<string>([...gone, ...(isMoved ? ['type', 'transport'] : [])])
  const kept = Object.fromEntries(Object.entries(below).filter(([key]) => !dropped.has(key)))
  const spelled = over.type ?? over.transport
  const { type: _type, transport: _transport, ...rest } = over
  const base: ServerEntry = spelled === undefined ? kept : { ...kept, type: undefined, transport: undefined }
  return { ...base, ...rest, ...(spelled === undefined ? {} : { transport: spelled }) }
}
