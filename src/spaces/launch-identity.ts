import type { JsonValue } from '../shared/json.ts'
import { canonicalJson, isJsonObject, sha256 } from '../shared/json.ts'
import type { Item } from './item.ts'

const known = new WeakMap<Item, string>()

/**
 * Hash of what a server item starts or reaches, with nothing filled in: another command or address is another upstream.
 * Names of variables and headers count, what they hold does not: a new token is no new upstream.
 */
export function launchIdentity(server: Item): string {
  const made = known.get(server) ?? identityOf(server)
  known.set(server, made)
  return made
}

/** What the definitions of a server are kept under: what nobody but an agent stands behind shares no pin with what a person configured. */
export function catalogKey(identity: string, isVouched: boolean): string {
  return isVouched ? identity : sha256(`unvouched ${identity}`)
}

function identityOf({ id, manifest: { config, executor } }: Item): string {
  const { command = null, args = [], env, cwd = null, url, url_template, headers } = config
  const isProgram = executor !== 'http_client'
  const transport = config['transport'] ?? config['type'] ?? (isProgram ? 'stdio' : 'http')
  const how = isProgram
    ? { command, args, env: namesIn(env), cwd }
    : { url: url ?? url_template ?? null, headers: namesIn(headers) }
  return sha256(canonicalJson({ id, transport, ...how }))
}

function namesIn(value: JsonValue | undefined): readonly string[] {
  return Object.keys(isJsonObject(value) ? value : {}).toSorted()
}
