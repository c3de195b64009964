import { basename, dirname, relative, sep } from 'node:path'
import { untrustedProject } from '../chain/trust-refusals.ts'
import { KiwiError } from '../shared/errors.ts'
import { keepAll } from '../shared/redact.ts'
import { withVersion } from '../spaces/change-item.ts'
import { withInputs } from '../spaces/directive/with-inputs.ts'
import { editDocument } from '../spaces/edit-document.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { stampAt } from '../spaces/scan.ts'
import type { ItemWrite } from '../spaces/write.ts'
import { targetOf } from '../spaces/write.ts'
import type { WrittenItem } from '../spaces/written-item.ts'
import { textFile } from '../spaces/written-item.ts'
import type { Authored } from './author.ts'
import { author } from './author.ts'
import type { Ticket, Wish, Work } from './call.ts'
import { writtenData } from './create-work.ts'
import { itemWrites } from './item-writes.ts'
import type { Means } from './means.ts'
import { assertUnpublished } from './next-version.ts'
import { isMendable, rootOf } from './place.ts'
import { ruleCheck } from './rule-check.ts'
import { linksOf } from './run-work.ts'
import { writeSigned } from './write-signed.ts'

type Update = Extract<Wish, { kind: 'update' }>

/** A document that cannot be read, where it lies. */
interface Unreadable {
  readonly space: 'project' | 'user'
  readonly place: 'directives' | 'knowledge'
  readonly category: string | null
  /** The name of its file, and what it is called by it. */
  readonly file: string
  readonly stem: string
  readonly root: Pick<ItemWrite, 'root' | 'within'>
  readonly path: string
  readonly stamp: string | null
}

/**
 * A document that cannot be read, to be given a whole text that can: nothing of what it was counts, so this is what to
 * delete it and to create it again would be, in one step. Null for what a change cannot mend.
 */
export async function mendWork(
  wish: Update,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work | null> {
  const found = wish.expectedHash === null ? await unreadable(wish, lookup, means) : null
  const text = found === null ? null : await wholeText(wish)
  if (found === null || text === null) return null
  const { space } = found
  const authored = await authorAnew(found, text, wish.version, { lookup, means })
  const { item, plan, warnings } = authored
  await assertMayMend(authored, found, { lookup, ticket, means })
  await assertUnpublished('update', item, means.store.registry)
  const rules = await ruleCheck(plan, { action: 'update', ticket, lookup, means })
  const { manifest } = authored.written
  const write: ItemWrite = {
    id: item.id,
    ...found.root,
    path: found.path,
    isFolder: false,
    manifest,
    files: [],
    replaces: { stamp: found.stamp },
  }
  return {
    item: { id: item.id, version: item.manifest.version, space },
    action: 'update',
    chain: linksOf(plan),
    demands: [
      { op: 'tool', id: item.id, action: 'update' },
      ...itemWrites([targetOf(write)], ticket),
      ...rules.demands,
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: {
      tool_id: item.id,
      location: space,
      content_hash: item.contentHash,
      previous_hash: null,
      changelog: wish.changelog,
    },
    redact: keepAll,
    preview: () => ({
      executor_chain: plan.chain,
      tool_type: item.manifest.tool_type,
      would_write: targetOf(write),
      version: item.manifest.version,
      ...rules.preview(),
    }),
    warnings: [...warnings, ...rules.warnings],
    async perform(watch) {
      const said = await rules.check(watch?.signal)
      const by = ticket.caller.kind
      const made = await writeSigned(authored, { write, changelog: wish.changelog, lookup, means, by })
      const data = writtenData('Updated', await withInputs(made.item, lookup), space)
      return {
        data: { ...data, previous_version: null, changed: true },
        warnings: [...said, ...made.warnings],
      }
    },
  }
}

async function unreadable(
  { ref, itemType, location }: Update,
  lookup: Lookup,
  means: Means,
): Promise<Unreadable | null> {
  if (location === 'registry') return null
  const look = (): ReturnType<Lookup['broken']> => lookup.broken(ref, itemType, location ?? undefined)
  const path = (await look())?.path
  if (path === undefined) return null
  // Older than what is read: what is mended meanwhile by another is not written over.
  const stamp = stampAt({ path, kind: 'document', beside: [] })
  const broken = await look()
  if (broken?.path !== path) return null
  const { space } = broken
  const root = rootOf(ref.name, space, lookup, means)
  const inside = relative(root.root, path)
  const [top, ...folders] = dirname(inside).split(sep)
  const place = PLACES.find((name) => name === top)
  const file = basename(path)
  if (place === undefined || !isMendable(path)) return null
  return {
    space,
    place,
    category: folders.length === 0 ? null : folders.join('/'),
    file,
    stem: basename(file, '.md'),
    root,
    path: inside,
    stamp,
  }
}

/** An agent does not make its own what came with a project that nobody trusts, a copy of it neither. */
async function assertMayMend(
  { item }: Authored,
  { space }: Unreadable,
  { lookup: { projectPath }, ticket, means }: { lookup: Lookup; ticket: Ticket; means: Means },
): Promise<void> {
  if (ticket.caller.kind !== 'agent' || space !== 'project' || projectPath === null) return
  if (!(await means.chain.judge.isTrusted(projectPath))) throw untrustedProject('update', item, projectPath)
}

const PLACES = ['directives', 'knowledge'] as const

/** The text it is to have; null when only a part of it was given, since there is nothing to put that into. */
async function wholeText({ change: { content, manifest, files } }: Update): Promise<string | null> {
  if (content === undefined || typeof manifest === 'string' || (files?.size ?? 0) > 0) return null
  return manifest === undefined ? content : editDocument(content, manifest)
}

/** What is new starts at 1.0.0, unless it says otherwise. */
async function authorAnew(
  { place, file, stem, category, space }: Unreadable,
  text: string,
  asked: string | null,
  { lookup, means }: { readonly lookup: Lookup; readonly means: Means },
): Promise<Authored> {
  const written: WrittenItem = { place, kind: 'document', manifest: textFile(file, text), files: [] }
  const read = (one: WrittenItem): Promise<Authored> =>
    author(one, { action: 'update', stem, category, location: space, lookup, means })
  const first = await read(written)
  const version = asked ?? (first.item.raw['version'] === undefined ? '1.0.0' : null)
  const authored = version === null ? first : await read(await withVersion(written, version))
  const { id } = authored.item
  if (id === stem) return authored
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot update "${stem}": it would be "${id}", no longer "${stem}"`,
    {
      hint: 'Create another item for what is another thing',
      details: { missing: [], invalid: [{ name: 'tool_id', reason: 'cannot change' }] },
    },
  )
}
