import { gt } from 'semver'
import { walk } from '../chain/walk.ts'
import type { ErrorCode } from '../shared/errors.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import type { Change } from '../spaces/change-item.ts'
import { changeWritten, isSameWritten, withVersion } from '../spaces/change-item.ts'
import type { Item } from '../spaces/item.ts'
import { withInputs } from '../spaces/directive/with-inputs.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { notFound } from '../spaces/not-found.ts'
import { targetOf } from '../spaces/write.ts'
import type { WrittenItem } from '../spaces/written-item.ts'
import { writtenOf } from '../spaces/written-item.ts'
import { assertMeant } from './assert-meant.ts'
import { assertOwnFile } from './assert-own-file.ts'
import { assertUnshadowed } from './assert-unshadowed.ts'
import type { Authored } from './author.ts'
import { author } from './author.ts'
import type { Location, Ticket, Wish, Work } from './call.ts'
import { writtenData } from './create-work.ts'
import { itemWrites } from './item-writes.ts'
import type { Means } from './means.ts'
import { mendWork } from './mend-work.ts'
import { assertUnpublished, declaredVersion, versionAfter } from './next-version.ts'
import type { Standing } from './place.ts'
import { samePlace, standingItem } from './place.ts'
import { ruleCheck } from './rule-check.ts'
import { linksOf } from './run-work.ts'
import { mayVouch } from './vouch.ts'
import { writeSigned } from './write-signed.ts'

/** An item to be changed where it lies; in the registry, by a version after it. */
export async function updateWork(wish: Update, lookup: Lookup, ticket: Ticket, means: Means): Promise<Work> {
  let standing: Standing
  try {
    standing = await changeable('update', wish, lookup, ticket)
  } catch (error) {
    const mended = isUnreadable(error) ? await mendWork(wish, lookup, ticket, means) : null
    if (mended === null) throw error
    return mended
  }
  return changeWork(standing, wish, { lookup, ticket, means })
}

type Update = Extract<Wish, { kind: 'update' }>

/** Its file is there, and is the fault. */
function isUnreadable(error: unknown): boolean {
  return error instanceof KiwiError && UNREADABLE.some((code) => code === error.code)
}

const UNREADABLE: readonly ErrorCode[] = ['PARSE_ERROR', 'MESSAGE_TOO_LARGE', 'TOO_DEEP', 'INVALID_MANIFEST']

interface Circumstances {
  readonly lookup: Lookup
  readonly ticket: Ticket
  readonly means: Means
}

async function changeWork(
  standing: Standing,
  wish: Update,
  { lookup, ticket, means }: Circumstances,
): Promise<Work> {
  const { item: before } = standing
  assertExpected(before, wish.expectedHash)
  const by = ticket.caller.kind
  await mayVouch(before, { verb: 'update', by, lookup, means, executors: await executorsOf(before, lookup) })
  const present = await writtenOf(before)
  const changed = await changeWritten(before, present, wish.change)
  const asked = wish.version ?? versionKey(wish.change)
  const declared = await declaredVersion(before, changed)
  const isAsked = asked !== null && asked !== before.manifest.version
  if (!isAsked && (await isSame(before, present, changed, declared))) return unchangedWork('update', before)
  const { version, warnings: notes } = await versionAfter(before, declared, asked, means.store.registry)
  const authored = await authorAgain(before, await withVersion(changed, version), {
    action: 'update',
    lookup,
    means,
  })
  const { item, plan, warnings } = authored
  const location = fileOrRegistry(before)
  await assertUnshadowed('update', item, location, { ticket, lookup, means })
  await assertUnpublished('update', item, means.store.registry)
  const rules = await ruleCheck(plan, { action: 'update', ticket, lookup, means })
  const write = location === 'registry' ? null : samePlace(standing, authored.written, { lookup, means })
  return {
    item: { id: item.id, version, space: location },
    action: 'update',
    chain: linksOf(plan),
    demands: [
      { op: 'tool', id: item.id, action: 'update' },
      ...itemWrites(write === null ? [] : [targetOf(write)], ticket),
      ...rules.demands,
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: {
      tool_id: item.id,
      location,
      content_hash: item.contentHash,
      previous_hash: before.contentHash,
      changelog: wish.changelog,
    },
    redact: keepAll,
    preview: () => ({
      executor_chain: plan.chain,
      tool_type: item.manifest.tool_type,
      would_write: write === null ? 'registry' : targetOf(write),
      version,
      ...rules.preview(),
    }),
    warnings: [...notes, ...warnings, ...rules.warnings],
    async perform(watch) {
      const found = await rules.check(watch?.signal)
      const made = await writeSigned(authored, { write, changelog: wish.changelog, lookup, means, by })
      const data = writtenData('Updated', await withInputs(made.item, lookup), location)
      return {
        data: { ...data, previous_version: before.manifest.version, changed: true },
        warnings: [...found, ...made.warnings],
      }
    },
  }
}

/** A version among the keys that change is asked for, as one beside them is. */
function versionKey({ manifest }: Change): string | null {
  const version = isObject(manifest) ? manifest['version'] : null
  return typeof version === 'string' ? version : null
}

/** A text that differs only by a version from before says nothing new. */
async function isSame(
  { manifest: { version } }: Item,
  present: WrittenItem,
  changed: WrittenItem,
  declared: string | null,
): Promise<boolean> {
  if (isSameWritten(present, changed)) return true
  if (declared === null || gt(declared, version)) return false
  return isSameWritten(present, await withVersion(changed, version))
}

/** An item whose chain is broken is mended by a change: it then counts as one that nobody has signed. */
async function executorsOf(item: Item, lookup: Lookup): Promise<readonly string[]> {
  const chain = await walk(item, lookup).catch(() => [])
  return chain.slice(1).map(({ id }) => id)
}

/** The item that is meant, where it can be changed. What is shipped stays. */
export async function changeable(
  action: string,
  { ref, itemType, location }: Pick<Update, 'ref' | 'itemType' | 'location'>,
  lookup: Lookup,
  ticket: Ticket,
): Promise<Standing> {
  const standing = await standingItem(async () => {
    const item = await lookup.find(ref, itemType, location ?? undefined)
    if (item === null) throw notFound(ref, itemType)
    assertMeant(action, item, itemType, ticket)
    assertOwnFile(action, item)
    return item
  }, lookup)
  const { id, space, form, filePaths } = standing.item
  if (space === 'builtin') {
    throw new KiwiError('BUILTIN_PROTECTED', `Cannot ${action} "${id}": it is shipped with Kiwi`)
  }
  if (action === 'update' && form === 'manifest' && filePaths.length > 0) {
    throw new KiwiError(
      'INVALID_PARAMETERS',
      `Cannot update "${id}": its manifest and its script are two files`,
      {
        hint: `Move both into a folder "${id}", the manifest as tool.yaml, and send the call again`,
        details: {
          missing: [],
          invalid: [{ name: 'item_id', reason: 'two files cannot be changed in one step' }],
        },
      },
    )
  }
  return standing
}

function fileOrRegistry({ space }: Item): Location {
  return space === 'project' || space === 'user' ? space : 'registry'
}

/** The item with other content: still what it was by id and type. */
export async function authorAgain(
  before: Item,
  written: WrittenItem,
  { action, lookup, means }: { action: string; lookup: Lookup; means: Means },
): Promise<Authored> {
  const { id, manifest } = before
  const authored = await author(written, {
    action,
    stem: id,
    category: manifest.category,
    location: fileOrRegistry(before),
    lookup,
    means,
  })
  const { item } = authored
  if (item.id === id && item.manifest.tool_type === manifest.tool_type) return authored
  const [name, is, was] =
    item.id === id ? ['tool_type', item.manifest.tool_type, manifest.tool_type] : ['tool_id', item.id, id]
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot update "${id}": it would be "${is}", no longer "${was}"`,
    {
      hint: 'Create another item for what is another thing',
      details: { missing: [], invalid: [{ name, reason: 'cannot change' }] },
    },
  )
}

function assertExpected({ id, contentHash, manifest, space }: Item, expected: string | null): void {
  if (expected === null || expected === contentHash) return
  throw new KiwiError('CONFLICT', `Cannot update "${id}": it is no longer what the change was made for`, {
    hint: 'Load it again, and send the change for what is there now',
    fix: {
      call: 'load',
      arguments: { item_type: itemTypeOf(manifest.tool_type), item_id: id, source: space },
    },
    details: { expected_hash: expected, content_hash: contentHash },
  })
}

/** What was asked for is so already. */
export function unchangedWork(action: string, { id, manifest, space, path, contentHash }: Item): Work {
  const link = { id, version: manifest.version, space }
  const data: JsonObject = {
    output: `Unchanged: "${id}" ${manifest.version}`,
    tool_id: id,
    version: manifest.version,
    source: space,
    path,
    content_hash: contentHash,
    changed: false,
  }
  return {
    item: link,
    action,
    chain: [link],
    demands: [{ op: 'tool', id, action }],
    isRepeatable: true,
    isReadOnly: false,
    parameters: { tool_id: id, content_hash: contentHash },
    redact: keepAll,
    preview: () => ({ would_write: null }),
    warnings: [],
    perform: async () => ({ data, warnings: [] }),
  }
}
