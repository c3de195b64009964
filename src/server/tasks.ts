import type { Server, ServerContext } from '@modelcontextprotocol/server'
import { CLIENT_CAPABILITIES_META_KEY, ProtocolError } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Clock } from '../shared/clock.ts'
import type { Ids } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { OWN_PROCESS, isLiving, readTag, tagText } from '../shared/own-process.ts'
import type { TaskRow, TaskRows } from '../store/tasks.ts'

/** The extension by which a client says that it can come back for a result. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** Work that goes on when its request has been answered, and where its result is found. */
export interface Tasks {
  /** Answers `tasks/get`, `tasks/update` and `tasks/cancel`, for what this principal began. */
  attach(server: Server, principal: string): void
  /** Gives what a request is answered with. The work starts after that, and its row stands before. */
  begin(principal: string, work: TaskWork, controller?: AbortController): Promise<JsonObject>
}

export type TaskWork = (control: TaskControl) => Promise<JsonObject>

export interface TaskControl {
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
const POLL_INTERVAL_MS = 1000
const INVALID_PARAMS = -32_602
const INTERNAL_ERROR = -32_603
const MISSING_CAPABILITY = -32_021

const Named = z.looseObject({ taskId: z.string().max(128) })
const Answers = z.record(z.string(), z.json())
const Envelope = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z
    .looseObject({ extensions: z.record(z.string(), z.unknown()).optional() })
    .optional(),
})

/** Whether whoever sent this request can come back for its result. */
export function acceptsTasks({ mcpReq }: ServerContext): boolean {
  const { data } = Envelope.safeParse(mcpReq.envelope ?? {})
  return data?.[CLIENT_CAPABILITIES_META_KEY]?.extensions?.[TASKS_EXTENSION] !== undefined
}

export function requireTasks(ctx: ServerContext): void {
  if (acceptsTasks(ctx)) return
  throw new ProtocolError(MISSING_CAPABILITY, `The client must declare ${TASKS_EXTENSION}`, {
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  })
}

export function openTasks({ rows, clock, ids }: TaskMeans): Tasks {
  const running = new Map<string, Running>()
  const now = (): string => new Date(clock.now()).toISOString()
  const owner = tagText(OWN_PROCESS)

  /** Of another principal it is not even said that it is there. */
  const find = async (id: string, principal: string): Promise<TaskRow> => {
    const row = await (await rows()).find(id)
    if (row === null || row.principal !== principal) throw unknown(id)
    return row
  }

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
      if (run === undefined) return reject(cancelled(id))
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
      const [code, message] =
        error instanceof ProtocolError
          ? [error.code, error.message]
          : [INTERNAL_ERROR, error instanceof Error ? error.message : String(error)]
      await change(id, () => ({ status: 'failed', error: { code, message } }))
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
    attach(server, principal) {
      server.setRequestHandler('tasks/get', { params: Named }, async ({ taskId }, ctx) => {
        requireTasks(ctx)
        return viewOf(await find(taskId, principal))
      })
      server.setRequestHandler('tasks/update', { params: Named }, async (params, ctx) => {
        requireTasks(ctx)
        const { id } = await find(params.taskId, principal)
        const { data = {} } = Answers.safeParse(params['inputResponses'] ?? ctx.mcpReq.inputResponses)
        await change(id, (row) => answered(row, data))
        return {}
      })
      server.setRequestHandler('tasks/cancel', { params: Named }, async ({ taskId }, ctx) => {
        requireTasks(ctx)
        const { id } = await find(taskId, principal)
        await change(id, () => ({ status: 'cancelled', input_requests: {} }))
        return {}
      })
    },
    async begin(principal, work, controller = new AbortController()) {
      const id = ids()
      const at = now()
      const row: TaskRow = {
        id,
        principal,
        status: 'working',
        created_at: at,
        updated_at: at,
        ttl_ms: TTL_MS,
        owner,
        input_requests: {},
        input_responses: {},
        result: null,
        error: null,
      }
      await (await rows()).create(row)
      running.set(id, createRunning(controller))
      if (running.size === 1) keepLooking()
      setImmediate(() => void perform(id, work, controller).catch(() => undefined))
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

function isFinal({ status }: TaskRow): boolean {
  return status !== 'working' && status !== 'input_required'
}

/** Only what was asked for is taken, and once. */
function answered(row: TaskRow, given: JsonObject): Partial<TaskRow> {
  const isTaken = ([key]: [string, unknown]): boolean => Object.hasOwn(row.input_requests, key)
  const taken = Object.fromEntries(Object.entries(given).filter(isTaken))
  const open = Object.entries(row.input_requests).filter(([key]) => !Object.hasOwn(taken, key))
  return {
    status: open.length === 0 ? 'working' : row.status,
    input_requests: Object.fromEntries(open),
    input_responses: { ...row.input_responses, ...taken },
  }
}

function viewOf(row: TaskRow): JsonObject {
  const { id, created_at, ttl_ms } = row
  const { status, updated_at, input_requests, result, error } = isLost(row) ? { ...row, ...LOST } : row
  return {
    taskId: id,
    status,
    createdAt: created_at,
    lastUpdatedAt: updated_at,
    ttlMs: ttl_ms,
    pollIntervalMs: POLL_INTERVAL_MS,
    ...(status === 'completed' ? { result } : {}),
    ...(status === 'failed' ? { error } : {}),
    ...(status === 'input_required' ? { inputRequests: input_requests } : {}),
  }
}

function isLost(row: TaskRow): boolean {
  const tag = isFinal(row) ? null : readTag(row.owner)
  return tag !== null && isLiving(tag) === false
}

const LOST = {
  status: 'failed',
  error: { code: INTERNAL_ERROR, message: 'The server ended before the task did' },
} as const

function cancelled(id: string): ProtocolError {
  return new ProtocolError(INTERNAL_ERROR, `Cannot go on with the task "${id}": it was cancelled`)
}

function unknown(id: string): ProtocolError {
  return new ProtocolError(INVALID_PARAMS, `Cannot find the task "${id}": it has expired or never was`)
}
