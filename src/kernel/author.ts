import { z } from 'zod'
import type { Plan } from '../chain/plan.ts'
import { placeOf } from '../chain/verify.ts'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { FieldFault } from '../shared/field-faults.ts'
import { LIMITS } from '../shared/limits.ts'
import { TYPE_RULES } from '../shared/tool-type.ts'
import { checkBundle } from '../spaces/bundle.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { checkExecutor, invalidManifest } from '../spaces/manifest.ts'
import { relationsIn } from '../spaces/relations.ts'
import { readWritten } from '../spaces/read-item.ts'
import type { WrittenItem } from '../spaces/written-item.ts'
import { assertName } from './assert-name.ts'
import type { Caller, Location } from './call.ts'
import type { Means } from './means.ts'

/** An item that is about to be written: read from its very bytes, checked, with its chain known. */
export interface Authored {
  readonly item: Item
  readonly plan: Plan
  readonly written: WrittenItem
  readonly warnings: readonly string[]
}

/** What is done with it, where it will lie, and who makes it. */
interface Circumstances {
  readonly action: string
  readonly stem: string
  readonly category: string | null
  readonly location: Location
  readonly lookup: Lookup
  readonly means: Means
}

/** Everything about an item is checked before the first byte of it is written, and every fault is named at once. */
export async function author(written: WrittenItem, circumstances: Circumstances): Promise<Authored> {
  const { lookup, means, action } = circumstances
  const item = await checked(written, circumstances)
  // What it runs through may have been written a moment ago.
  lookup.freshen(true)
  await assertName(item, action, lookup)
  const plan = await means.chain.resolver.plan(item, lookup).catch((error: unknown) => {
    throw error instanceof KiwiError
      ? error.withMessage(error.message.replace(/^Cannot run /, `Cannot ${action} `))
      : error
  })
  const isKnowledge = item.manifest.tool_type === 'knowledge'
  const related = isKnowledge ? relationsIn(item.manifest).warnings : []
  return { item, plan, written, warnings: [...item.warnings, ...related] }
}

/** What an item is signed with: the signer and whoever asks for it. */
interface Signature {
  /** Where it will lie; null in the registry. */
  readonly path: string | null
  readonly means: Means
  readonly by: Caller['kind']
}

/** The same with signature lines in place. The key may have to be made for it, so it is part of the doing. */
export async function signed(
  { item, plan, written }: Authored,
  { path, means, by }: Signature,
): Promise<Omit<Authored, 'plan'>> {
  const { text, files, warnings } = await means.signer.sign({ ...item, path }, plan.chain.slice(1), by)
  const own = files.find((file) => file.path === item.raw['_file'])
  const content = text === null ? (own?.content ?? written.manifest.content) : Buffer.from(text)
  return {
    item: { ...item, text, files: async () => files },
    written: { ...written, manifest: { ...written.manifest, content } },
    warnings,
  }
}

/** What has no room for lines, such as JSON, has its signature in the store. A warning when it cannot be had. */
export async function signBeside(
  placed: Item,
  { chain }: Plan,
  { means, by }: Omit<Signature, 'path'>,
): Promise<readonly string[]> {
  const place = placeOf(placed)
  const executors = chain.slice(1)
  if (place === null || (await means.chain.verify(placed, executors)).state === 'signed') return []
  try {
    const stamp = await means.signer.stamp(placed, executors, by)
    await means.store.trust.sign({ place, content_hash: placed.contentHash, ...stamp })
    return []
  } catch (error) {
    return [`"${placed.id}" is not signed with your key: ${messageOf(error)}`]
  }
}

async function checked(written: WrittenItem, { stem, category, location }: Circumstances): Promise<Item> {
  const { manifest, kind } = written
  if (kind !== 'script' && manifest.content.length > LIMITS.itemBytes) {
    throw new KiwiError(
      'MESSAGE_TOO_LARGE',
      `Cannot write "${stem}": its ${kind === 'document' ? 'text' : 'manifest'} is over ${LIMITS.itemBytes} bytes`,
    )
  }
  const faults: FieldFault[] = []
  const gather = (error: unknown): null => {
    if (!(error instanceof KiwiError) || error.code !== 'INVALID_MANIFEST') throw error
    faults.push(...Faults.parse(error.details['invalid']))
    return null
  }
  const item = await readWritten(written, { stem, category }, location).catch(gather)
  try {
    checkBundle(stem, written.files)
  } catch (error) {
    gather(error)
  }
  if (item !== null) faults.push(...checkExecutor(item.manifest), ...checkAuthored(item, written))
  if (item === null || faults.length > 0) throw invalidManifest(stem, faults)
  return item
}

const Faults = z.array(z.object({ name: z.string(), reason: z.string() }))

/** Keys that begin with "_" say how Kiwi read an item: of a script all of them, of a SKILL.md the file. */
function foreignMarks({ raw }: Item, { kind, place }: WrittenItem): readonly FieldFault[] {
  const isDerived = (key: string): boolean =>
    kind === 'script' || (kind === 'folder' && place === 'directives' && key === '_file')
  return Object.keys(raw)
    .filter((key) => key.startsWith('_') && !isDerived(key))
    .map((name) => ({ name, reason: 'keys that begin with "_" are Kiwi\'s own' }))
}

/** What an author must give, and what no item may carry. */
function checkAuthored(item: Item, written: WrittenItem): readonly FieldFault[] {
  const { manifest } = item
  const { kind, files } = written
  const { tool_type, description } = manifest
  const faults: FieldFault[] = [...foreignMarks(item, written)]
  if (tool_type === 'primitive')
    faults.push({ name: 'tool_type', reason: 'primitives are code; they cannot be created' })
  if (description.trim() === '')
    faults.push({ name: 'description', reason: 'missing; search finds items by it' })
  if (files.length > 0 && !TYPE_RULES[tool_type].hasFiles) {
    faults.push({ name: 'files', reason: `type ${tool_type} carries none` })
  } else if (files.length > 0 && kind !== 'folder') {
    faults.push({ name: 'files', reason: `a ${tool_type} that is one ${kind} carries no others` })
  }
  return faults
}
