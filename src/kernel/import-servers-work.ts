import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { KiwiError, messageOf } from '../shared/errors.ts'
import { canonicalJson } from '../shared/json.ts'
import { createRedact, keepAll } from '../shared/redact.ts'
import { variablesIn } from '../spaces/credentials.ts'
import type { Batch, BatchItem } from '../spaces/import/batch.ts'
import { batchFile } from '../spaces/import/batch.ts'
import type { ClientServer } from '../spaces/import/client-config.ts'
import { readClientConfig } from '../spaces/import/client-config.ts'
import { clientPlaces } from '../spaces/import/clients.ts'
import { totalsOf } from '../spaces/import/make-batch.ts'
import { hashOf } from '../spaces/import/read-find.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { readServers } from '../spaces/read-servers.ts'
import type { ServerEntry } from '../spaces/server-entry.ts'
import { serverId } from '../spaces/server-entry.ts'
import { serverItem } from '../spaces/server-item.ts'
import { SHORTEST_SECRET } from '../shared/redact.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import { keepBatch, keptAt, put } from './carry-out-import.ts'
import type { Means } from './means.ts'
import type { ServerNeeds } from './server-secrets.ts'
import { liftEntry, nextCommands, settleServer } from './server-secrets.ts'
import type { ServersText } from './servers-file.ts'
import { SERVERS_PATH, openServersFile, rootOf } from './servers-file.ts'
import { trustLaunches } from './trust-launches.ts'

type Line = Batch['servers'][number]

/** Servers of other clients to be taken over. Everything is read before the first byte is written. */
export async function importServersWork(
  { files, clients = [], to }: Extract<Wish, { kind: 'import_servers' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, 'import')
  lookup.freshen(true)
  const file = openServersFile(to, lookup, means)
  const named = files.map((path) => resolve(path))
  const usual =
    files.length > 0 && clients.length === 0 ? [] : clientPlaces(means.home, lookup.projectPath, clients)
  const { found, left } = await readAll(named, usual, lookup, means)
  const there = await knownIn(file)
  const judged = await judgeAll(found, there, means, (name, entry) => {
    const origin = { name, space: to, path: `${file.path}#${name}`, updatedAt: '' }
    return whyUnusable(serverItem(entry, origin), lookup, means)
  })
  const { lines, added, secrets } = judged
  const { text, write } = added.size === 0 ? { text: file.text, write: null } : await file.change(added)
  const { root } = rootOf(to, lookup, means)
  const source = [...new Set(found.map(({ from }) => from))].join(', ') || 'mcp'
  const items = added.size === 0 ? [] : [fileItem(file, text, source)]
  const planned: Batch = {
    batch: ticket.callId,
    time: new Date(means.clock.now()).toISOString(),
    source,
    layout: 'mcp',
    to,
    root,
    totals: totalsOf(items, left.length),
    items,
    not_imported: left,
    history: {},
    proposed_secrets: [...new Set(lines.flatMap(({ asked }) => asked))],
    folders: [],
    servers: lines,
    secrets: [],
    undone_at: null,
  }
  // Who finds nothing wants to know where nothing was.
  const nothing = found.length === 0 ? { looked_at: [...named, ...usual] } : {}
  const lifted = new Map([...secrets.values()].flatMap((each) => [...each]))
  return {
    item: { id: planned.batch, version: null, space: to },
    action: 'import',
    chain: [],
    demands: [
      { op: 'tool', id: 'kiwi-mcp', action: 'import' },
      { op: 'write', path: batchFile(means.userSpace, planned.batch) },
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { source, to, batch: planned.batch, servers: [...added.keys()], secrets: [...lifted.keys()] },
    redact: lifted.size === 0 ? keepAll : createRedact(lifted),
    preview: () => ({ ...planned, ...nothing }),
    warnings: [],
    async perform() {
      if (write === null) return { data: { ...planned, ...nothing }, warnings: [] }
      const kept = { ...planned, secrets: await keepNew(lifted, means) }
      if (!file.isNew) await keepBefore(kept, file, means)
      await keepBatch(kept, means)
      await write()
      const needs = new Map<string, ServerNeeds>()
      for (const name of added.keys()) {
        const own = [...(secrets.get(name)?.keys() ?? [])]
        needs.set(name, await settleServer(name, own, lookup, { ticket, means }))
      }
      if (to === 'project')
        await trustLaunches(lookup, ticket.caller, means, new Set([...added.keys()].map(serverId)))
      const servers = lines.map((line) => {
        const need = line.state === 'imported' ? needs.get(line.name) : undefined
        return need === undefined ? line : { ...line, unset: need.unset, next: nextCommands(line.name, need) }
      })
      return { data: { ...kept, servers }, warnings: [] }
    },
  }
}

/** Puts secrets into the vault; gives those that were not there before. */
async function keepNew(
  lifted: ReadonlyMap<string, string>,
  { secrets: { vault } }: Means,
): Promise<Batch['secrets']> {
  const before = await vault.read()
  const added = [...lifted].filter(([name, value]) => before.get(name)?.value !== value)
  for (const [name, value] of added) await vault.set(name, value)
  const after = await vault.read()
  return added.map(([name]) => ({ name, set_at: after.get(name)?.set_at ?? '' }))
}

/** What would be wrong with a server, before it is written; null when it could be used. */
async function whyUnusable(item: Item, lookup: Lookup, { chain }: Means): Promise<string | null> {
  try {
    await chain.resolver.plan(item, lookup)
    return null
  } catch (error) {
    if (error instanceof KiwiError) return error.message
    throw error
  }
}

interface Found {
  readonly found: readonly ClientServer[]
  readonly left: readonly { readonly path: string; readonly reason: string }[]
}

/** Named files have to be there; of the usual places those that are. */
async function readAll(
  named: readonly string[],
  usual: readonly string[],
  { projectPath }: Lookup,
  means: Means,
): Promise<Found> {
  const whose = { home: means.home, project: projectPath }
  const found = (await Promise.all(named.map((path) => readClientConfig(path, whose)))).flat()
  const left: { path: string; reason: string }[] = []
  const isTrusted = projectPath !== null && (await means.chain.judge.isTrusted(projectPath))
  for (const path of usual.filter((place) => existsSync(place))) {
    // What a repository brings along is not made a person's own unseen.
    if (projectPath !== null && path.startsWith(`${projectPath}/`) && !isTrusted) {
      left.push({ path, reason: 'nobody has trusted the project: kiwi trust, or name the file' })
      continue
    }
    try {
      found.push(...(await readClientConfig(path, whose)))
    } catch (error) {
      if (!(error instanceof KiwiError)) throw error
      // Most of these files are for other things as well.
      if (error.code !== 'INVALID_PARAMETERS') left.push({ path, reason: messageOf(error) })
    }
  }
  return { found, left }
}

interface Judged {
  readonly lines: readonly Line[]
  readonly added: ReadonlyMap<string, ServerEntry>
  /** By server. */
  readonly secrets: ReadonlyMap<string, ReadonlyMap<string, string>>
}

/** A server that has its place already, by its id: a name has several spellings. */
interface Known {
  readonly name: string
  readonly entry: ServerEntry
}

async function knownIn({ text, path }: ServersText): Promise<ReadonlyMap<string, Known>> {
  const { entries } = await readServers(text, path)
  return new Map(Array.from(entries, ([name, { entry }]) => [serverId(name), { name, entry }]))
}

/** One line for each server: equal ones become one, and another of the same name is left to the person. */
async function judgeAll(
  found: readonly ClientServer[],
  there: ReadonlyMap<string, Known>,
  means: Means,
  judge: (name: string, entry: ServerEntry) => Promise<string | null>,
): Promise<Judged> {
  const added = new Map<string, ServerEntry>()
  const secrets = new Map<string, ReadonlyMap<string, string>>()
  const lines: Line[] = []
  const placed = new Map(there)
  const taken = new Map<string, string>()
  const all = [
    ...found.flatMap(({ entry }) => entry ?? []),
    ...Array.from(there.values(), ({ entry }) => entry),
  ]
  const meant = new Set(all.flatMap(variablesIn))
  for (const { name, from, entry, reason, asked, notes } of found) {
    const base = { name, from, asked: [...asked], notes: [...notes], kept: [], unset: [], next: [] }
    if (entry === null) {
      lines.push({ ...base, state: 'skipped', reason })
      continue
    }
    const lifted = await liftEntry(name, entry, means, { taken, meant })
    const made = lifted.entry
    const known = placed.get(serverId(name))
    if (known !== undefined) {
      const isSame = canonicalJson(known.entry) === canonicalJson(made)
      const why = isSame
        ? null
        : `another server "${known.name}" is there: kiwi remove ${known.name}, or rename one of them`
      lines.push({ ...base, state: isSame ? 'unchanged' : 'conflict', reason: why })
      continue
    }
    const wrong = await judge(name, made)
    if (wrong !== null) {
      lines.push({ ...base, state: 'skipped', reason: wrong })
      continue
    }
    added.set(name, made)
    placed.set(serverId(name), { name, entry: made })
    const short = [...lifted.secrets].filter(([, value]) => value.trim().length >= SHORTEST_SECRET)
    secrets.set(name, new Map(short))
    lines.push({ ...base, state: 'imported', reason: null, kept: short.map(([secret]) => secret) })
  }
  return { lines, added, secrets }
}

function fileItem({ isNew }: ServersText, text: string, source: string): BatchItem {
  return {
    id: 'mcp_registry',
    type: 'library',
    state: isNew ? 'imported' : 'updated',
    from: source,
    to: SERVERS_PATH,
    is_folder: false,
    reason: null,
    hash: hashOf([{ path: 'mcp_registry.yaml', content: Buffer.from(text), isExecutable: false }]),
    content_hash: null,
    version: null,
    signature: 'unsigned',
    dialect: 'mcp',
    warnings: [],
    proposed: { secrets: [], grants: [], requires: [] },
    mapped_from: [],
  }
}

async function keepBefore({ batch }: Batch, { text }: ServersText, means: Means): Promise<void> {
  const files = [{ path: 'mcp_registry.yaml', content: Buffer.from(text), isExecutable: false }]
  const place = { root: keptAt(means.userSpace, batch), within: null }
  const item = { id: 'mcp_registry', to: SERVERS_PATH, type: 'library', is_folder: false, files } as const
  await put(item, place, 'nothing', means)
}
