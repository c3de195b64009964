import { compare } from 'semver'
import { KiwiError } from '../shared/errors.ts'
import { keepAll } from '../shared/redact.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import { withVersion } from '../spaces/change-item.ts'
import type { Item } from '../spaces/item.ts'
import { withInputs } from '../spaces/directive/with-inputs.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { notFound } from '../spaces/not-found.ts'
import type { ItemWrite } from '../spaces/write.ts'
import { removeItem, targetOf } from '../spaces/write.ts'
import { writtenOf } from '../spaces/written-item.ts'
import type { Ticket, Wish, Work } from './call.ts'
import { writtenData } from './create-work.ts'
import type { Means } from './means.ts'
import { freePatch } from './next-version.ts'
import { newPlace } from './place.ts'
import { linksOf } from './run-work.ts'
import { authorAgain } from './update-work.ts'
import { writeSigned } from './write-signed.ts'

/** What an item was in an earlier version becomes its latest, as a version of its own: nothing that was is lost. */
export async function rollbackWork(
  { ref, itemType }: Extract<Wish, { kind: 'rollback' }>,
  lookup: Lookup,
  { caller }: Ticket,
  means: Means,
): Promise<Work> {
  if (caller.kind !== 'person') {
    throw new KiwiError('PERMISSION_DENIED', `Cannot roll "${ref.name}" back: only a person can`, {
      hint: `Ask the person to run: kiwi rollback ${ref.name} ${ref.version ?? ''}`,
      details: { layer: 'machine', rule: null, op: 'tool', resource: ref.name, required: 'a person' },
    })
  }
  lookup.freshen(true)
  const former = await formerVersion(ref, itemType, lookup, means)
  const copies = await copiesOf(former, lookup)
  const version = await versionAbove(former, copies, means)
  const authored = await authorAgain(former, await withVersion(await writtenOf(former), version), {
    action: 'roll back',
    lookup,
    means,
  })
  const { item, plan, warnings } = authored
  const writes = copies.map((copy) => ({
    copy,
    write: overCopy(copy, item, authored.written, { lookup, means }),
  }))
  const by = caller.kind
  const was = former.manifest.version
  return {
    item: { id: item.id, version, space: 'registry' },
    action: 'rollback',
    chain: linksOf(plan),
    demands: [
      { op: 'tool', id: item.id, action: 'rollback' },
      ...writes.map(({ write }) => ({ op: 'write', path: targetOf(write) }) as const),
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { tool_id: item.id, rolled_back_to: was, version, content_hash: item.contentHash },
    redact: keepAll,
    preview: () => ({
      executor_chain: plan.chain,
      would_write: ['registry', ...writes.map(({ write }) => targetOf(write))],
      version,
      rolled_back_to: was,
    }),
    warnings,
    async perform() {
      const signing = { lookup, means, by }
      const changelog = `rollback to ${was}`
      const made = await writeSigned(authored, { ...signing, write: null, changelog })
      const left = [...made.warnings]
      for (const { copy, write } of writes) {
        const copied = await writeSigned(authored, { ...signing, write, changelog })
        left.push(...copied.warnings)
        if (copy.path !== null && copy.path !== copied.item.path)
          left.push(...(await removeItem(copy.path, copy.form === 'folder', write.within)))
      }
      lookup.freshen(true)
      const data = writtenData('Rolled back', await withInputs(made.item, lookup), 'registry')
      return {
        data: {
          ...data,
          output: `Rolled back "${item.id}" to ${was}, as version ${version}`,
          rolled_back_to: was,
          copies: writes.map(({ write }) => targetOf(write)),
        },
        warnings: left,
      }
    },
  }
}

async function formerVersion(
  ref: Extract<Wish, { kind: 'rollback' }>['ref'],
  itemType: Extract<Wish, { kind: 'rollback' }>['itemType'],
  lookup: Lookup,
  { store }: Means,
): Promise<Item> {
  const former = await lookup.find(ref, itemType, 'registry')
  if (former !== null && ref.version !== null) return former
  if (await lookup.find(ref, itemType, 'builtin')) {
    throw new KiwiError('BUILTIN_PROTECTED', `Cannot roll "${ref.name}" back: it is shipped with Kiwi`)
  }
  const versions = (await store.registry.versions(ref.name)).map(({ version }) => version)
  if (versions.length === 0) throw notFound(ref, itemType)
  throw new KiwiError('NOT_FOUND', `Cannot roll "${ref.name}" back: it has no version "${ref.version}"`, {
    hint: `It has ${versions.join(', ')}`,
    details: { item_id: ref.name, versions },
  })
}

/** Where it also lies as files. */
async function copiesOf({ id, manifest }: Item, lookup: Lookup): Promise<readonly Item[]> {
  const copies: Item[] = []
  for (const { space } of lookup.spaces) {
    const copy = await lookup.standing(id, itemTypeOf(manifest.tool_type), space)
    if (copy !== null) copies.push(copy)
  }
  return copies
}

async function versionAbove({ id }: Item, copies: readonly Item[], { store }: Means): Promise<string> {
  const published = (await store.registry.versions(id)).map(({ version }) => version)
  const all = [...published, ...copies.map(({ manifest }) => manifest.version)]
  return freePatch(id, all.toSorted((a, b) => compare(b, a))[0] ?? '0.0.0', store.registry)
}

/** In the category the copy has; it may have been another kind of file then. */
function overCopy(
  copy: Item,
  item: Item,
  written: Parameters<typeof newPlace>[1],
  { lookup, means }: { lookup: Lookup; means: Means },
): ItemWrite {
  const location = copy.space === 'user' ? 'user' : 'project'
  const manifest = { ...item.manifest, category: copy.manifest.category }
  const write = newPlace({ id: item.id, manifest }, written, { location, lookup, means })
  return { ...write, replaces: 'any' }
}
