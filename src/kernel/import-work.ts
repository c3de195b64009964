import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import { leadsOutTo } from '../spaces/disk.ts'
import type { Batch, BatchItem } from '../spaces/import/batch.ts'
import { STATES, batchFile, readBatches } from '../spaces/import/batch.ts'
import type { Earlier, Step } from '../spaces/import/plan-import.ts'
import { planImport } from '../spaces/import/plan-import.ts'
import { hashOf, readFiles } from '../spaces/import/read-find.ts'
import type { Source } from '../spaces/import/recognise.ts'
import { recognise } from '../spaces/import/recognise.ts'
import type { Survey } from '../spaces/import/survey.ts'
import { survey } from '../spaces/import/survey.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { writeItem } from '../spaces/write-next.ts'
import type { Ticket, Wish, Work } from './call.ts'
import { assertPerson } from './assert-person.ts'
import type { Means } from './means.ts'

/** Items of an older or other folder to be taken over. Everything is read before the first byte is written. */
export async function importWork(
  { path, to }: Extract<Wish, { kind: 'import' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, 'import')
  const place = placeOf(to, lookup, means)
  const source = recognise(path)
  assertElsewhere(source, place.root)
  const found = survey(source)
  lookup.freshen(true)
  const steps = await planImport(found.finds, {
    space: to,
    root: place.root,
    lookup,
    reserved: await means.store.registry.reserved(),
    earlier: earlierOf(readBatches(means.userSpace)),
  })
  const time = new Date(means.clock.now()).toISOString()
  const planned = batchOf({ id: ticket.callId, time, to, root: place.root }, source, found, steps)
  const { totals } = planned
  return {
    item: { id: planned.batch, version: null, space: to },
    action: 'import',
    chain: [],
    demands: [
      { op: 'tool', id: 'kiwi-mcp', action: 'import' },
      ...typesIn(steps).map((type) => ({ op: 'write', path: join(place.root, type) }) as const),
      { op: 'write', path: batchFile(means.userSpace, planned.batch) },
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { source: source.path, to, batch: planned.batch, totals },
    redact: keepAll,
    preview: () => ({ ...dataOf(planned) }),
    warnings: [],
    async perform(signal) {
      const done = await carryOut(planned, steps, { place, means, signal })
      lookup.freshen(true)
      return { data: dataOf(done), warnings: [] }
    },
  }
}

interface Place {
  readonly root: string
  readonly within: string | null
}

export function placeOf(to: 'user' | 'project', { projectPath }: Lookup, { userSpace }: Means): Place {
  if (to === 'user') return { root: userSpace, within: null }
  if (projectPath !== null) return { root: join(projectPath, '.ai'), within: projectPath }
  throw new KiwiError('PROJECT_PATH_REQUIRED', 'Cannot import to the project: no project folder is known')
}

/** A space holds its own items already. */
function assertElsewhere({ path }: Source, root: string): void {
  if (leadsOutTo(path, root) !== null || !existsSync(root)) return
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot import "${path}": it is part of the space it would go to`,
    {
      hint: 'Give a folder outside of the space, or another --to',
      details: { missing: [], invalid: [{ name: 'path', reason: 'inside the space it would go to' }] },
    },
  )
}

/** What earlier imports wrote and did not take back: the newest word on each path. */
function earlierOf(batches: readonly Batch[]): ReadonlyMap<string, Earlier> {
  const earlier = new Map<string, Earlier>()
  for (const { root, items, undone_at } of batches) {
    for (const item of undone_at === null ? items : []) {
      if (!isWritten(item) || item.hash === null) continue
      earlier.set(join(root, item.to), { from: item.from, hash: item.hash, contentHash: item.content_hash })
    }
  }
  return earlier
}

/** Whether a line stands for files that the batch put there. */
export function isWritten({ state }: BatchItem): boolean {
  return state === 'imported' || state === 'updated' || state === 'conflict' || state === 'needs_repair'
}

function typesIn(steps: readonly Step[]): readonly string[] {
  return [
    ...new Set(steps.filter(({ line }) => isWritten(line)).map(({ line }) => line.to.split('/')[0] ?? '')),
  ]
}

function batchOf(
  about: { id: string; time: string; to: 'user' | 'project'; root: string },
  { path, layout }: Source,
  found: Survey,
  steps: readonly Step[],
): Batch {
  const items = steps.map(({ line }) => line)
  return {
    batch: about.id,
    time: about.time,
    source: path,
    layout,
    to: about.to,
    root: about.root,
    totals: totalsOf(items, found.left.length),
    items,
    not_imported: found.left,
    history: { ...found.history },
    proposed_secrets: found.secrets,
    folders: foldersToMake(about.root, items),
    undone_at: null,
  }
}

function totalsOf(items: readonly BatchItem[], left: number): Batch['totals'] {
  const count = (state: BatchItem['state']): number => items.filter((item) => item.state === state).length
  const totals = Object.fromEntries(STATES.map((state) => [state, count(state)]))
  return { ...ZERO, ...totals, skipped: count('skipped') + left }
}

const ZERO: Batch['totals'] = {
  imported: 0,
  updated: 0,
  unchanged: 0,
  conflict: 0,
  needs_repair: 0,
  skipped: 0,
}

function foldersToMake(root: string, items: readonly BatchItem[]): readonly string[] {
  const folders = new Set<string>()
  for (const { to } of items.filter(isWritten)) {
    for (let folder = dirname(to); folder !== '.'; folder = dirname(folder)) folders.add(folder)
  }
  return [...folders].filter((folder) => !existsSync(join(root, folder))).toSorted()
}

interface CarryMeans {
  readonly place: Place
  readonly means: Means
  readonly signal: AbortSignal | undefined
}

/** The batch is kept before the first item is written, so that one that was cut off can be taken back too. */
async function carryOut(planned: Batch, steps: readonly Step[], carry: CarryMeans): Promise<Batch> {
  if (!planned.items.some(isWritten)) return planned
  const { means } = carry
  await keepBatch(planned, means)
  const items: BatchItem[] = []
  for (const step of steps) {
    items.push(isWritten(step.line) ? await carryOutStep(planned.batch, step, carry) : step.line)
  }
  const done = { ...planned, items, totals: totalsOf(items, planned.not_imported.length) }
  await keepBatch(done, means)
  return done
}

async function carryOutStep(
  batch: string,
  step: Step,
  { place, means, signal }: CarryMeans,
): Promise<BatchItem> {
  const { find, line, stamp } = step
  try {
    if (signal?.aborted === true) return { ...line, state: 'skipped', reason: 'the import was cancelled' }
    const files = readFiles(find)
    if (hashOf(files) !== line.hash)
      return { ...line, state: 'skipped', reason: 'it was changed while it was imported' }
    const write = { ...line, files }
    if (line.state === 'updated') {
      const before = readFiles({ ...find, from: join(place.root, line.to) })
      await put(
        { ...line, files: before },
        { root: keptAt(means.userSpace, batch), within: null },
        'nothing',
        means,
      )
    }
    await put(write, place, line.state === 'updated' ? { stamp } : 'nothing', means)
    return line
  } catch (error) {
    // The signal of a full disk is the same for all that follow, and each says so.
    return { ...line, state: 'skipped', reason: messageOf(error) }
  }
}

/** What a batch replaced lies beside its record. */
export function keptAt(userSpace: string, batch: string): string {
  return join(userSpace, 'imports', batch)
}

type Files = Pick<BatchItem, 'id' | 'to' | 'type' | 'is_folder'> & {
  readonly files: ReturnType<typeof readFiles>
}

export async function put(
  { id, to, type, is_folder, files }: Files,
  { root, within }: Place,
  replaces: 'nothing' | 'any' | { readonly stamp: string | null },
  { store }: Means,
): Promise<void> {
  const isManifest = ({ path }: (typeof files)[number]): boolean =>
    !is_folder || path === 'tool.yaml' || path === 'SKILL.md'
  const manifest = files.find(isManifest)
  if (manifest === undefined) throw new TypeError('an item without a file came to be written')
  const rest = files.filter((file) => file !== manifest)
  const isLibrary = type === 'library'
  await writeItem(
    { id, root, within, path: to, isFolder: is_folder, manifest, files: rest, replaces, isLibrary },
    store.exclusively,
  )
}

export async function keepBatch(batch: Batch, { userSpace, store }: Means): Promise<void> {
  const content = Buffer.from(`${JSON.stringify(batch, null, 1)}\n`)
  const name = `${batch.batch}.json`
  await writeItem(
    {
      id: batch.batch,
      root: userSpace,
      within: null,
      path: `imports/${name}`,
      isFolder: false,
      manifest: { path: name, content, isExecutable: false },
      files: [],
      replaces: 'any',
      isLibrary: false,
    },
    store.exclusively,
  )
}

function dataOf(batch: Batch): JsonObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a batch is what is kept as JSON
  return { ...batch } as unknown as JsonObject
}
