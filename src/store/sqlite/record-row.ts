import { z } from 'zod'
import type { JsonObject } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import type { JournalRecord } from '../journal.ts'
import { readRow } from './rows.ts'

/** A record of the journal as it lies in its table. */
export const RecordRow = z.object({
  seq: z.number(),
  kind: z.enum(['decision', 'outcome']),
  call_id: z.string(),
  session: z.string(),
  parent_session: z.string().nullable(),
  principal: z.string(),
  operation: z.string(),
  tool: z.string(),
  status: z.string(),
  wall: z.number(),
  mono: z.number().nullable(),
  salt: z.string().nullable(),
  body: z.string().nullable(),
  body_hash: z.string(),
  prev_hash: z.string(),
  hash: z.string(),
})
export type RecordRow = z.infer<typeof RecordRow>

const spoilt = z.string().catch('?')

/** What can still be read of a record, in whichever column somebody has spoilt it. */
const ReadableRow = RecordRow.extend({
  kind: RecordRow.shape.kind.catch('decision'),
  call_id: spoilt,
  session: spoilt,
  parent_session: RecordRow.shape.parent_session.catch(null),
  principal: spoilt,
  operation: spoilt,
  tool: spoilt,
  status: spoilt,
  wall: z.number().catch(0),
  mono: RecordRow.shape.mono.catch(null),
  salt: RecordRow.shape.salt.catch(null),
  body: RecordRow.shape.body.catch(null),
  body_hash: spoilt,
  prev_hash: spoilt,
  hash: spoilt,
})

export function toRecord(row: unknown): JournalRecord {
  const { salt: _salt, body, body_hash: _bodyHash, prev_hash: prev, ...said } = readRow(ReadableRow, row)
  return { ...said, prev, body: body === null ? {} : bodyOf(body) }
}

/** One that somebody has spoilt is for `verify` to tell of; the others must still be shown. */
function bodyOf(text: string): JsonObject {
  try {
    const body: unknown = JSON.parse(text)
    return isJsonObject(body) ? body : {}
  } catch {
    return {}
  }
}
