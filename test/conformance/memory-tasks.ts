import type { TaskRow, TaskRows } from '../../src/store/tasks.ts'

/** Rows of tasks for a server that keeps nothing. */
export function createMemoryTasks(): TaskRows {
  const rows = new Map<string, TaskRow>()
  return {
    async create(row) {
      rows.set(row.id, row)
    },
    find: (id) => Promise.resolve(rows.get(id) ?? null),
    async change(id, edit) {
      const row = rows.get(id)
      const edited = row === undefined ? null : edit(row)
      if (edited !== null) rows.set(id, edited)
      return edited ?? row ?? null
    },
  }
}
