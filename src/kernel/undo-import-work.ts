import { basename, join } from 'node:path'
import { KiwiError, messageOf } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import { statOf } from '../spaces/disk.ts'
import type { Batch, BatchItem } from '../spaces/import/batch.ts'
import { isWritten, manifestIn, readBatch } from '../spaces/import/batch.ts'
import { hashOf, readFiles } from '../spaces/import/read-find.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { stampAt } from '../spaces/scan.ts'
import { removeEmptyFolder, removeItem } from '../spaces/write.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import { keepBatch, keptAt, put } from './carry-out-import.ts'
import type { Means } from './means.ts'
import { judgeSecrets, takeBackSecrets } from './undo-secrets.ts'

/** What an import wrote and nobody has touched since goes again; what it replaced comes back. */
export async function undoImportWork(
  { batch: id }: Extract<Wish, { kind: 'undo_import' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, 'import --undo')
  const batch = readBatch(means.userSpace, id)
  if (batch.undone_at !== null) {
    throw new KiwiError('CONFLICT', `Cannot undo the import "${id}": it was undone on ${batch.undone_at}`, {
      hint: 'kiwi import --list shows which imports can be undone',
    })
  }
  const isSpace = batch.to === 'user' ? batch.root === means.userSpace : basename(batch.root) === '.ai'
  if (!isSpace) {
    throw new KiwiError('PARSE_ERROR', `Cannot undo the import "${id}": "${batch.root}" is no space`, {
      hint: 'Its record was changed, or the user space was moved: remove the items by hand',
    })
  }
  const items = batch.items.filter(isWritten)
  const secrets = await judgeSecrets(batch, means)
  return {
    item: { id, version: null, space: batch.to },
    action: 'undo',
    chain: [],
    demands: [
      { op: 'tool', id: 'kiwi-mcp', action: 'import' },
      // Lists of servers are a person's to write, and no tool's: no rule is asked about them.
      ...[...new Set(items.map(({ to }) => to.split('/')[0] ?? ''))]
        .filter((type) => type !== 'config')
        .map((type) => ({ op: 'write', path: join(batch.root, type) }) as const),
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { batch: id, items: items.length },
    redact: keepAll,
    preview: () =>
      reportOf(batch, [
        ...items.map((item) => ({ ...lineOf(item), state: judge(batch, item) })),
        ...(items.some((item) => judge(batch, item) === 'conflict') ? [] : secrets),
      ]),
    warnings: [],
    async perform() {
      const lines: UndoLine[] = []
      for (const item of items.toReversed()) lines.push(await takeBack(batch, item, means))
      for (const folder of batch.folders.toReversed()) await removeEmptyFolder(join(batch.root, folder))
      const isWhole = lines.every(({ state }) => state !== 'failed')
      lookup.freshen(true)
      // Where the servers stay, so does what they need.
      const isTaken = isWhole && lines.every(({ state }) => state !== 'conflict')
      const taken = isTaken ? await takeBackSecrets(batch, lookup, means) : []
      if (isWhole) await settle(batch, means)
      return { data: reportOf(batch, [...lines.toReversed(), ...taken]), warnings: [] }
    },
  }
}

/** It is on its record that it was undone, and what it had replaced is no longer needed beside it. */
async function settle(batch: Batch, means: Means): Promise<void> {
  await keepBatch({ ...batch, undone_at: new Date(means.clock.now()).toISOString() }, means)
  const kept = keptAt(means.userSpace, batch.batch)
  if (statOf(kept) !== null) await removeItem(kept, false, null)
}

/** Taken away, put back as it was before, gone already, changed since and so left, or not to be had. */
type UndoState = 'removed' | 'restored' | 'gone' | 'conflict' | 'failed'

interface UndoLine {
  readonly id: string
  readonly type: string
  readonly path: string
  readonly state: UndoState
  readonly reason: string | null
}

function lineOf({ id, type, to }: BatchItem): Omit<UndoLine, 'state'> {
  return { id, type, path: to, reason: null }
}

/** What would become of it, by what lies there now. */
function judge({ root }: Batch, item: BatchItem): UndoState {
  const path = join(root, item.to)
  if (statOf(path) === null) return 'gone'
  return hashAt(path, item) === item.hash ? (item.state === 'updated' ? 'restored' : 'removed') : 'conflict'
}

function hashAt(path: string, item: BatchItem): string | null {
  try {
    return hashOf(readFiles(path, item.is_folder))
  } catch (error) {
    if (error instanceof KiwiError) return null
    throw error
  }
}

async function takeBack(batch: Batch, item: BatchItem, means: Means): Promise<UndoLine> {
  const line = lineOf(item)
  const state = judge(batch, item)
  if (state === 'conflict')
    return { ...line, state, reason: 'it was changed since the import: left as it is' }
  if (state === 'gone') return { ...line, state }
  try {
    const path = join(batch.root, item.to)
    const manifest = item.is_folder ? join(path, manifestIn(item.to)) : path
    const within = batch.to === 'user' ? null : join(batch.root, '..')
    if (state === 'removed') {
      const [remains = null] = await removeItem(manifest, item.is_folder, within)
      return { ...line, state, reason: remains }
    }
    const before = readFiles(join(keptAt(means.userSpace, batch.batch), item.to), item.is_folder)
    const stamp = stampAt({ path: manifest, kind: item.is_folder ? 'folder' : 'manifest', beside: [] })
    await put({ ...item, files: before }, { root: batch.root, within }, { stamp }, means)
    return { ...line, state }
  } catch (error) {
    return { ...line, state: 'failed', reason: messageOf(error) }
  }
}

function reportOf({ batch, source, root }: Batch, lines: readonly UndoLine[]): JsonObject {
  const states: readonly UndoState[] = ['removed', 'restored', 'gone', 'conflict', 'failed']
  const totals = Object.fromEntries(
    states.map((state) => [state, lines.filter((line) => line.state === state).length]),
  )
  return { batch, source, root, totals, items: lines.map((line) => ({ ...line })) }
}
