import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { canonicalJson, isJsonObject } from '../../shared/json.ts'
import { nearest } from '../../shared/nearest.ts'
import { textOf } from '../../shared/template.ts'
import { setJson } from '../edit-json.ts'
import { setToml } from '../edit-toml.ts'
import { parseToml } from '../parse-toml.ts'
import { withoutComments } from './without-comments.ts'
import { isKiwi, toEntry } from './client-entry.ts'
import type { KnownClient } from './clients.ts'
import { CLIENTS } from './clients.ts'

/** What Kiwi is called in the configs of clients. */
const NAME = 'kiwi'

export function findClient(name: string): KnownClient {
  const found = CLIENTS.find((client) => client.name === name.toLowerCase())
  if (found !== undefined) return found
  const names = CLIENTS.map((client) => client.name)
  const [near] = nearest(name, names)
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot connect "${name.slice(0, 64)}": there is no such client`,
    {
      hint: `${near === undefined ? '' : `Did you mean ${near}? `}Known clients: ${names.join(', ')}`,
      details: { missing: [], invalid: [{ name: 'client', reason: `none of ${names.join(', ')}` }] },
    },
  )
}

/** The file in which a client looks for its servers: of a project, or of a person on this system. */
export function configOf(
  { name, inProject, inHome }: KnownClient,
  {
    project,
    home,
    system,
  }: { readonly project: string | null; readonly home: string; readonly system: string },
): string {
  if (project === null) {
    const place = inHome[system === 'darwin' ? 1 : system === 'win32' ? 2 : 0] ?? inHome[0]
    return spelled(join(home, place))
  }
  if (inProject !== null) return spelled(join(project, inProject))
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot connect ${name} for one project: it keeps no config there`,
    {
      hint: `Leave out --project: kiwi connect ${name}`,
      details: { missing: [], invalid: [{ name: 'project', reason: 'not known to this client' }] },
    },
  )
}

/** One with comments may say so by its name. */
function spelled(path: string): string {
  const other = path.replace(/\.json$/, '.jsonc')
  return !existsSync(path) && existsSync(other) ? other : path
}

/** The config of a client with Kiwi in it: the same text when it is there already, under whichever name. */
export async function withKiwi(
  text: string,
  client: KnownClient,
  started: {
    readonly command: string
    readonly args: readonly string[]
    /** Whether a server that only has its name gives way to it. */
    readonly replaces: boolean
  },
  where: string,
): Promise<{ readonly text: string; readonly name: string }> {
  const { key } = client
  const entry = client.entry(started.command, started.args)
  const isToml = where.endsWith('.toml')
  const servers = isToml ? (await parseToml(text, where))[key] : serversIn(text, key)
  const standing = Object.entries(isJsonObject(servers) ? servers : {}).flatMap(([name, given]) =>
    isJsonObject(given) && isOurs(name, given, client) ? [{ name, given }] : [],
  )
  const [there] = standing.filter(({ name }) => name === NAME).concat(standing)
  if (there === undefined) return { name: NAME, text: await set(NAME, entry) }
  const { name, given } = there
  // How it is reached may have been chosen: by an address, or with variables of its own.
  const isStarted =
    given['url'] === undefined && given['httpUrl'] === undefined && given['serverUrl'] === undefined
  const isSame = canonicalJson({ ...given, ...entry }) === canonicalJson(given)
  if (!isStarted || isSame) return { name, text }
  const isForeign = !startsKiwi(given, client)
  if (isForeign && !started.replaces) throw foreign(name, given, client, where)
  // What another server was given is not handed to Kiwi.
  return { name, text: await set(name, isToml || isForeign ? entry : { ...given, ...entry }) }

  async function set(under: string, value: JsonObject): Promise<string> {
    return isToml ? setToml(text, [key, under], value, where) : setJson(text, [key, under], value, where)
  }
}

/** What cannot be read is said with its place when it is changed. */
function serversIn(text: string, key: string): unknown {
  try {
    const whole: unknown = JSON.parse(withoutComments(text))
    return isJsonObject(whole) ? whole[key] : undefined
  } catch {
    return undefined
  }
}

function isOurs(name: string, given: JsonObject, client: KnownClient): boolean {
  return name === NAME || name === 'kiwi-mcp' || startsKiwi(given, client)
}

/** By what it starts, whatever it is called. */
function startsKiwi(given: JsonObject, { name: client }: KnownClient): boolean {
  const dialect = client === 'codex' || client === 'gemini' || client === 'opencode' ? client : 'usual'
  const { entry } = toEntry(given, dialect)
  return entry !== null && isKiwi('', entry)
}

/** Its arguments may hold credentials: they are not said. */
function foreign(name: string, { command }: JsonObject, client: KnownClient, where: string): KiwiError {
  const program = textOf(Array.isArray(command) ? (command[0] ?? '') : (command ?? '')).slice(0, 200)
  return new KiwiError(
    'CONFLICT',
    `Cannot connect ${client.name}: "${name}" in "${where}" starts ${program === '' ? 'nothing' : `"${program}"`}, which is not Kiwi`,
    {
      hint: `Give that server another name there, or replace it: kiwi connect ${client.name} --replace`,
      details: { path: where, name, replaceable: true },
    },
  )
}
