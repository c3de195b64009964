import { basename } from 'node:path'
import { z } from 'zod'
import type { Reply } from '../shared/reply.ts'
import type { Kiwi } from '../kiwi.ts'
import { serverName } from '../shared/groups.ts'
import { parseItemRef } from '../shared/ids.ts'
import { textOf } from '../shared/template.ts'
import { unusableWhy } from '../spaces/definitions/shown-definition.ts'
import { ALL_SERVERS } from '../spaces/find-servers.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Session } from './with-kiwi.ts'

/** A server of this project or person, and how it stands with it. */
export interface KnownServer {
  readonly name: string
  readonly source: string
  readonly path: string | null
  readonly transport: string
  readonly enabled: boolean
  /** How far it is trusted; null when its chain is broken. */
  readonly trust: string | null
  /** Null when it was never asked. */
  readonly tools: number | null
  readonly quarantined: number
  /** What stands in the way of using it, and what to do about it. */
  readonly problem: { readonly message: string; readonly fix: string } | null
  /** What is to be known about it all the same. */
  readonly warnings: readonly string[]
  /** What became of the last call that failed, when none has gone well since. */
  readonly last_error: string | null
  /** How it is started. */
  readonly words: readonly string[]
}

interface KnownServers {
  readonly servers: readonly KnownServer[]
  /** What is wrong with the files that name servers, each with its place. */
  readonly faults: readonly string[]
}

/** Every server that is not merely shipped. Nothing is started to know this. */
export async function knownServers(session: Session): Promise<KnownServers> {
  const { kiwi, project } = session
  const lookup = kiwi.spaces.at(project)
  const { faults } = await lookup.syncIndex()
  const { hits } = await kiwi.store.search({ ...ALL_SERVERS, roots: lookup.roots })
  const ids = [...new Set(hits.map(({ item_id }) => item_id))].toSorted()
  const servers: KnownServer[] = []
  for (const id of ids) {
    const item = await lookup.find(parseItemRef(id), 'mcp').catch(() => null)
    if (item !== null && item.space !== 'builtin') servers.push(await knownServer(item, lookup, session))
  }
  return {
    servers,
    faults: faults.filter(({ path }) => isServersFile(path)).map(({ reason }) => reason),
  }
}

/** Whether this is a file that holds many servers: one of them that is wrong is corrected, and the file stays. */
export function isServersFile(path: string): boolean {
  return basename(path) === 'mcp_registry.yaml'
}

async function knownServer(item: Item, lookup: Lookup, session: Session): Promise<KnownServer> {
  const { kiwi } = session
  const { id, space, path, manifest } = item
  const name = serverName(id)
  const { config, executor } = manifest
  const enabled = manifest.enabled !== false
  const { tools, quarantined, inVain } = await listedOf(item, lookup, kiwi)
  const { command, args = [], url } = config
  const { problem, warnings } = enabled ? await standingOf(name, session) : FINE
  return {
    name,
    source: space,
    path,
    transport: textOf(config['transport'] ?? (executor === 'http_client' ? 'http' : 'stdio')),
    enabled,
    trust: await trustOf(item, lookup, kiwi),
    tools,
    quarantined,
    problem,
    warnings: [...warnings, ...inVain],
    last_error: await lastErrorOf(item, kiwi),
    words: [command ?? url ?? '', ...(Array.isArray(args) ? args : [])].map((word) => textOf(word)),
  }
}

interface ListedTools extends Pick<KnownServer, 'tools' | 'quarantined'> {
  /** What its overrides name that is not there, and what it lists that cannot be used. */
  readonly inVain: readonly string[]
}

async function listedOf(item: Item, lookup: Lookup, { store }: Kiwi): Promise<ListedTools> {
  const server = await lookup.serverOf(item).catch(() => null)
  if (server === null || (await lookup.listing(server.key)) === null)
    return { tools: null, quarantined: 0, inVain: [] }
  const tools = await store.listed(server.key)
  const there = tools.filter(({ state }) => state !== 'missing')
  const names = new Set(there.map(({ name }) => name))
  const shown = there.filter(({ raw }) => server.overrides.show(raw, names) !== null)
  const unusable = there.filter(({ state }) => state === 'unusable')
  return {
    tools: shown.filter(({ state }) => state === 'usable').length,
    quarantined: tools.filter(({ state }) => state === 'quarantined').length,
    inVain: [
      ...server.overrides.warnings(there.map(({ raw }) => raw)),
      ...unusable.map(
        ({ raw, findings }) => `"${textOf(raw['name'])}" cannot be used: ${unusableWhy(findings)}`,
      ),
    ],
  }
}

async function trustOf(item: Item, lookup: Lookup, { chainOf }: Kiwi): Promise<string | null> {
  try {
    const { trust, refusal } = await chainOf(item, lookup)
    return refusal === null ? textOf(trust['name']) : 'not trusted'
  } catch {
    return null
  }
}

/** Everything that is looked at before a server is started, and nothing of the rest. */
async function standingOf(
  name: string,
  session: Session,
): Promise<Pick<KnownServer, 'problem' | 'warnings'>> {
  const { error, metadata } = await session.call('execute', {
    item_type: 'mcp',
    action: 'discover',
    item_id: name,
    parameters: { location: 'user' },
    dry_run: true,
  })
  const problem = error === null ? null : await problemOf(error, session)
  return { problem, warnings: metadata.warnings ?? [] }
}

const FINE = { problem: null, warnings: [] }

async function problemOf(
  { message, hint, code, details }: NonNullable<Reply['error']>,
  { act }: Session,
): Promise<KnownServer['problem']> {
  const ungranted = code === 'SECRET_NOT_GRANTED' ? Ungranted.safeParse(details).data?.required : undefined
  if (ungranted === undefined) return { message, fix: hint }
  const { tool, names } = ungranted
  const { data } = await act({
    wish: () => ({
      kind: 'grant',
      ref: parseItemRef(tool),
      names,
      sinks: [],
      principal: '*',
      expectedDigest: null,
    }),
    operation: 'grant',
    subject: tool,
    isDryRun: true,
  })
  const secrets = Preview.safeParse(data).data?.secrets ?? []
  const unset = secrets
    .filter(({ is_set: isSet }) => !isSet)
    .map((secret) => `kiwi secret set ${secret.name}`)
  return { message, fix: unset.length === 0 ? hint : `${unset.join(', then ')}, then: ${hint}` }
}

const Ungranted = z.looseObject({
  required: z.looseObject({ tool: z.string(), names: z.array(z.string()) }),
})
const Preview = z.looseObject({
  secrets: z.array(z.looseObject({ name: z.string(), is_set: z.boolean() })),
})

const RECENT = 500

async function lastErrorOf({ id }: Item, { store }: Kiwi): Promise<string | null> {
  const name = serverName(id)
  const records = await store.records({ limit: RECENT })
  const last = records.find(
    ({ kind, operation, tool, status, body }) =>
      kind === 'outcome' &&
      // What is known of it can be looked at without asking it.
      operation !== 'load' &&
      (tool.startsWith(`${name}.`) || tool === name || tool === id) &&
      (status === 'success' || BY_SERVER.has(textOf(body['code']))),
  )
  return last === undefined || last.status === 'success' ? null : textOf(last.body['message'])
}

/** Failures that are the server's, and no refusal of ours. */
const BY_SERVER: ReadonlySet<string> = new Set([
  'UPSTREAM_UNAVAILABLE',
  'OUTCOME_UNKNOWN',
  'TIMEOUT',
  'LOGIN_REQUIRED',
  'OAUTH_MISMATCH',
  'EGRESS_DENIED',
  'HTTP_STATUS',
  'MESSAGE_TOO_LARGE',
])
