import type { JsonObject } from '../shared/json.ts'

/** Work that outlives the request it was asked for with; whoever asked comes back for its result. */
export interface TaskRow {
  readonly id: string
  /** Nobody else sees it. */
  readonly principal: string
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  readonly created_at: string
  readonly updated_at: string
  readonly ttl_ms: number
  /** The process that does it: with that one gone, nothing will come. */
  readonly owner: string
  /** What it waits to be told, by key. */
  readonly input_requests: JsonObject
  /** What it was told and has not taken up yet. */
  readonly input_responses: JsonObject
  readonly result: JsonObject | null
  readonly error: JsonObject | null
}

export interface TaskRows {
  /** What has outlived its time goes. */
  create(row: TaskRow): Promise<void>
  find(id: string): Promise<TaskRow | null>
  /** Edits it in one transaction and gives it as it stands then: null when there is none. An edit that gives null changes nothing. */
  change(id: string, edit: (row: TaskRow) => TaskRow | null): Promise<TaskRow | null>
}
