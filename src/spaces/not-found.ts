import { KiwiError } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { Server } from './listed.ts'
import type { Lookup } from './lookup.ts'

/** The same, with the versions there are of what exists under another one, or the server that has no such tool. */
export async function versionNotFound(
  ref: ItemRef,
  itemType: ItemType,
  lookup: Pick<Lookup, 'find' | 'versions' | 'serverFor'>,
): Promise<KiwiError> {
  const there = ref.version === null ? null : await lookup.find({ ...ref, version: null }, itemType)
  if (there === null) {
    const server = ref.name.includes('.') ? await lookup.serverFor(ref.name) : null
    return server === null || itemType !== 'tool' ? notFound(ref, itemType) : toolNotFound(ref, server)
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

function toolNotFound(ref: ItemRef, { name, item }: Server): KiwiError {
  const tool = ref.name.slice(ref.name.indexOf('.') + 1)
  return new KiwiError(
    'NOT_FOUND',
    `Cannot find tool "${ref.name}": the server "${name}" has no tool "${tool}"`,
    {
      hint: `Load the server to see what it has, or search: mcp:${name}`,
      fix: { call: 'load', arguments: { item_type: 'mcp', item_id: item.id } },
      details: { item_type: 'tool', item_id: ref.name, server: name, tool },
    },
  )
}

export function notFound(ref: ItemRef, itemType: ItemType): KiwiError {
  const named = ref.category === null ? ref.name : `${ref.category}/${ref.name}`
  const asked = ref.version === null ? named : `${named}@${ref.version}`
  return new KiwiError('NOT_FOUND', `Cannot find ${itemType} "${asked}"`, {
    hint: 'Search for it: the id may be spelled differently, or it may be in another project',
    fix: { call: 'search', arguments: { query: ref.name.replaceAll(/[_.-]+/g, ' ') } },
    details: { item_type: itemType, item_id: asked },
  })
}
