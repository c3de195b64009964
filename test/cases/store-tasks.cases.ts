import { expect } from 'vitest'
import type { TaskRow } from '../../src/store/tasks.ts'
import type { Cases } from './store-bed.ts'

const HOUR_MS = 60 * 60 * 1000

function task(more: Partial<TaskRow> = {}): TaskRow {
  const at = new Date().toISOString()
  return {
    id: 'task-1',
    principal: 'me',
    status: 'working',
    created_at: at,
    updated_at: at,
    ttl_ms: HOUR_MS,
    owner: 'host boot namespace 1 2',
    input_requests: {},
    input_responses: {},
    result: null,
    error: null,
    ...more,
  }
}

export const taskCases: Cases = {
  async 'X2: a task is found by every handle as it was left'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    const row = task({ input_requests: { confirm: { method: 'elicitation/create', params: {} } } })
    await store.tasks.create(row)
    expect(await other.tasks.find('task-1')).toEqual(row)
    expect(await other.tasks.find('task-2')).toBeNull()
  },

  async 'X2: an edit that gives nothing changes nothing, and both give the task as it stands'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    await store.tasks.create(task())
    const done = await store.tasks.change('task-1', (row) => ({
      ...row,
      status: 'completed',
      result: { content: [] },
    }))
    expect(done).toMatchObject({ status: 'completed', result: { content: [] } })
    expect(await other.tasks.change('task-1', () => null)).toEqual(done)
    expect(await other.tasks.change('task-2', (row) => row)).toBeNull()
  },

  async 'X2: a task is readable for its time and not longer'(bed) {
    const { tasks } = await bed.open()
    const before = new Date(Date.now() - 2 * HOUR_MS).toISOString()
    await tasks.create(task({ id: 'old', created_at: before, ttl_ms: HOUR_MS }))
    await tasks.create(task({ id: 'long', created_at: before, ttl_ms: 3 * HOUR_MS }))
    expect(await tasks.find('old')).toBeNull()
    expect(await tasks.change('old', (row) => row)).toBeNull()
    expect(await tasks.find('long')).not.toBeNull()
  },
}
