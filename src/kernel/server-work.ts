import { KiwiError } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import { ItemName } from '../shared/ids.ts'
import { canonicalJson } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import { createRedact } from '../shared/redact.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { readServers } from '../spaces/read-servers.ts'
import { SERVER_NAME, ServerEntry, mergeEntries, serverId } from '../spaces/server-entry.ts'
import { serverItem, shippedEntry, whyNoServer } from '../spaces/server-item.ts'
import { assertSecretValue } from '../store/vault/secrets.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'
import { liftEntry, nextCommands, settleServer } from './server-secrets.ts'
import { openServersFile } from './servers-file.ts'
import { trustLaunches } from './trust-launches.ts'

/** A person names a server in `mcp_registry.yaml`. What looks like a credential goes to the vault. */
export async function addServerWork(
  { name: given, entry, to }: Extract<Wish, { kind: 'add_server' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, 'add')
  assertName(given)
  lookup.freshen(true)
  const file = openServersFile(to, lookup, means)
  const there = (await readServers(file.text, file.path)).entries
  const name = writtenName(given, there.keys(), given)
  const standing = await lookup.find(refOf(name), 'mcp')
  if (standing !== null && standing.form !== 'entry' && standing.space === to) throw fileThere(name, standing)
  const base = standing?.space === 'builtin' || standing?.form === 'entry' ? standing : null
  assertReachable(name, entry, base)
  assertEntry(name, entry)
  const lifted = await liftEntry(name, entry, means)
  for (const [secret, value] of lifted.secrets) assertSecretValue(secret, value)
  const written = there.get(name)?.entry
  const next =
    written === undefined ? lifted.entry : mergeEntries({ ...written, enabled: undefined }, lifted.entry)
  // What is wrong with it is said before anything of it is written.
  const origin = { name, space: to, path: `${file.path}#${name}`, updatedAt: '' }
  const isInherited = base !== null && next.command === undefined && next.url === undefined
  const whole = isInherited ? mergeEntries(shippedEntry(base), next) : next
  await means.chain.resolver.plan(serverItem(whole, origin), lookup)
  const { write } = await file.change(new Map([[name, next]]))
  const names = [...lifted.secrets.keys()]
  return {
    ...common('server.add', name, to),
    parameters: { name, to, path: file.path, secrets: names },
    redact: names.length === 0 ? keepAll : createRedact(lifted.secrets),
    preview: () => ({ would_write: file.path, name, keys: Object.keys(next), secrets: names }),
    async perform() {
      for (const [secret, value] of lifted.secrets) await means.secrets.vault.set(secret, value)
      await write()
      const needs = await settleServer(name, names, lookup, { ticket, means })
      if (to === 'project') await trustLaunches(lookup, ticket.caller, means, new Set([serverId(name)]))
      const { projectPath } = lookup
      const isTrusted =
        to === 'user' || projectPath === null || (await means.chain.judge.isTrusted(projectPath))
      return {
        data: {
          output: `${doneTo(written, next, names)} "${name}" in ${file.path}`,
          name,
          id: serverId(name),
          path: file.path,
          kept: names,
          granted: names,
          next: [...(isTrusted ? [] : ['kiwi trust']), ...nextCommands(name, needs)],
        },
        warnings: [],
      }
    },
  }
}

/** The name that a server has in a file, however somebody spells it. */
function writtenName<T>(name: string, names: Iterable<string>, otherwise: T): string | T {
  return Array.from(names).find((written) => serverId(written) === serverId(name)) ?? otherwise
}

function doneTo(written: ServerEntry | undefined, next: ServerEntry, secrets: readonly string[]): string {
  if (written === undefined) return 'Added'
  const isSame = secrets.length === 0 && spelled(written) === spelled(next)
  return isSame ? 'Left as it was:' : 'Changed'
}

/** Its transport stands under one of two names. */
function spelled({ type, transport = type, ...rest }: ServerEntry): string {
  return canonicalJson({ ...rest, transport })
}

/** A person takes a server out of `mcp_registry.yaml`. Its grants go with it; its secrets stay in the vault. */
export async function removeServerWork(
  { name, from }: Extract<Wish, { kind: 'remove_server' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, 'remove')
  assertName(name)
  const places = from === null ? (lookup.projectPath === null ? USER : BOTH) : ([from] as const)
  const found = []
  for (const to of places) {
    const file = openServersFile(to, lookup, means)
    const { entries } = await readServers(file.text, file.path)
    const written = writtenName(name, entries.keys(), undefined)
    if (written !== undefined) found.push({ to, file, written })
  }
  const [chosen, another] = found
  if (chosen === undefined) throw notListed(name, await lookup.find(refOf(name), 'mcp'))
  if (another !== undefined) {
    throw new KiwiError('AMBIGUOUS_ID', `Cannot remove "${name}": the project and the user space name it`, {
      hint: `Say which: kiwi remove ${name} --from project, or --from user`,
    })
  }
  const { to, file, written } = chosen
  const { write } = await file.change(new Map([[written, null]]))
  return {
    ...common('server.remove', name, to),
    parameters: { name, from: to, path: file.path },
    redact: keepAll,
    preview: () => ({ would_write: file.path, name }),
    async perform() {
      await write()
      const left = await lookup.find(refOf(name), 'mcp')
      if (left === null || left.form !== 'entry') await means.store.grants.revoke(serverId(name), null)
      return { data: { output: `Removed "${name}" from ${file.path}`, name, path: file.path }, warnings: [] }
    },
  }
}

const USER = ['user'] as const
const BOTH = ['project', 'user'] as const

function common(action: string, name: string, space: 'user' | 'project') {
  return {
    item: { id: serverId(name), version: null, space },
    action,
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action }],
    isRepeatable: false,
    isReadOnly: false,
    warnings: [],
  } as const
}

function refOf(name: string): { name: ItemName; category: null; version: null } {
  return { name: ItemName.parse(serverId(name)), category: null, version: null }
}

function assertName(name: string): void {
  if (SERVER_NAME.test(name)) return
  throw new KiwiError('INVALID_PARAMETERS', `Cannot use "${name}" as the name of a server`, {
    hint: 'Use letters, digits, "_" and "-": it stands before the dot of its tools',
    details: { missing: [], invalid: [{ name: 'name', reason: 'not a name for a server' }] },
  })
}

function assertReachable(name: string, entry: ServerEntry, base: Item | null): void {
  const isInherited = base !== null && entry.command === undefined && entry.url === undefined
  const why = isInherited ? null : whyNoServer(entry)
  if (why === null) return
  throw new KiwiError('INVALID_PARAMETERS', `Cannot add "${name}": it ${why}`, {
    hint: `kiwi add ${name} -- <command> [args…], or kiwi add ${name} <url>`,
    details: { missing: ['command'], invalid: [] },
  })
}

/** As it would be read from the file. */
function assertEntry(name: string, entry: ServerEntry): void {
  const read = ServerEntry.safeParse(entry, IN_WORDS)
  if (read.success) return
  const invalid = fieldFaults(read.error.issues)
  const [fault] = invalid
  throw new KiwiError('INVALID_PARAMETERS', `Cannot add "${name}": its "${fault?.name}" ${fault?.reason}`, {
    hint: `kiwi add ${name} <url> for a server at an address, kiwi add ${name} -- <command> [args…] for a program`,
    details: { missing: [], invalid },
  })
}

function fileThere(name: string, { path, space }: Item): KiwiError {
  return new KiwiError('CONFLICT', `Cannot add "${name}": "${path}" is a server of this name already`, {
    hint: `Change that file, or take it away first: kiwi delete ${serverId(name)} --type mcp --location ${space}`,
    details: { path },
  })
}

function notListed(name: string, standing: Item | null): KiwiError {
  const hint =
    standing?.space === 'builtin'
      ? `It is shipped with Kiwi, and off unless it is added`
      : standing === null
        ? 'kiwi servers shows which there are'
        : `It lies at "${standing.path}": kiwi delete ${standing.id} --type mcp`
  return new KiwiError('NOT_FOUND', `Cannot remove "${name}": no mcp_registry.yaml names it`, { hint })
}
