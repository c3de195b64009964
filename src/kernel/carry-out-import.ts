import { join } from 'node:path'
import { messageOf } from '../shared/errors.ts'
import type { Stop } from '../shared/stop.ts'
import type { Batch, BatchItem } from '../spaces/import/batch.ts'
import { isWritten, manifestIn } from '../spaces/import/batch.ts'
import { totalsOf } from '../spaces/import/make-batch.ts'
import type { Step } from '../spaces/import/plan-import.ts'
import { hashOf, readFiles } from '../spaces/import/read-find.ts'
import { writeItem } from '../spaces/write.ts'
import type { Means } from './means.ts'

/** The root items go to, and the folder no link may lead out of; null = the user's own. */
export interface Place {
  readonly root: string
  readonly within: string | null
}

interface CarryMeans {
  readonly place: Place
  readonly means: Means
  readonly signal: Stop | undefined
}

/** The batch is kept before the first item is written, so that one that was cut off can be taken back too. */
export async function carryOut(planned: Batch, steps: readonly Step[], carry: CarryMeans): Promise<Batch> {
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
    const files = readFiles(find.from, line.is_folder)
    if (hashOf(files) !== line.hash)
      return { ...line, state: 'skipped', reason: 'it was changed while it was imported' }
    const write = { ...line, files }
    if (line.state === 'updated') {
      const before = readFiles(join(place.root, line.to), line.is_folder)
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

/** Puts one item, or one file of a library, where it belongs. */
export async function put(
  { id, to, type, is_folder, files }: Files,
  { root, within }: Place,
  replaces: 'nothing' | 'any' | { readonly stamp: string | null },
  { store }: Means,
): Promise<void> {
  const manifest = files.find(({ path }) => !is_folder || path === manifestIn(to))
  if (manifest === undefined) throw new TypeError('an item without a file came to be written')
  const rest = files.filter((file) => file !== manifest)
  const isLibrary = type === 'library'
  await writeItem(
    { id, root, within, path: to, isFolder: is_folder, manifest, files: rest, replaces, isLibrary },
    (work) => store.exclusively(work),
  )
}

/** The record of a batch: what was written where, for whoever wants to know or to take it back. */
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
    (work) => store.exclusively(work),
  )
}
