import type { Server, ServerContext } from '@modelcontextprotocol/server'
import { CLIENT_CAPABILITIES_META_KEY, ProtocolError } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { TaskRow } from '../store/tasks.ts'
import { answered, viewOf } from './task-view.ts'

/** The extension by which a client says that it can come back for a result. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

const INVALID_PARAMS = -32_602
const MISSING_CAPABILITY = -32_021

const Named = z.looseObject({ taskId: z.string().max(128) })
const Answers = z.record(z.string(), z.json())
const Envelope = z.looseObject({
  [CLIENT_CAPABILITIES_META_KEY]: z
    .looseObject({ extensions: z.record(z.string(), z.unknown()).optional() })
    .optional(),
})

interface Book {
  readonly find: (id: string) => Promise<TaskRow | null>
  readonly change: (id: string, edit: (row: TaskRow) => Partial<TaskRow>) => Promise<TaskRow | null>
}

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

/** Answers `tasks/get`, `tasks/update` and `tasks/cancel`, for what this principal began. */
export function attachTasks(server: Server, principal: string, { find, change }: Book): void {
  /** Of another principal it is not even said that it is there. */
  const own = async (id: string, ctx: ServerContext): Promise<TaskRow> => {
    requireTasks(ctx)
    const row = await find(id)
    if (row?.principal === principal) return row
    throw new ProtocolError(INVALID_PARAMS, `Cannot find the task "${id}": it has expired or never was`)
  }
  server.setRequestHandler('tasks/get', { params: Named }, async ({ taskId }, ctx) =>
    viewOf(await own(taskId, ctx)),
  )
  server.setRequestHandler('tasks/update', { params: Named }, async (params, ctx) => {
    const { id } = await own(params.taskId, ctx)
    const { data = {} } = Answers.safeParse(params['inputResponses'] ?? ctx.mcpReq.inputResponses)
    await change(id, (row) => answered(row, data))
    return {}
  })
  server.setRequestHandler('tasks/cancel', { params: Named }, async ({ taskId }, ctx) => {
    const { id } = await own(taskId, ctx)
    await change(id, () => ({ status: 'cancelled', input_requests: {} }))
    return {}
  })
}
