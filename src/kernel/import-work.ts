import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import { keepAll } from '../shared/redact.ts'
import { leadsOutTo } from '../spaces/disk.ts'
import type { Batch } from '../spaces/import/batch.ts'
import { batchFile, isWritten, readBatches } from '../spaces/import/batch.ts'
import { makeBatch } from '../spaces/import/make-batch.ts'
import type { Earlier, Step } from '../spaces/import/plan-import.ts'
import { planImport } from '../spaces/import/plan-import.ts'
import type { Source } from '../spaces/import/recognise.ts'
import { recognise } from '../spaces/import/recognise.ts'
import { survey } from '../spaces/import/survey.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Place } from './carry-out-import.ts'
import { carryOut } from './carry-out-import.ts'
import type { Means } from './means.ts'
import { trustLaunches } from './trust-launches.ts'

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
    packageTable: means.packageTable,
  })
  const time = new Date(means.clock.now()).toISOString()
  const planned = makeBatch({ id: ticket.callId, time, to, root: place.root }, source, found, steps)
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
    preview: () => ({ ...planned }),
    warnings: [],
    async perform(watch) {
      const done = await carryOut(planned, steps, { place, means, signal: watch?.signal })
      lookup.freshen(true)
      if (to === 'project') {
        const written = done.items.filter(isWritten).map(({ id }) => id)
        await trustLaunches(lookup, ticket.caller, means, new Set(written))
      }
      return { data: { ...done }, warnings: [] }
    },
  }
}

function placeOf(to: 'user' | 'project', { projectPath }: Lookup, { userSpace }: Means): Place {
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

function typesIn(steps: readonly Step[]): readonly string[] {
  return [
    ...new Set(steps.filter(({ line }) => isWritten(line)).map(({ line }) => line.to.split('/')[0] ?? '')),
  ]
}
