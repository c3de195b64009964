import { expect, test } from 'vitest'
import type { StoredRun } from '../store/runs.ts'
import { createCurrentRun } from './current-run.ts'

const HOUR = 3_600_000
const OPENED = Date.parse('2026-01-28T12:00:00.000Z')
const RUN: StoredRun = {
  id: 'run-1',
  kind: 'run',
  parent: null,
  root: 'run-1',
  principal: 'user:me',
  directive: 'deploy',
  own: [],
  ceiling: [],
  opened_at: new Date(OPENED).toISOString(),
  closed_at: null,
  session: null,
}

/** A run with calls at these hours. */
function place(...calls: readonly number[]) {
  let run = RUN
  let looks = 0
  let now = OPENED
  const record = (hour: number) => ({ wall: OPENED + hour * HOUR })
  const current = createCurrentRun({
    clock: { now: () => now, monotonic: () => now },
    store: {
      runs: {
        find: (id) => Promise.resolve(id === run.id ? run : null),
        close: (_, closedAt) => {
          run = { ...run, closed_at: closedAt }
          return Promise.resolve()
        },
      },
      journal: {
        read: () => {
          looks += 1
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of a record is read
          return Promise.resolve(calls.slice(-1).map(record)) as never
        },
      },
    },
  })
  return {
    looks: () => looks,
    at: async (hour: number, id = RUN.id) => {
      now = OPENED + hour * HOUR
      const found = await current(id)
      return found === null ? null : found.closed_at === null ? 'open' : 'over'
    },
  }
}

test('D13: a run that nobody has called in for a day is over, and stays so', async () => {
  const { at } = place()
  expect(await at(23)).toBe('open')
  expect(await at(25)).toBe('over')
  expect(await at(1)).toBe('over')
  expect(await at(25, 'other')).toBeNull()
})

test('D13: one that is called in goes on, and the journal is read once a day for it', async () => {
  const { at, looks } = place(20)
  expect(await at(24)).toBe('open')
  expect(looks()).toBe(0)
  expect(await at(30)).toBe('open')
  expect(await at(43)).toBe('open')
  expect(looks()).toBe(1)
  expect(await at(45)).toBe('over')
})
