import { join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import type { ItemName } from '../shared/ids.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import { statOf } from './disk.ts'
import type { Item } from './item.ts'
import type { FoundEntry, Learn } from './read-servers.ts'
import { readServersFile } from './read-servers.ts'
import type { LeftOut } from './scan.ts'
import type { ServerEntry } from './server-entry.ts'
import { mergeEntries, serverId } from './server-entry.ts'
import { serverItem, shippedEntry, whyNoServer } from './server-item.ts'

/** The servers that the `mcp_registry.yaml` of one space names, as items. */
export interface ServerRegistry {
  /** Grows whenever the file, or one it inherits from, was seen to have changed, and when it was read. */
  readonly generation: number
  /** Looks whether the file is still what it was. */
  freshen(): void
  /** As the files were when they were last looked at. */
  read(): Maybe<Servers>
  /** As they were last read. */
  readonly last: Servers
  isCurrent(item: Item): boolean
  /** One that stands there and cannot be used is an error, not an absence. */
  find(id: ItemName): Promise<Item | null>
}

interface Servers {
  /** By path and id. */
  readonly items: ReadonlyMap<string, Item>
  /** What each entry says by itself and of those below it, by id. */
  readonly entries: ReadonlyMap<string, ServerEntry>
  readonly faults: readonly LeftOut[]
  readonly broken: ReadonlyMap<string, LeftOut>
}

interface RegistryMeans {
  readonly space: 'project' | 'user'
  readonly root: string
  readonly within: string | null
  /** Whose entries are overridden key by key. */
  readonly below: ServerRegistry | null
  /** A server that Kiwi ships, or null. */
  readonly shipped: (id: string) => Promise<Item | null>
  readonly learn?: Learn | undefined
}

const NOTHING: Servers = { items: new Map(), entries: new Map(), faults: [], broken: new Map() }

/** Where the servers of a space stand. */
export function registryFile(root: string): string {
  return join(root, 'config', 'mcp_registry.yaml')
}

export function openServerRegistry(means: RegistryMeans): ServerRegistry {
  const { root, below } = means
  const file = registryFile(root)
  let stamp: string | null = null
  let generation = 0
  let last = NOTHING
  let known: { readonly stamp: string; servers: Maybe<Servers> } | null = null

  const stampNow = (): string => {
    const stat = statOf(file)
    const own = stat === null ? '' : `${stat.mtimeMs}:${stat.size}:${stat.ino}`
    // Where nothing stands, nothing is inherited either.
    if (own === '' || below === null) return own
    below.freshen()
    return `${own};${below.generation}`
  }
  const freshen = (): void => {
    const [before, now] = [stamp ?? '', stampNow()]
    stamp = now
    if (now !== before) generation += 1
  }
  const read = (): Maybe<Servers> => {
    if (stamp === null) freshen()
    if (stamp === null || stamp === '') {
      last = NOTHING
      return NOTHING
    }
    if (known?.stamp !== stamp) known = ask(stamp)
    return after(known.servers, note)
  }
  const ask = (at: string): NonNullable<typeof known> => {
    const reading = readAll(means, file)
    const asked: NonNullable<typeof known> = { stamp: at, servers: reading }
    reading.then(
      (servers) => (asked.servers = servers),
      () => void (known === asked && (known = null)),
    )
    return asked
  }
  const note = (found: Servers): Servers => {
    if (found !== last) generation += 1
    last = found
    return found
  }

  return {
    get generation() {
      return generation
    },
    get last() {
      return last
    },
    freshen,
    read,
    isCurrent(item) {
      return known?.stamp === stamp && last.items.get(item.path ?? '')?.contentHash === item.contentHash
    },
    async find(id) {
      const { items, broken } = await read()
      const fault = broken.get(id)
      if (fault !== undefined)
        throw new KiwiError('INVALID_CONFIG', fault.reason, { details: { path: file } })
      return Array.from(items.values()).find((item) => item.id === id) ?? null
    },
  }
}

async function readAll(
  { space, within, below, shipped, learn }: RegistryMeans,
  file: string,
): Promise<Servers> {
  const { entries: written, faults: wrong } = await readServersFile(file, within, learn)
  const lower = (await below?.read())?.entries ?? new Map<string, ServerEntry>()
  const updatedAt = new Date(statOf(file)?.mtimeMs ?? 0).toISOString()
  const items = new Map<string, Item>()
  const entries = new Map<string, ServerEntry>()
  const faults: LeftOut[] = []
  const broken = new Map<string, LeftOut>()
  const note = (name: string | null, { line, column }: FoundEntry['at'], reason: string): void => {
    const fault = { path: file, reason: `Cannot use "${file}:${line}:${column}": ${reason}` }
    faults.push(fault)
    if (name !== null) broken.set(serverId(name), fault)
  }
  for (const { name, reason, ...at } of wrong) note(name, at, reason)
  for (const [name, { entry, at }] of written) {
    const id = serverId(name)
    const own = mergeEntries(lower.get(id) ?? {}, entry)
    entries.set(id, own)
    const base = own.command === undefined && own.url === undefined ? await shipped(id) : null
    const whole = base === null ? own : mergeEntries(shippedEntry(base), own)
    const why = whyNoServer(whole)
    const path = `${file}#${name}`
    if (why === null) items.set(path, serverItem(whole, { name, space, path, updatedAt }))
    else note(name, at, `"${name}" ${why}`)
  }
  return { items, entries, faults, broken }
}
