import { KiwiError } from '../shared/errors.ts'
import { GROUPS, serverName } from '../shared/groups.ts'
import type { ItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { Server } from './listed.ts'
import type { Lookup } from './lookup.ts'
import type { Meant } from './meant.ts'
import { meantBy } from './meant.ts'

/** The same, with the versions there are of what exists under another one, or the server that has no such tool. */
export async function versionNotFound(
  ref: ItemRef,
  itemType: ItemType,
  lookup: Pick<Lookup, 'find' | 'versions' | 'serverFor' | 'servers' | 'toolNames' | 'toolFault'>,
): Promise<KiwiError> {
  const there = ref.version === null ? null : await lookup.find({ ...ref, version: null }, itemType)
  if (there === null) {
    if (itemType !== 'tool') return notFound(ref, itemType)
    if (!ref.name.includes('.') && (await isWhole(ref, lookup))) return wholeNotFound(ref)
    const server = ref.name.includes('.') ? await lookup.serverFor(ref.name) : null
    if (server === null) return withMeant(notFound(ref, itemType), ref, lookup)
    const fault = await lookup.toolFault(server, toolIn(ref)).catch(() => null)
    return fault === null
      ? withMeant(toolNotFound(ref, server), ref, lookup)
      : toolUnusable(ref, server, fault)
  }
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

/** The same, with what may be meant. */
async function withMeant(
  missing: KiwiError,
  ref: ItemRef,
  lookup: Pick<Lookup, 'servers' | 'toolNames'>,
): Promise<KiwiError> {
  // A store that cannot be asked takes nothing from the answer there is.
  const { ids, server, tool } = await meantBy(ref, lookup).catch(() => NOBODY)
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

export function notFound(ref: ItemRef, itemType: ItemType): KiwiError {
  const named = ref.category === null ? ref.name : `${ref.category}/${ref.name}`
  const asked = ref.version === null ? named : `${named}@${ref.version}`
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
