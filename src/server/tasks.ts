import type { Server } from '@modelcontextprotocol/server'
import type { Clock } from '../shared/clock.ts'
import type { Ids } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { OWN_PROCESS, tagText } from '../shared/own-process.ts'
import type { TaskRow, TaskRows } from '../store/tasks.ts'
import { attachTasks } from './task-methods.ts'
import { POLL_INTERVAL_MS, cancelled, failureOf, isFinal, viewOf } from './task-view.ts'

/** Work that goes on when its request has been answered, and where its result is found. */
export interface Tasks {
  /** Answers what clients ask of tasks, for what this principal began. */
  attach(server: Server, principal: string): void
  /** Gives what a request is answered with. The work starts after that, and its row stands before. */
  begin(principal: string, work: TaskWork, controller?: AbortController): Promise<JsonObject>
}

export type TaskWork = (control: TaskControl) => Promise<JsonObject>

interface TaskControl {
  /** Aborted when somebody cancels it. */
  readonly signal: AbortSignal
  /** Waits until everything asked for is answered: requests and answers by key. */
  readonly ask: (requests: JsonObject) => Promise<JsonObject>
}

interface TaskMeans {
  /** Opened with the first task. */
  readonly rows: () => Promise<TaskRows>
  readonly clock: Clock
  readonly ids: Ids
}

const TTL_MS = 60 * 60 * 1000

export function openTasks({ rows, clock, ids }: TaskMeans): Tasks {
  const running = new Map<string, Running>()
  const now = (): string => new Date(clock.now()).toISOString()

  /** What is over stays as it is. */
  const change = async (id: string, edit: (row: TaskRow) => Partial<TaskRow>): Promise<TaskRow | null> => {
    const stored = await rows()
    const row = await stored.change(id, (old) =>
      isFinal(old) ? null : { ...old, ...edit(old), updated_at: now() },
    )
    if (row !== null) running.get(id)?.hear(row)
    return row
  }

  const ask = async (id: string, requests: JsonObject): Promise<JsonObject> => {
    await change(id, () => ({ status: 'input_required', input_requests: requests, input_responses: {} }))
    const { input_responses } = await new Promise<TaskRow>((resolve, reject) => {
      const run = running.get(id)
      if (run === undefined || run.controller.signal.aborted) return reject(cancelled(id))
      run.waiting = resolve
      run.controller.signal.addEventListener('abort', () => reject(cancelled(id)), { once: true })
    })
    return input_responses
  }

  const perform = async (id: string, work: TaskWork, { signal }: AbortController): Promise<void> => {
    try {
      const result = await work({ signal, ask: (requests) => ask(id, requests) })
      await change(id, () => ({ status: 'completed', result }))
    } catch (error) {
      await change(id, () => failureOf(error))
    } finally {
      running.delete(id)
    }
  }

  /** What another process was told about the tasks of this one. */
  const look = async (): Promise<void> => {
    const stored = await rows()
    for (const [id, run] of running) {
      const row = await stored.find(id)
      if (row !== null) run.hear(row)
    }
  }
  const keepLooking = (): void => {
    if (running.size === 0) return
    setTimeout(
      () =>
        void look()
          .catch(() => undefined)
          .finally(keepLooking),
      POLL_INTERVAL_MS,
    ).unref()
  }

  return {
    attach: (server, principal) =>
      attachTasks(server, principal, { find: async (id) => (await rows()).find(id), change }),
    async begin(principal, work, controller = new AbortController()) {
      const row = newRow(ids(), principal, now())
      await (await rows()).create(row)
      running.set(row.id, createRunning(controller))
      if (running.size === 1) keepLooking()
      setImmediate(() => void perform(row.id, work, controller).catch(() => undefined))
      return { ...viewOf(row), resultType: 'task' }
    },
  }
}

/** A task of this process. */
interface Running {
  readonly controller: AbortController
  waiting: ((row: TaskRow) => void) | null
  hear(row: TaskRow): void
}

function createRunning(controller: AbortController): Running {
  return {
    controller,
    waiting: null,
    hear(row) {
      if (row.status === 'cancelled') controller.abort()
      if (this.waiting === null || row.status !== 'working') return
      this.waiting(row)
      this.waiting = null
    },
  }
}

function newRow(id: string, principal: string, at: string): TaskRow {
  return {
    id,
    principal,
    status: 'working',
    created_at: at,
    updated_at: at,
    ttl_ms: TTL_MS,
    owner: tagText(OWN_PROCESS),
    input_requests: {},
    input_responses: {},
    result: null,
    error: null,
  }
}
