import { basename, dirname } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import { keepAll } from '../shared/redact.ts'
import type { ItemType } from '../shared/tool-type.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { notFound } from '../spaces/not-found.ts'
import { removeItem } from '../spaces/write.ts'
import type { VersionSummary } from '../store/store.ts'
import { assertMeant } from './assert-meant.ts'
import { assertOwnFile } from './assert-own-file.ts'
import type { Link, Ticket, Wish, Work } from './call.ts'
import { itemWrites } from './item-writes.ts'
import type { Means } from './means.ts'

/** An item to be removed from the file space it was found in, or by a person from the registry. What is shipped stays. */
export async function deleteWork(
  wish: Extract<Wish, { kind: 'delete' }>,
  lookup: Lookup,
  ticket: Ticket,
  { store }: Means,
): Promise<Work> {
  lookup.freshen(true)
  const { source } = wish
  const target = await targetOf(wish, lookup, ticket)
  const { link, path, isFolder, contentHash, what } = target
  if (path === null && ticket.caller.kind !== 'person') throw personOnly(target)
  if (!wish.isConfirmed || (path === null && source !== 'registry')) {
    throw unconfirmed(target, wish, path === null ? await store.registry.versions(link.id) : [])
  }
  return {
    item: link,
    action: 'delete',
    chain: [link],
    demands: [
      { op: 'tool', id: link.id, action: 'delete' },
      ...itemWrites(path === null ? [] : [path], ticket),
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { item_id: link.id, source: link.space, content_hash: contentHash },
    redact: keepAll,
    preview: () => ({ tool_type: what, would_remove: path ?? link.space }),
    warnings: [],
    async perform() {
      const warnings =
        path === null
          ? []
          : await removeItem(path, isFolder, link.space === 'user' ? null : lookup.projectPath)
      if (path === null) await store.registry.remove(link.id)
      lookup.freshen(true)
      const output = `Deleted ${what ?? 'unreadable'} "${link.id}" from ${link.space}`
      return { data: { output, tool_id: link.id, source: link.space, path }, warnings }
    },
  }
}

/** Others may stand on a version, so it does not go at the word of an agent. */
function personOnly({ link: { id }, itemType }: Target): KiwiError {
  const message = `Cannot delete "${id}": it is in the registry, which only a person removes from`
  return new KiwiError('PERMISSION_DENIED', message, {
    hint: `Ask the person to run: ${commandFor(id, itemType)}`,
    details: { layer: 'machine', rule: 'person-only', op: 'tool', resource: 'delete' },
  })
}

function commandFor(id: string, itemType: ItemType): string {
  return `kiwi delete ${id}${itemType === 'tool' ? '' : ` --type ${itemType}`} --location registry --yes`
}

/** What would go, and the call that does it. */
function unconfirmed(
  { link, path, isFolder, itemType }: Target,
  { ref, source }: Extract<Wish, { kind: 'delete' }>,
  versions: readonly VersionSummary[],
): KiwiError {
  const numbers = versions.map(({ version }) => version)
  const where = path === null ? 'the registry' : link.space
  const goes =
    path === null
      ? `${numbers.length === 1 ? 'its one version' : `all ${numbers.length} versions`} (${numbers.join(', ')})`
      : `${isFolder ? 'the folder ' : ''}"${isFolder ? dirname(path) : path}"`
  const location = source ?? (path === null ? 'registry' : null)
  const parameters = { ...(location === null ? {} : { location }), confirm: true }
  const item_id = ref.category === null ? link.id : `${ref.category}/${ref.name}`
  const reason = `it was not confirmed, so nothing was changed; ${goes} would go from ${where}`
  return new KiwiError('CONFIRM_REQUIRED', `Cannot delete "${link.id}": ${reason}`, {
    ...(path === null
      ? { hint: `Confirm it for location "registry": ${commandFor(link.id, itemType)}` }
      : {}),
    fix: { call: 'execute', arguments: { item_type: itemType, action: 'delete', item_id, parameters } },
    details: { source: link.space, path, versions: numbers },
  })
}

interface Target {
  readonly link: Link
  /** What it is; of what cannot be read, what it was asked for as. */
  readonly itemType: ItemType
  readonly path: string | null
  /** It is the manifest of a folder, and everything in the folder goes with it. */
  readonly isFolder: boolean
  readonly contentHash: string | null
  /** Its type; null when it cannot be read. */
  readonly what: string | null
}

/** The item that is meant. A file that cannot be read has only its name, and can be deleted by it: else it would stay for ever. */
async function targetOf(
  { ref, itemType: asked, source: space }: Extract<Wish, { kind: 'delete' }>,
  lookup: Lookup,
  ticket: Ticket,
): Promise<Target> {
  const source = space ?? undefined
  let item: Item | null
  try {
    item = await lookup.find(ref, asked, source)
  } catch (error) {
    const broken = await lookup.broken(ref, asked, source)
    if (broken === null) throw error
    const { path } = broken
    // A piece of knowledge may be called SKILL as well, and is a file.
    const isFolder = asked !== 'knowledge' && ['tool.yaml', 'SKILL.md'].includes(basename(path))
    const link = { id: ref.name, version: null, space: broken.space }
    return { link, itemType: asked, path, isFolder, contentHash: null, what: null }
  }
  if (item === null) throw notFound(ref, asked)
  assertMeant('delete', item, asked, ticket)
  assertOwnFile('delete', item)
  const { id, manifest, path, contentHash, form } = item
  if (item.space === 'builtin') {
    throw new KiwiError('BUILTIN_PROTECTED', `Cannot delete "${id}": it is shipped with Kiwi`)
  }
  const link = { id, version: manifest.version, space: item.space }
  const itemType = itemTypeOf(manifest.tool_type)
  return { link, itemType, path, isFolder: form === 'folder', contentHash, what: manifest.tool_type }
}
