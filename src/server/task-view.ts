import { ProtocolError } from '@modelcontextprotocol/server'
import type { JsonObject } from '../shared/json.ts'
import { isLiving, readTag } from '../shared/own-process.ts'
import type { TaskRow } from '../store/tasks.ts'

/** How often whoever waits need look. */
export const POLL_INTERVAL_MS = 1000
const INTERNAL_ERROR = -32_603

/** A task as its client sees it. */
export function viewOf(row: TaskRow): JsonObject {
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

export function isFinal({ status }: TaskRow): boolean {
  return status !== 'working' && status !== 'input_required'
}

/** Only what was asked for is taken, and once. */
export function answered(row: TaskRow, given: JsonObject): Partial<TaskRow> {
  const isTaken = ([key]: [string, unknown]): boolean => Object.hasOwn(row.input_requests, key)
  const taken = Object.fromEntries(Object.entries(given).filter(isTaken))
  const open = Object.entries(row.input_requests).filter(([key]) => !Object.hasOwn(taken, key))
  return {
    status: open.length === 0 ? 'working' : row.status,
    input_requests: Object.fromEntries(open),
    input_responses: { ...row.input_responses, ...taken },
  }
}

/** What a task that broke says of it. */
export function failureOf(error: unknown): Partial<TaskRow> {
  const code = error instanceof ProtocolError ? error.code : INTERNAL_ERROR
  return {
    status: 'failed',
    error: { code, message: error instanceof Error ? error.message : String(error) },
  }
}

export function cancelled(id: string): ProtocolError {
  return new ProtocolError(INTERNAL_ERROR, `Cannot go on with the task "${id}": it was cancelled`)
}

function isLost(row: TaskRow): boolean {
  const tag = isFinal(row) ? null : readTag(row.owner)
  return tag !== null && isLiving(tag) === false
}

const LOST = {
  status: 'failed',
  error: { code: INTERNAL_ERROR, message: 'The server ended before the task did' },
} as const
