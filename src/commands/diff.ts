import { isUtf8 } from 'node:buffer'
import { readItemType } from '../meta/arguments.ts'
import { successReply } from '../meta/reply.ts'
import { KiwiError } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { versionNotFound } from '../spaces/not-found.ts'
import { stripSignatures } from '../spaces/signature-line.ts'
import { writtenOf } from '../spaces/written-item.ts'
import type { ItemFile } from '../store/store.ts'
import type { Terminal } from './terminal.ts'
import { printReply, printable, printableText } from './terminal.ts'
import { unifiedDiff } from '../shared/unified-diff.ts'
import type { CommonOptions } from './with-kiwi.ts'
import { withKiwi } from './with-kiwi.ts'

interface DiffOptions extends CommonOptions {
  readonly type: string
}

interface FileDiff {
  readonly path: string
  readonly state: 'added' | 'removed' | 'changed'
  /** In words where lines say nothing. */
  readonly note: string | null
  readonly diff: string | null
}

/** `kiwi diff a@1.0.0 a@1.1.0`, `kiwi diff a 1.0.0 1.1.0`, `kiwi diff a` */
export function diffCommand(ids: readonly string[], options: DiffOptions): Promise<number> {
  return withKiwi(options, async ({ kiwi, project }) => {
    const lookup = kiwi.spaces.at(project)
    lookup.freshen(true)
    const itemType = readItemType(options.type)
    const [before, after] = await sidesOf(ids, itemType, lookup)
    const files = compare(await filesOf(before), await filesOf(after))
    const data = { before: sideOf(before), after: sideOf(after), files: files.map((file) => ({ ...file })) }
    return printReply(
      successReply(data, { call_id: 'unrecorded', duration_ms: 0 }),
      options.json === true,
      (_, terminal) => show(before, after, files, terminal),
    )
  })
}

function sideOf({ id, manifest, space, contentHash, path }: Item): JsonObject {
  return { id, version: manifest.version, source: space, path, content_hash: contentHash }
}

/** What is published is meant by a version; a name alone is the working copy. */
async function sidesOf(
  ids: readonly string[],
  itemType: ItemType,
  lookup: Lookup,
): Promise<readonly [Item, Item]> {
  const [first = '', second, third, ...rest] = ids
  if (rest.length > 0) {
    const shown = rest.map((id) => `"${id}"`).join(', ')
    throw new KiwiError('INVALID_PARAMETERS', `Cannot compare: ${shown} is too many`, {
      hint: 'Give two ids, or one id with up to two versions',
      details: { missing: [], invalid: rest.map((name) => ({ name, reason: 'too many arguments' })) },
    })
  }
  const one = parseItemRef(first)
  const versionOr = (text: string): ItemRef =>
    /^[\^~<>=*]|^\d+(?:\.|$)/.test(text) && !text.includes('@')
      ? { ...one, version: text }
      : parseItemRef(text)
  if (second === undefined) {
    const published = await lookup.find(one, itemType, 'registry')
    if (published === null) throw unpublished(one, itemType)
    return [published, await found({ ...one, version: null }, itemType, lookup)]
  }
  const [left, right] = third === undefined ? [one, versionOr(second)] : [versionOr(second), versionOr(third)]
  // `diff a 1.0.0` has only one version in it: what it was then, and what it is now.
  const isOneVersion = third === undefined && one.version === null && right.name === one.name
  const sides = isOneVersion ? ([right, one] as const) : ([left, right] as const)
  return [await found(sides[0], itemType, lookup), await found(sides[1], itemType, lookup)]
}

async function found(ref: ItemRef, itemType: ItemType, lookup: Lookup): Promise<Item> {
  const published = ref.version === null ? null : await lookup.find(ref, itemType, 'registry')
  const item = published ?? (await lookup.find(ref, itemType))
  if (item === null) throw await versionNotFound(ref, itemType, lookup)
  return item
}

function unpublished(ref: ItemRef, itemType: ItemType): KiwiError {
  return new KiwiError(
    'NOT_FOUND',
    `Cannot compare ${itemType} "${ref.name}": no version of it is published`,
    {
      hint: `Publish it with kiwi publish ${ref.name}, or name two items`,
    },
  )
}

/** Everything an item is made of. Signatures differ whenever anything does, and say nothing by themselves. */
async function filesOf(item: Item): Promise<ReadonlyMap<string, ItemFile>> {
  const { manifest, files } = await writtenOf(item)
  const bare = isText(manifest)
    ? Buffer.from(stripSignatures(textOf(manifest), manifest.path))
    : manifest.content
  return new Map([{ ...manifest, content: bare }, ...files].map((file) => [file.path, file]))
}

function compare(
  before: ReadonlyMap<string, ItemFile>,
  after: ReadonlyMap<string, ItemFile>,
): readonly FileDiff[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted()
  return paths.flatMap((path) => {
    const diff = compareFile(path, before.get(path), after.get(path))
    return diff === null ? [] : [diff]
  })
}

function compareFile(
  path: string,
  before: ItemFile | undefined,
  after: ItemFile | undefined,
): FileDiff | null {
  const state = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed'
  const isSame =
    before !== undefined && after !== undefined && Buffer.compare(before.content, after.content) === 0
  if (isSame) {
    if (before.isExecutable === after.isExecutable) return null
    const note = after.isExecutable ? 'is executable now' : 'is no longer executable'
    return { path, state, note, diff: null }
  }
  const isReadable = [before, after].every((file) => file === undefined || isText(file))
  if (!isReadable) return { path, state, note: 'bytes differ', diff: null }
  const diff = unifiedDiff(
    before === undefined ? '' : textOf(before),
    after === undefined ? '' : textOf(after),
  )
  return { path, state, note: diff === null ? 'too much differs to be shown' : null, diff }
}

const MOST_BYTES = 1024 * 1024

function isText({ content }: ItemFile): boolean {
  return content.length <= MOST_BYTES && !content.includes(0) && isUtf8(content)
}

function textOf({ content }: ItemFile): string {
  return Buffer.from(content).toString('utf8')
}

function named({ id, manifest, space }: Item): string {
  return `${id}@${manifest.version} (${space})`
}

function show(before: Item, after: Item, files: readonly FileDiff[], terminal: Terminal): void {
  if (files.length === 0)
    terminal.note(`${printable(named(before))} and ${printable(named(after))} are the same`)
  for (const { path, state, note, diff } of files) {
    terminal.out(
      terminal.bold(`--- ${state === 'added' ? '/dev/null' : printable(`${named(before)} ${path}`)}`),
    )
    terminal.out(
      terminal.bold(`+++ ${state === 'removed' ? '/dev/null' : printable(`${named(after)} ${path}`)}`),
    )
    terminal.out(note === null ? printableText(diff ?? '') : printable(`${path}: ${note}`))
  }
}
