import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { IN_WORDS, fieldFaults } from '../../shared/field-faults.ts'
import { textOf } from '../../shared/template.ts'
import { ServerEntry, transportOf } from '../server-entry.ts'

/** How a client writes a server, where it differs from the others. */
export type Client = 'usual' | 'codex' | 'gemini' | 'opencode'

export interface ClientEntry {
  readonly entry: ServerEntry | null
  /** Why there is none. */
  readonly reason: string | null
  /** Keys that Kiwi has no use for. */
  readonly left: readonly string[]
}

/** A server as a client writes it, as an entry of ours. */
export function toEntry(given: JsonObject, client: Client): ClientEntry {
  const made = { ...startOf(given), ...reachOf(given, client), ...restOf(given, client) }
  const entry = Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined))
  const login = loginOf(given)
  const left = [
    ...Object.keys(given).filter(
      (key) =>
        !TAKEN.has(key) &&
        !(login !== undefined && LOGIN.has(key)) &&
        !(key === 'tools' && Array.isArray(given[key])),
    ),
    ...(login === undefined ? [] : leftOfLogin(given)),
    ...leftOfTimes(given),
    ...notMeant(given),
  ]
  const read = ServerEntry.safeParse(entry, IN_WORDS)
  if (!read.success) {
    const [fault] = fieldFaults(read.error.issues)
    return { entry: null, reason: `"${fault?.name}" ${fault?.reason}`, left }
  }
  if (read.data.command === undefined && read.data.url === undefined)
    return { entry: null, reason: 'it has neither a command nor an address', left }
  return { entry: read.data, reason: null, left }
}

const TAKEN: ReadonlySet<string> = new Set(
  [
    'type transport command args env environment env_vars cwd url httpUrl serverUrl tcp headers http_headers',
    'env_http_headers bearer_token_env_var bearer_token timeout startup_timeout_sec startup_timeout_ms tool_timeout_sec',
    'enabled disabled',
    'description includeTools excludeTools enabled_tools disabled_tools trust name',
  ]
    .join(' ')
    .split(' '),
)

const LOGIN: ReadonlySet<string> = new Set(['auth', 'oauth', 'scopes'])

type Made = Readonly<Record<string, JsonValue | undefined>>

function startOf({ command, args, env, environment, env_vars: passed, cwd }: JsonObject): Made {
  const words = Array.isArray(command) ? command : command === undefined ? [] : [command]
  const [program, ...first] = words
  if (program === undefined) return {}
  const given = Array.isArray(args) ? args : []
  const own = env ?? environment
  // A variable that is null is taken away, and nobody hands it on here.
  const set = Object.entries(isJsonObject(own) ? own : {}).filter(([, value]) => value !== null)
  const variables = { ...passedOn(passed), ...Object.fromEntries(set) }
  return {
    command: program,
    args: [...first, ...given],
    ...(Object.keys(variables).length > 0 ? { env: variables } : {}),
    cwd,
  }
}

/** Variables of its own surroundings that a client hands on, by name. */
function passedOn(given: JsonValue | undefined): JsonObject {
  const names = (Array.isArray(given) ? given : []).map((each) =>
    textOf(isJsonObject(each) ? (each['name'] ?? '') : each),
  )
  const known = names.filter((name) => /^[A-Za-z_]\w*$/.test(name))
  return Object.fromEntries(known.map((name) => [name, `\${${name}}`]))
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['http', 'http'],
  ['streamable-http', 'http'],
  ['streamable_http', 'http'],
  ['streamableHttp', 'http'],
  ['sse', 'sse'],
  ['ws', 'websocket'],
  ['websocket', 'websocket'],
])

const ADDRESSES = ['httpUrl', 'url', 'serverUrl', 'tcp']
const OTHER_TYPES: ReadonlySet<string> = new Set(['stdio', 'local', 'remote'])

/** Of two ways to reach a server one is used, and of a type that nobody knows nothing. */
function notMeant(given: JsonObject): readonly string[] {
  const addresses = given['command'] === undefined ? [] : ADDRESSES.filter((key) => given[key] !== undefined)
  const types = ['type', 'transport'].filter((key) => {
    const type = given[key]
    return type !== undefined && !TYPES.has(textOf(type)) && !OTHER_TYPES.has(textOf(type))
  })
  return [...addresses, ...types]
}

function reachOf(given: JsonObject, client: Client): Made {
  const { httpUrl, url, serverUrl, tcp } = given
  const address = httpUrl ?? url ?? serverUrl ?? tcp
  if (address === undefined || given['command'] !== undefined) return {}
  const isEvents = client === 'gemini' && url !== undefined && httpUrl === undefined
  const usual = isEvents ? 'sse' : httpUrl === undefined ? transportOf(textOf(address)) : 'http'
  return {
    type: TYPES.get(textOf(given['type'] ?? given['transport'])) ?? usual,
    url: address,
    headers: headersOf(given),
    auth: tokenOf(given) ?? loginOf(given),
  }
}

function headersOf({
  headers,
  http_headers: plain,
  env_http_headers: named,
}: JsonObject): JsonObject | undefined {
  const fromNames = Object.entries(isJsonObject(named) ? named : {}).map(
    ([header, variable]) => [header, `\${${textOf(variable)}}`] as const,
  )
  const all = {
    ...(isJsonObject(headers) ? headers : {}),
    ...(isJsonObject(plain) ? plain : {}),
    ...Object.fromEntries(fromNames),
  }
  return Object.keys(all).length === 0 ? undefined : all
}

function tokenOf({
  bearer_token_env_var: variable,
  bearer_token: token,
}: JsonObject): JsonObject | undefined {
  if (typeof variable === 'string') return { type: 'bearer', token: `\${${variable}}` }
  return typeof token === 'string' ? { type: 'bearer', token } : undefined
}

const IDS = ['CLIENT_ID', 'clientId', 'client_id']
const SECRETS = ['CLIENT_SECRET', 'clientSecret', 'client_secret']
const SCOPES = ['scopes', 'scope']

/** A client that the issuer of a login knows, or what a login must be good for. */
function loginOf({ auth, oauth, scopes: alone }: JsonObject): JsonObject | undefined {
  const given = isJsonObject(auth) ? auth : isJsonObject(oauth) ? oauth : {}
  const first = (names: readonly string[]): JsonValue | undefined =>
    names.map((name) => given[name]).find((value) => value !== undefined)
  const id = first(IDS)
  const scopes = first(SCOPES) ?? alone
  if (id === undefined && scopes === undefined) return undefined
  const secret = first(SECRETS)
  return {
    type: 'oauth',
    ...(id === undefined ? {} : { client_id: id }),
    ...(secret === undefined ? {} : { client_secret: secret }),
    ...(scopes === undefined ? {} : { scopes }),
  }
}

/** Keys of a login that Kiwi has no use for: an address and a port of its own are found anew each time. */
function leftOfLogin({ auth, oauth }: JsonObject): readonly string[] {
  const [name, given] = isJsonObject(auth) ? ['auth', auth] : ['oauth', isJsonObject(oauth) ? oauth : {}]
  const known = new Set([...IDS, ...SECRETS, ...SCOPES, 'enabled', 'type'])
  return Object.keys(given).flatMap((key) => (known.has(key) ? [] : [`${name}.${key}`]))
}

/** Some clients count milliseconds, and of the others nobody waits for so many seconds. */
const MOST_SECONDS = 1000

/** In seconds. Of one client the time is that for a start. */
function timesOf(given: JsonObject, client: Client): Made {
  const { timeout, tool_timeout_sec: toolTime } = given
  if (isJsonObject(timeout)) return severalTimes(timeout)
  const { startup_timeout_sec: stated, startup_timeout_ms: millis } = given
  const isMillis = client === 'gemini' || client === 'opencode' || Number(timeout) >= MOST_SECONDS
  const seconds = typeof timeout === 'number' ? (isMillis ? timeout / 1000 : timeout) : undefined
  const startup = stated ?? (typeof millis === 'number' ? millis / 1000 : undefined)
  const isOfStart = client === 'opencode'
  return {
    startup_timeout: startup ?? (isOfStart ? seconds : undefined),
    timeout: toolTime ?? (isOfStart ? undefined : seconds),
  }
}

/** A newer client says apart how long what may take, in milliseconds. */
const TIMES: ReadonlyMap<string, 'startup_timeout' | 'timeout'> = new Map([
  ['startup', 'startup_timeout'],
  ['request', 'timeout'],
  ['execution', 'timeout'],
])

function severalTimes(given: JsonObject): Made {
  return Object.fromEntries(
    Array.from(TIMES, ([key, ours]) => [ours, given[key]] as const).flatMap(([ours, value]) =>
      typeof value === 'number' ? [[ours, value / 1000]] : [],
    ),
  )
}

function leftOfTimes({ timeout }: JsonObject): readonly string[] {
  const keys = isJsonObject(timeout) ? Object.keys(timeout) : []
  return keys.flatMap((key) => (TIMES.has(key) ? [] : [`timeout.${key}`]))
}

/** Those that agents may use; of one client a star stands for all. */
function includedIn(given: JsonObject): JsonValue | undefined {
  const { includeTools, enabled_tools: enabled, tools } = given
  const named = includeTools ?? enabled
  if (named !== undefined || !Array.isArray(tools)) return named
  return tools.includes('*') ? undefined : tools
}

function restOf(given: JsonObject, client: Client): Made {
  const isOff = given['enabled'] === false || given['disabled'] === true
  const include = includedIn(given)
  const exclude = given['excludeTools'] ?? given['disabled_tools']
  const tools = {
    ...(include === undefined ? {} : { include }),
    ...(exclude === undefined ? {} : { exclude }),
  }
  return {
    description: given['description'],
    ...timesOf(given, client),
    tools: Object.keys(tools).length === 0 ? undefined : tools,
    enabled: isOff ? false : undefined,
  }
}

/** Whether a server is Kiwi itself: by what is started, or by its name where that may start anything. A folder may be called kiwi as well. */
export function isKiwi(name: string, { command = '', args = [], url }: ServerEntry): boolean {
  const isNamed = name === 'kiwi' || name === 'kiwi-mcp'
  if (url !== undefined) return isNamed && HERE.test(url)
  if (PROGRAM.test(command) || args.some((word) => PACKAGE.test(word) || SCRIPT.test(word))) return true
  return isNamed && args.some((word) => word === 'kiwi' || BUNDLE.test(word))
}

const PROGRAM = /(?:^|[/\\])kiwi(?:-mcp)?(?:\.cmd|\.exe)?$/
const PACKAGE = /^kiwi-mcp(?:@[\w.^~-]+)?$/
const SCRIPT = /(?:kiwi-mcp[/\\]dist[/\\](?:cli|kiwi)\.[cm]?js|[/\\]bin[/\\]kiwi(?:-mcp)?)$/
/** Wherever it was built. */
const BUNDLE = /(?:^|[/\\])dist[/\\](?:cli|kiwi)\.[cm]?js$/
const HERE = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i
