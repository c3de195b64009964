import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import { definitionDiff } from '../spaces/definitions/definition-changes.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Server } from '../spaces/listed.ts'
import type { CatalogTool } from '../store/catalog.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'
import { trustLaunches } from './trust-launches.ts'

type TrustServerWish = Extract<Wish, { kind: 'trust_server' }>

/** A person lets pass what an upstream starts, and what it says of its tools, exactly as it was shown to them. */
export async function trustServerWork(
  wish: TrustServerWish,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, 'trust')
  const { store, chain } = means
  const { server, tool } = await serverIn(wish.name, lookup)
  const { item, key } = server
  const { trust } = await chain.resolver.plan(item, lookup)
  const isLaunchNew = trust.refusal?.details['reason'] === 'launch'
  if (trust.refusal !== null && !isLaunchNew) throw trust.refusal
  const waiting = (await store.catalog.tools(key)).filter(
    ({ name, state }) => state === 'quarantined' && (tool === null || name === tool),
  )
  if (tool !== null && waiting.length === 0) await assertListed(server, tool, store.catalog)
  assertSeen(wish, key, waiting)
  const shown = waiting.map(shownChange)
  return {
    item: { id: item.id, version: item.manifest.version, space: item.space },
    action: 'trust',
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action: 'trust' }],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { server: item.id, identity: key, tools: shown },
    redact: keepAll,
    preview: () => ({
      server: item.id,
      space: item.space,
      path: item.path,
      identity: key,
      launch: launchOf(item),
      is_launch_new: isLaunchNew,
      tools: shown,
    }),
    warnings: [],
    async perform() {
      if (isLaunchNew) await trustLaunches(lookup, ticket.caller, means, item.id)
      if (waiting.length > 0) await store.catalog.approve(key, waiting)
      lookup.freshen(true)
      const what = [...(isLaunchNew ? ['how it is started'] : []), ...waiting.map(({ name }) => name)]
      return {
        data: {
          output: what.length === 0 ? `Nothing of "${server.name}" waits` : `Trusted: ${what.join(', ')}`,
          server: item.id,
          tools: waiting.map(({ name, pin }) => ({ name, pin })),
        },
        warnings: [],
      }
    },
  }
}

/** `acme` is a server, `acme.add` one of its tools. */
async function serverIn(
  name: string,
  lookup: Lookup,
): Promise<{ readonly server: Server; readonly tool: string | null }> {
  const dot = name.indexOf('.')
  const spoken = dot < 0 ? name : name.slice(0, dot)
  // What was written a moment ago counts.
  await lookup.syncIndex()
  const server = (await lookup.servers()).find(
    ({ name: known, item }) => known === spoken || item.id === spoken,
  )
  if (server !== undefined) return { server, tool: dot < 0 ? null : name.slice(dot + 1) }
  throw new KiwiError('NOT_FOUND', `Cannot trust "${name}": no server is called "${spoken}" here`, {
    hint: 'kiwi search mcp:* shows the servers of this project; without a name kiwi trust is about the project itself',
    details: { item_type: 'mcp', item_id: spoken },
  })
}

async function assertListed(
  { key, name }: Server,
  tool: string,
  catalog: Means['store']['catalog'],
): Promise<void> {
  if ((await catalog.tool(key, tool)) !== null) return
  throw new KiwiError('NOT_FOUND', `Cannot trust "${name}.${tool}": the server lists no such tool`, {
    hint: `kiwi load ${name} --type mcp asks the server what it has`,
    details: { item_type: 'tool', item_id: `${name}.${tool}` },
  })
}

/** What is let pass is what was looked at: nothing more and nothing else. */
function assertSeen({ name, seen }: TrustServerWish, key: string, waiting: readonly CatalogTool[]): void {
  if (seen === null) return
  const same = seen.identity === key && waiting.length === seen.pins.length
  if (same && waiting.every(({ pin }) => seen.pins.includes(pin))) return
  throw new KiwiError('CONFLICT', `Cannot trust "${name}": it has changed since it was shown`, {
    hint: 'Run the command again and look at what it is now',
  })
}

function shownChange(tool: CatalogTool): JsonObject & { readonly name: string } {
  const { name, pin, reason, findings } = tool
  return { name, pin, reason, findings, diff: definitionDiff(tool) }
}

/** What is started or reached, whole, with nothing filled in; names of variables and headers without what they hold. */
function launchOf({ manifest: { config, executor } }: Item): JsonObject {
  const { transport, command, args = [], env, cwd = null, url, url_template, headers } = config
  if (executor !== 'http_client')
    return { transport: 'stdio', command: command ?? null, args, env: namesIn(env), cwd }
  return { transport: transport ?? 'http', url: url ?? url_template ?? null, headers: namesIn(headers) }
}

function namesIn(value: JsonValue | undefined): readonly string[] {
  return isJsonObject(value) ? Object.keys(value) : []
}
