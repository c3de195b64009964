import { basename, dirname, extname, join } from 'node:path'
import { KiwiError, messageOf } from '../../shared/errors.ts'
import { isOurName } from '../../shared/groups.ts'
import { ItemName } from '../../shared/ids.ts'
import { statOf } from '../disk.ts'
import type { PackageTable } from '../imports.ts'
import type { Item } from '../item.ts'
import type { Lookup } from '../lookup.ts'
import { FOLDER_MANIFESTS, stampAt } from '../scan.ts'
import type { BatchItem } from './batch.ts'
import type { Find } from './collect-items.ts'
import { describeItem, describeText } from './describe-find.ts'
import type { ReadFind } from './read-find.ts'
import { TYPES, readFind } from './read-find.ts'

/** One find and what becomes of it. */
export interface Step {
  readonly find: Find
  readonly line: BatchItem
  /** What stands at its place now, if it replaces something. */
  readonly stamp: string | null
}

/** Where an import goes. */
export interface Target {
  readonly space: 'user' | 'project'
  readonly root: string
  readonly lookup: Lookup
  readonly reserved: ReadonlySet<string>
  /** What earlier imports wrote: absolute path to the newest word on it. */
  readonly earlier: ReadonlyMap<string, Earlier>
  readonly packageTable: PackageTable
}

export interface Earlier {
  readonly from: string
  readonly hash: string
  readonly contentHash: string | null
}

/** Works out what becomes of each find; nothing is written. */
export async function planImport(finds: readonly Find[], target: Target): Promise<readonly Step[]> {
  const steps: Step[] = []
  const batch: Batch = {
    taken: new Set(),
    above: new Set(),
    folders: new Set(),
    carried: new Set(),
    ids: new Map(),
    servers: new Map(),
  }
  // A manifest says whether it carries the script beside it, so it is read first.
  const inOrder = finds.toSorted(
    (a, b) => Number(a.entry?.kind === 'script') - Number(b.entry?.kind === 'script'),
  )
  for (const find of inOrder) {
    const read = await readFind(find)
    if ('skipped' in read) steps.push(skippedStep(find, read.skipped))
    else if (
      read.item !== null &&
      (target.reserved.has(read.id) || isOurName(read.id, read.item.manifest.tool_type))
    )
      steps.push(skippedStep(find, `the id "${read.id}" belongs to a tool that is shipped with Kiwi`))
    else steps.push(await stepOf(find, read, target, batch))
  }
  return Promise.all(steps.map((step) => withServerWarning(step, target, batch)))
}

/** A tool whose server is nowhere is taken over all the same: the server may come later. */
async function withServerWarning(step: Step, { lookup }: Target, { ids, servers }: Batch): Promise<Step> {
  const server = ItemName.safeParse(servers.get(step.find.from))
  if (!server.success || ids.has(`mcp ${server.data}`)) return step
  const ref = { name: server.data, category: null, version: null }
  const there = await lookup.find(ref, 'mcp').catch(() => null)
  if (there !== null) return step
  const warning = `its server "${server.data}" is not there: it cannot be run before`
  return { ...step, line: { ...step.line, warnings: [...step.line.warnings, warning] } }
}

/** What the batch itself has decided so far. */
interface Batch {
  /** Places by name, as a disk sees them that does not tell upper from lower case. */
  readonly taken: Set<string>
  /** The folders above them, which no item can be. */
  readonly above: Set<string>
  /** Those of them that are the folder of an item, in which nothing else is found. */
  readonly folders: Set<string>
  /** Scripts that belong to the manifest beside them. */
  readonly carried: Set<string>
  readonly ids: Map<string, { readonly contentHash: string | null; readonly to: string }>
  /** Path of each tool of a server to the id of the server. */
  readonly servers: Map<string, string>
}

async function stepOf(find: Find, read: ReadFind, target: Target, batch: Batch): Promise<Step> {
  const { item } = read
  if (item !== null) noteParts(item, find, batch)
  const place = await placeOf(find, read, target, batch)
  if (place === null)
    return skippedStep(find, 'it would lie in the folder of another item, where nothing is found')
  take(batch, place.to, find.entry?.kind === 'folder')
  const isItem = item !== null && !batch.carried.has(find.from)
  const rival = isItem && place.state !== 'unchanged' ? await rivalOf(read, place.to, target, batch) : null
  if (isItem) batch.ids.set(`${read.type} ${read.id}`, { contentHash: read.contentHash, to: place.to })
  const state = stateOf(place, read.fault !== null, rival !== null)
  const said = item === null ? describeText(find) : await describeItem(item, find, target.packageTable)
  const warnings = [...said.warnings, ...read.warnings, ...(rival === null ? [] : [rival])]
  const { id, type, hash, contentHash, fault } = read
  const about = { id, type, state, reason: fault ?? place.reason, from: find.from, to: place.to }
  const form = { is_folder: find.entry?.kind === 'folder', hash, content_hash: contentHash }
  return { find, stamp: place.stamp, line: { ...about, ...said, warnings, ...form } }
}

/** The scripts it carries, and the server it stands on. */
function noteParts({ form, filePaths, manifest }: Item, { from }: Find, { carried, servers }: Batch): void {
  if (form === 'manifest') for (const name of filePaths) carried.add(join(dirname(from), name))
  if (manifest.tool_type === 'mcp_tool') servers.set(from, manifest.executor ?? '')
}

function take({ taken, above, folders }: Batch, to: string, isFolder: boolean): void {
  taken.add(folded(to))
  if (isFolder) folders.add(folded(to))
  for (const folder of foldersAbove(to)) above.add(folded(folder))
}

/** From the nearest up to the type folder. */
function foldersAbove(to: string): readonly string[] {
  const folder = dirname(to)
  return folder === '.' ? [] : [folder, ...foldersAbove(folder)]
}

function stateOf({ state }: Place, isBroken: boolean, hasRival: boolean): BatchItem['state'] {
  if (state === 'unchanged' || state === 'updated') return state
  if (isBroken) return 'needs_repair'
  return hasRival ? 'conflict' : state
}

function skippedStep(find: Find, reason: string): Step {
  const { from, to, entry } = find
  const type = entry === null ? 'library' : TYPES[entry.place]
  const about = { id: entry?.stem ?? basename(from), type, state: 'skipped', reason, from, to } as const
  const form = { is_folder: entry?.kind === 'folder', hash: null, content_hash: null }
  return { find, stamp: null, line: { ...about, ...describeText(find), ...form } }
}

interface Place {
  readonly to: string
  readonly state: 'imported' | 'unchanged' | 'updated' | 'conflict'
  readonly reason: string | null
  readonly stamp: string | null
}

/** Names that are tried when one is taken by something else. */
const MOST_NAMES = 100

/** Its own place, or the first free one beside it; wherever the same lies already it is left alone. Null: nowhere. */
async function placeOf(find: Find, read: ReadFind, target: Target, batch: Batch): Promise<Place | null> {
  const isFolder = find.entry?.kind === 'folder'
  if (isInside(find, target, batch)) return null
  for (let number = 1; number <= MOST_NAMES; number++) {
    const to = number === 1 ? find.to : numbered(find.to, number, isFolder)
    if (batch.taken.has(folded(to)) || (isFolder && batch.above.has(folded(to)))) continue
    const path = join(target.root, to)
    const there = await standingAt(path, find)
    const why = number === 1 ? null : `"${find.to}" is taken by something else`
    if (there === null) return { to, state: number === 1 ? 'imported' : 'conflict', reason: why, stamp: null }
    if (isSame(there, read)) return { to, state: 'unchanged', reason: why, stamp: null }
    if (isOurs(there, find, target.earlier.get(path))) {
      const kind = isFolder ? 'folder' : 'manifest'
      const stamp = stampAt({ path: kind === 'folder' ? manifestOf(path, find) : path, kind, beside: [] })
      return { to, state: 'updated', reason: why, stamp }
    }
  }
  return null
}

/** Whether a folder above it is that of another item. */
function isInside({ to, entry }: Find, { root }: Target, { folders }: Batch): boolean {
  const manifest = entry === null ? null : FOLDER_MANIFESTS[entry.place]
  if (manifest === null) return false
  return foldersAbove(to)
    .slice(0, -1)
    .some((folder) => folders.has(folded(folder)) || statOf(join(root, folder, manifest)) !== null)
}

/** `greet.py` to `greet_2.py`; a folder has no ending. */
function numbered(to: string, number: number, isFolder: boolean): string {
  const ending = isFolder ? '' : extname(to)
  return `${to.slice(0, to.length - ending.length)}_${number}${ending}`
}

function folded(path: string): string {
  return path.normalize('NFC').toLowerCase()
}

/** What lies at a path already: null when nothing does, or a hash that nothing else has. */
async function standingAt(path: string, find: Find): Promise<Pick<ReadFind, 'hash' | 'contentHash'> | null> {
  if (statOf(path) === null) return null
  const entry =
    find.entry === null
      ? null
      : { ...find.entry, path: find.entry.kind === 'folder' ? manifestOf(path, find) : path }
  const read = await readFind({ from: path, to: find.to, entry })
  return 'skipped' in read ? { hash: '', contentHash: null } : read
}

function manifestOf(folder: string, { entry }: Find): string {
  return join(folder, basename(entry?.path ?? ''))
}

function isSame(there: Pick<ReadFind, 'hash' | 'contentHash'>, { hash, contentHash }: ReadFind): boolean {
  return there.hash === hash || (contentHash !== null && there.contentHash === contentHash)
}

/** An earlier import wrote it from the same place, and nobody has changed it since; signing is no change. */
function isOurs(
  there: Pick<ReadFind, 'hash' | 'contentHash'>,
  find: Find,
  earlier: Earlier | undefined,
): boolean {
  if (earlier === undefined || earlier.from !== find.from) return false
  return (
    there.hash === earlier.hash || (earlier.contentHash !== null && there.contentHash === earlier.contentHash)
  )
}

/** Another item that has the same id and is something else: both stay, each under its path. */
async function rivalOf(read: ReadFind, to: string, target: Target, batch: Batch): Promise<string | null> {
  const within = batch.ids.get(`${read.type} ${read.id}`)
  const says = (path: string): string =>
    `"${read.id}" is also at "${path}": call each by its category and name`
  if (within !== undefined && within.contentHash !== read.contentHash) return says(within.to)
  if (read.type === 'library') return null
  try {
    const there = await target.lookup.standing(ItemName.parse(read.id), read.type, target.space)
    if (there === null || there.path === null || there.contentHash === read.contentHash) return null
    return there.path.startsWith(join(target.root, to)) ? null : says(there.path)
  } catch (error) {
    if (error instanceof KiwiError) return messageOf(error)
    throw error
  }
}
