import { basename } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import { GROUPS, serverName } from '../shared/groups.ts'
import type { ItemRef } from '../shared/ids.ts'
import { ItemName } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { SpaceName } from '../store/store.ts'
import type { Item } from './item.ts'
import type { Server } from './listed.ts'
import type { Lookup } from './lookup.ts'
import type { Meant } from './meant.ts'
import { meantBy } from './meant.ts'
import { switchedOff } from './switch-on.ts'

type Asked = Pick<
  Lookup,
  'find' | 'versions' | 'serverFor' | 'servers' | 'spaces' | 'toolNames' | 'toolFault'
>

/** Why nothing has this id here: what stands elsewhere, under another version, or at a server that is off or has no such tool. */
export async function versionNotFound(
  ref: ItemRef,
  itemType: ItemType,
  lookup: Asked,
  source?: SpaceName,
): Promise<KiwiError> {
  const elsewhere = source === undefined ? null : await lookup.find(ref, itemType).catch(() => null)
  if (source !== undefined && elsewhere !== null) return otherSpace(ref, itemType, source, elsewhere)
  const there = ref.version === null ? null : await lookup.find({ ...ref, version: null }, itemType)
  if (there === null) return itemType === 'tool' ? missingTool(ref, lookup) : absent(ref, itemType, lookup)
  return there.space === 'mcp' ? unversioned(ref, there) : otherVersion(ref, itemType, there, lookup)
}

async function missingTool(ref: ItemRef, lookup: Asked): Promise<KiwiError> {
  if (!ref.name.includes('.'))
    return (await isWhole(ref, lookup)) ? wholeNotFound(ref) : withMeant(notFound(ref, 'tool'), ref, lookup)
  const server = await lookup.serverFor(ref.name)
  if (server === null) {
    const off = await serverThatIsOff(ref, lookup)
    if (off === null) return withMeant(absent(ref, 'tool', lookup), ref, lookup)
    return off.space === 'builtin'
      ? neverAdded(ref, off)
      : switchedOff(`Cannot use "${ref.name}": the server "${serverName(off.id)}"`, off)
  }
  const fault = await lookup.toolFault(server, toolIn(ref)).catch(() => null)
  return fault === null
    ? withMeant(toolNotFound(ref, server), ref, lookup, server)
    : toolUnusable(ref, server, fault)
}

/** A server may be missing because the list it stands in cannot be read. */
function absent(ref: ItemRef, itemType: ItemType, lookup: Pick<Lookup, 'spaces'>): KiwiError {
  const plain = notFound(ref, itemType)
  const unread = itemType === 'mcp' || ref.name.includes('.') ? unreadServers(lookup) : null
  if (unread === null) return plain
  const { message, fix, details } = plain
  return new KiwiError('NOT_FOUND', message, {
    hint: `It may stand where nothing can be read. ${unread}`,
    ...(fix === undefined ? {} : { fix }),
    details,
  })
}

/** What is wrong with a list of servers, in words; null where nothing is. */
export function unreadServers({ spaces }: Pick<Lookup, 'spaces'>): string | null {
  const faults = spaces.flatMap((space) => space.faults())
  return faults.find(({ path }) => basename(path) === 'mcp_registry.yaml')?.reason ?? null
}

/** The server in front of the dot, where a person switched it off, or never switched it on. */
async function serverThatIsOff({ name }: ItemRef, lookup: Pick<Lookup, 'find'>): Promise<Item | null> {
  const said = ItemName.safeParse(name.slice(0, name.indexOf('.')))
  if (!said.success) return null
  const found = await lookup.find({ name: said.data, category: null, version: null }, 'mcp').catch(() => null)
  return found?.manifest.enabled === false ? found : null
}

function neverAdded(ref: ItemRef, { id }: Item): KiwiError {
  const { message, details } = notFound(ref, 'tool')
  const name = serverName(id)
  return new KiwiError('NOT_FOUND', `${message}: the server "${name}" is shipped, and nobody has added it`, {
    hint: `Ask the person to run: kiwi add ${name.replace(/^mcp_/, '')}`,
    fix: { call: 'load', arguments: { item_type: 'mcp', item_id: name } },
    details: { ...details, server: name },
  })
}

function otherSpace(ref: ItemRef, itemType: ItemType, source: SpaceName, there: Item): KiwiError {
  const { message, details } = notFound(ref, itemType)
  return new KiwiError('NOT_FOUND', `${message} in the space "${source}"`, {
    hint: `It is in the space "${there.space}": leave out "source"`,
    fix: { call: 'load', arguments: { item_type: itemType, item_id: askedFor(ref) } },
    details,
  })
}

/** What a server lists has no versions but the one it lists now. */
function unversioned(ref: ItemRef, there: Item): KiwiError {
  const { message, details } = notFound(ref, 'tool')
  return new KiwiError('NOT_FOUND', `${message}: no version of it is published`, {
    hint: `Leave out the version: "${there.id}" is what its server lists now`,
    fix: { call: 'load', arguments: { item_type: 'tool', item_id: there.id } },
    details,
  })
}

async function otherVersion(
  ref: ItemRef,
  itemType: ItemType,
  there: Item,
  lookup: Pick<Lookup, 'versions'>,
): Promise<KiwiError> {
  const versions = [...new Set([...(await lookup.versions(ref.name)), there.manifest.version])]
  const { message, details } = notFound(ref, itemType)
  return new KiwiError('NOT_FOUND', message, {
    hint: `It has ${versions.slice(0, MOST_NAMED).join(', ')}${versions.length > MOST_NAMED ? ' and others' : ''}`,
    fix: {
      call: 'load',
      arguments: {
        item_type: itemType,
        item_id: ref.category === null ? ref.name : `${ref.category}/${ref.name}`,
      },
    },
    details: { ...details, versions },
  })
}

const MOST_NAMED = 10

/** A server, or one of our own groups of tools, named without any of its tools. */
async function isWhole(ref: ItemRef, lookup: Pick<Lookup, 'find'>): Promise<boolean> {
  if (GROUPS.some((group) => group === ref.name)) return true
  const found = await lookup.find({ ...ref, version: null }, 'mcp').catch(() => null)
  return found?.manifest.tool_type === 'mcp_server'
}

function wholeNotFound(ref: ItemRef): KiwiError {
  const name = serverName(ref.name)
  const isOurs = GROUPS.some((group) => group === name)
  const what = isOurs ? 'a group of tools' : 'an MCP server'
  return new KiwiError('NOT_FOUND', `Cannot find tool "${ref.name}": it is ${what}`, {
    hint: `Name one of its tools: item_id "${name}.<tool>"`,
    fix: isOurs
      ? { call: 'search', arguments: { query: name } }
      : { call: 'load', arguments: { item_type: 'mcp', item_id: name } },
    details: { item_type: 'tool', item_id: ref.name },
  })
}

/** The same, with what may be meant. A server that is there is meant itself, whatever else is called nearly so. */
async function withMeant(
  missing: KiwiError,
  ref: ItemRef,
  lookup: Pick<Lookup, 'servers' | 'toolNames'>,
  known: Server | null = null,
): Promise<KiwiError> {
  // A store that cannot be asked takes nothing from the answer there is.
  const { ids, server: near, tool } = await meantBy(ref, lookup).catch(() => NOBODY)
  const server = near === null ? null : (known?.name ?? near)
  const [best] = ids
  if (best === undefined && server === null) return missing
  const { message, details } = missing
  if (best !== undefined) {
    return new KiwiError('NOT_FOUND', message, {
      hint: `Did you mean ${ids.join(', ')}?`,
      fix: { call: 'load', arguments: { item_type: 'tool', item_id: best } },
      details: { ...details, did_you_mean: ids },
    })
  }
  return new KiwiError('NOT_FOUND', message, {
    hint: `Search what the server "${server}" has`,
    fix: searchIn(server ?? '', tool),
    details,
  })
}

const NOBODY: Meant = { ids: [], server: null, tool: '' }

function searchIn(server: string, tool: string): { readonly call: 'search'; readonly arguments: JsonObject } {
  return { call: 'search', arguments: { query: `mcp:${server} ${tool.replaceAll(/[_.-]+/g, ' ')}` } }
}

function toolIn({ name }: ItemRef): string {
  return name.slice(name.indexOf('.') + 1)
}

/** It is there, and means nothing: whoever looks for it elsewhere looks in vain. */
function toolUnusable(ref: ItemRef, { name }: Server, fault: string): KiwiError {
  const tool = toolIn(ref)
  return new KiwiError('NOT_FOUND', `Cannot use tool "${ref.name}" as "${name}" lists it: ${fault}`, {
    hint: `The server has to define "${tool}" once, and in a way that can be read`,
    fix: { call: 'load', arguments: { item_type: 'mcp', item_id: name } },
    details: { item_type: 'tool', item_id: ref.name, server: name, tool, reason: 'unusable' },
  })
}

function toolNotFound(ref: ItemRef, { name }: Server): KiwiError {
  const tool = toolIn(ref)
  return new KiwiError(
    'NOT_FOUND',
    `Cannot find tool "${ref.name}": the server "${name}" has no tool "${tool}"`,
    {
      hint: `Search what the server has: mcp:${name}`,
      fix: searchIn(name, tool),
      details: { item_type: 'tool', item_id: ref.name, server: name, tool },
    },
  )
}

function askedFor({ name, category, version }: ItemRef): string {
  const named = category === null ? name : `${category}/${name}`
  return version === null ? named : `${named}@${version}`
}

export function notFound(ref: ItemRef, itemType: ItemType): KiwiError {
  const asked = askedFor(ref)
  const details = { item_type: itemType, item_id: asked }
  if (itemType === 'mcp')
    return new KiwiError('NOT_FOUND', `Cannot find the server "${asked}"`, {
      hint: 'Search mcp:* for those there are',
      fix: { call: 'search', arguments: { query: 'mcp:*' } },
      details,
    })
  return new KiwiError('NOT_FOUND', `Cannot find ${itemType} "${asked}"`, {
    hint: 'Search for it: the id may be spelled differently, or it may be in another project',
    fix: { call: 'search', arguments: { query: ref.name.replaceAll(/[_.-]+/g, ' ') } },
    details,
  })
}
