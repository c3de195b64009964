import { join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import type { FieldFault } from '../shared/field-faults.ts'
import type { JsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { keepAll } from '../shared/redact.ts'
import { TYPE_RULES, itemTypeOf } from '../shared/tool-type.ts'
import { checkBundle } from '../spaces/bundle.ts'
import { toNewVersion } from '../spaces/describe.ts'
import type { Item } from '../spaces/item.ts'
import { BODY } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Manifest } from '../spaces/manifest.ts'
import { checkExecutor, invalidManifest, readManifest } from '../spaces/manifest.ts'
import { readyCall } from '../spaces/ready-call.ts'
import type { SignedBy } from '../spaces/statement.ts'
import type { ItemWrite } from '../spaces/write.ts'
import { targetOf, writeItem } from '../spaces/write.ts'
import type { ItemFile } from '../store/store.ts'
import type { Location, Wish, Work } from './call.ts'
import type { Means } from './means.ts'
import { documentText, unplacedItem } from './unplaced-item.ts'
import { linksOf } from './run-work.ts'

/** An item to be made: everything about it is checked before the first byte is written. */
export async function createWork(
  { item: given, location }: Extract<Wish, { kind: 'create' }>,
  lookup: Lookup,
  means: Means,
  by: SignedBy,
): Promise<Work> {
  const { raw, files } = given
  const { manifest, warnings } = readManifest(raw, { stem: null, category: null })
  const faults = [...checkExecutor(manifest), ...checkAuthored(manifest, files)]
  if (faults.length > 0) throw invalidManifest(manifest.tool_id, faults)
  checkBundle(manifest.tool_id, files)
  const text = given.text ?? (await textOf(manifest, raw, files))
  if (Buffer.byteLength(text) > LIMITS.itemBytes) {
    throw new KiwiError(
      'MESSAGE_TOO_LARGE',
      `Cannot create "${manifest.tool_id}": its manifest is over ${LIMITS.itemBytes} bytes`,
    )
  }
  const item = unplacedItem({ raw, manifest, text, files }, location)
  await assertFree(item, location, lookup, means)
  const plan = await means.chain.resolver.plan(item, lookup)
  const write = location === 'registry' ? null : await writeOf(item, location, lookup, means)
  return {
    item: { id: item.id, version: manifest.version, space: location },
    action: 'create',
    chain: linksOf(plan),
    demands: [
      { op: 'tool', id: item.id, action: 'create' },
      ...(write === null ? [] : [{ op: 'write', path: targetOf(write) } as const]),
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { tool_id: item.id, location, content_hash: item.contentHash },
    redact: keepAll,
    preview: () => ({
      executor_chain: plan.chain,
      tool_type: manifest.tool_type,
      would_write: write === null ? 'registry' : targetOf(write),
    }),
    warnings,
    async perform() {
      const placedItem = { ...item, path: write === null ? null : targetOf(write) }
      const signed = await means.signer.sign(placedItem, plan.chain.slice(1), by)
      const signedText = signed.text ?? text
      if (write === null)
        await means.store.registry.publish(await toNewVersion({ ...item, text: signedText }, null))
      else await writeItem({ ...write, text: signedText })
      lookup.freshen(true)
      const ref = {
        name: item.id,
        category: null,
        version: location === 'registry' ? manifest.version : null,
      }
      const placed = await lookup.find(ref, itemTypeOf(manifest.tool_type), location)
      return { data: createdData(placed ?? item, location), warnings: signed.warnings }
    },
  }
}

function createdData({ id, manifest, contentHash, path }: Item, location: Location): JsonObject {
  return {
    output: `Created ${manifest.tool_type} "${id}" ${manifest.version} in ${location}`,
    tool_id: id,
    version: manifest.version,
    source: location,
    path,
    content_hash: contentHash,
    call: readyCall(manifest),
  }
}

/** What an author must give, and what no item may carry. */
function checkAuthored(manifest: Manifest, files: readonly ItemFile[]): readonly FieldFault[] {
  const faults: FieldFault[] = []
  if (manifest.tool_type === 'primitive')
    faults.push({ name: 'tool_type', reason: 'primitives are code; they cannot be created' })
  if (manifest.description.trim() === '')
    faults.push({ name: 'description', reason: 'missing; search finds items by it' })
  if (files.length > 0 && !TYPE_RULES[manifest.tool_type].hasFiles) {
    faults.push({ name: 'files', reason: `type ${manifest.tool_type} carries none` })
  }
  if (manifest.tool_type === 'knowledge' && files.some(({ path }) => path !== BODY)) {
    faults.push({ name: 'files', reason: `a piece of knowledge is one document, ${BODY}` })
  }
  return faults
}

/** Ids of shipped executors cannot be taken, and an item that is there is never replaced by another. */
async function assertFree(
  { id, manifest }: Item,
  location: Location,
  lookup: Lookup,
  { store }: Means,
): Promise<void> {
  if ((await store.registry.reserved()).has(id)) {
    throw new KiwiError(
      'RESERVED_ID',
      `Cannot create "${id}": the id belongs to a tool that is shipped with Kiwi`,
    )
  }
  if (location === 'registry') return
  lookup.freshen(true)
  const itemType = itemTypeOf(manifest.tool_type)
  const hint = 'Choose another id, or delete it first with parameters.confirm = true'
  const broken = await lookup.broken({ name: id, category: null, version: null }, itemType, location)
  if (broken !== null)
    throw new KiwiError('CONFLICT', takenBy(id, broken.path), { hint, details: { ...broken } })
  const there = await lookup.standing(id, itemType, location)
  if (there === null) return
  const standing = { item_type: itemTypeOf(there.manifest.tool_type), item_id: id, source: location }
  throw new KiwiError('CONFLICT', takenBy(id, there.path), {
    hint,
    fix: { call: 'load', arguments: standing },
    details: { path: there.path },
  })
}

function takenBy(id: string, path: string | null): string {
  return `Cannot create "${id}": it is already there at "${path}"`
}

/** Where and how an item is written to a file space. */
export async function writeOf(
  item: Item,
  location: 'project' | 'user',
  { projectPath }: Lookup,
  { userSpace }: Means,
): Promise<ItemWrite> {
  if (location === 'project' && projectPath === null) {
    throw new KiwiError('PROJECT_PATH_REQUIRED', `Cannot write "${item.id}": no project folder is known`)
  }
  const isDocument = item.manifest.tool_type === 'knowledge'
  return {
    root: location === 'user' || projectPath === null ? userSpace : join(projectPath, '.ai'),
    within: location === 'user' ? null : projectPath,
    id: item.id,
    category: item.manifest.category,
    isDocument,
    text: item.text ?? (await textOf(item.manifest, item.raw, await item.files())),
    files: isDocument ? [] : await item.files(),
    overwrite: false,
  }
}

async function textOf(manifest: Manifest, raw: JsonObject, files: readonly ItemFile[]): Promise<string> {
  if (manifest.tool_type === 'knowledge') {
    const body = files.find(({ path }) => path === BODY)
    return documentText(raw, body === undefined ? '' : Buffer.from(body.content).toString('utf8'))
  }
  const { stringify } = await import('yaml')
  return stringify(raw)
}
