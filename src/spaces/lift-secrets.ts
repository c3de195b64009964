import { isOpen } from '../config/environment.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { SHORTEST_SECRET } from '../shared/redact.ts'
import { decoded, isCredentialName, looksDrawn, namesVariable } from './credentials.ts'
import type { SecretPatterns } from './secret-patterns.ts'
import type { ServerEntry } from './server-entry.ts'

/** An entry with names in the place of credentials, and what they stand for. */
export interface Lifted {
  readonly entry: ServerEntry
  readonly secrets: ReadonlyMap<string, string>
}

const LONGEST_NAME = 100

interface LiftMeans {
  readonly patterns: SecretPatterns
  /** What a name stands for already, or undefined. */
  readonly known: (name: string) => string | undefined
}

/** Takes credentials out of an entry that somebody typed or another client kept. */
export async function liftSecrets(
  server: string,
  entry: ServerEntry,
  { patterns, known }: LiftMeans,
): Promise<Lifted> {
  const secrets = new Map<string, string>()
  const prefix = server.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')
  /** The name for a value: the wished one, unless it stands for something else. */
  const keep = (wished: string, value: string): string => {
    const word = wished.replaceAll(/\W/g, '_').slice(0, LONGEST_NAME)
    const base = isOpen(word) || word.startsWith('KIWI_') || !/^[A-Za-z_]/.test(word) ? `MCP_${word}` : word
    for (let number = 1; ; number++) {
      const name = number === 1 ? base : number === 2 ? `${prefix}_${base}` : `${prefix}_${base}_${number}`
      const there = secrets.get(name) ?? known(name)
      if (there !== undefined && there !== value) continue
      secrets.set(name, value)
      return `\${${name}}`
    }
  }
  const looksSecret = async (value: string): Promise<boolean> =>
    !namesVariable(value) && (await patterns.screen(value)).rules.length > 0
  const isSecret = async (key: string, value: string): Promise<boolean> =>
    value.trim().length >= SHORTEST_SECRET &&
    !namesVariable(value) &&
    (isCredentialName(key) || (await looksSecret(value)))
  const inMap = async (
    map: Readonly<Record<string, string>> | undefined,
    wished: (key: string) => string,
  ): Promise<Record<string, string> | undefined> => {
    if (map === undefined) return undefined
    const lifted: Record<string, string> = {}
    for (const [key, value] of Object.entries(map)) {
      const [, scheme = '', rest = value] = /^((?:Bearer|Basic|Token)\s+)(.*)$/is.exec(value) ?? []
      const isOne = (await isSecret(key, rest)) || (looksDrawn(rest) && !namesVariable(rest))
      lifted[key] = isOne ? scheme + keep(wished(key), rest) : value
    }
    return lifted
  }
  const inArgs = async (args: readonly string[]): Promise<string[]> => {
    const lifted: string[] = []
    for (const [at, arg] of args.entries()) {
      const [, flag = '', given = ''] = /^(--?[\w-]+=)(.*)$/s.exec(arg) ?? []
      const before = args[at - 1] ?? ''
      if (flag !== '' && (await isSecret(flag, given))) lifted.push(flag + keep(nameFor(prefix, flag), given))
      else if (/^--?[\w-]+$/.test(before) && !arg.startsWith('-') && (await isSecret(before, arg)))
        lifted.push(keep(nameFor(prefix, before), arg))
      else lifted.push((await looksSecret(arg)) ? keep(`${prefix}_KEY`, arg) : arg)
    }
    return lifted
  }
  const inAuth = async (auth: JsonObject): Promise<JsonObject> => {
    const lifted: Record<string, JsonValue> = {}
    for (const [key, value] of Object.entries(auth)) {
      const isValue = typeof value === 'string' && ['token', 'password', 'key', 'client_secret'].includes(key)
      lifted[key] =
        isValue && value.length >= SHORTEST_SECRET && !namesVariable(value)
          ? keep(`${prefix}_${key.toUpperCase()}`, value)
          : value
    }
    return lifted
  }
  const { env, headers, args, auth, url } = entry
  const done = {
    ...entry,
    ...(env === undefined ? {} : { env: await inMap(env, (key) => key) }),
    ...(headers === undefined ? {} : { headers: await inMap(headers, (key) => nameFor(prefix, key)) }),
    ...(args === undefined ? {} : { args: await inArgs(args) }),
    ...(isJsonObject(auth) ? { auth: await inAuth(auth) } : {}),
    ...(url === undefined
      ? {}
      : { url: await inAddress(url, isSecret, (key, value) => keep(nameFor(prefix, key), value)) }),
  }
  return { entry: done, secrets }
}

function nameFor(prefix: string, key: string): string {
  const word = key
    .replace(/=$/, '')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return `${prefix}_${word === 'AUTHORIZATION' ? 'TOKEN' : word}`
}

/** Values of the query that are named like credentials. */
async function inAddress(
  url: string,
  isSecret: (key: string, value: string) => Promise<boolean>,
  keep: (key: string, value: string) => string,
): Promise<string> {
  let text = url
  for (const [whole, key = '', value = ''] of url.matchAll(/[?&]([\w.-]+)=([^&#]+)/g)) {
    if (await isSecret(key, value))
      text = text.replace(
        whole,
        () => whole.slice(0, whole.length - value.length) + keep(key, decoded(value)),
      )
  }
  return text
}
