import { expect } from 'vitest'
import type { StoredRun } from '../../src/store/runs.ts'
import type { Cases } from './store-bed.ts'

const RUN: StoredRun = {
  id: 'run-1',
  kind: 'run',
  parent: null,
  root: 'run-1',
  principal: 'user:me',
  directive: 'deploy',
  own: [{ name: 'directive deploy', rules: [] }],
  ceiling: [],
  opened_at: '2026-01-28T12:34:56.000Z',
  closed_at: null,
  session: 'session-1',
}
const child = (id: string, parent: string): StoredRun => ({ ...RUN, id, parent })

export const runCases: Cases = {
  async 'R51: a run that is begun in one process is known in all, with its layers'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    expect(await other.runs.find('run-1')).toBeNull()
    await store.runs.open(RUN)
    expect(await other.runs.find('run-1')).toEqual(RUN)
    await expect(other.runs.open(RUN)).rejects.toThrow()
  },

  async 'R51: a run ends with all that were begun in it, once'(bed) {
    const store = await bed.open()
    await store.runs.open(RUN)
    await store.runs.open(child('run-2', 'run-1'))
    await store.runs.open(child('run-3', 'run-2'))
    await store.runs.open({ ...RUN, id: 'other', root: 'other' })
    await store.runs.close('run-2', 'then')
    await store.runs.close('run-1', 'later')
    await store.runs.close('never', 'later')
    const ends = await Promise.all(['run-1', 'run-2', 'run-3', 'other'].map((id) => store.runs.find(id)))
    expect(ends.map((run) => run?.closed_at)).toEqual(['later', 'then', 'then', null])
  },
}
