import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { z } from 'zod'
import type { Checkpoint, Entry, KeptBytes, PathChange, UndoLog } from '../undo.ts'
import type { Connection } from './connection.ts'
import type { SqlValue } from './driver.ts'
import { jsonObject, readRow } from './rows.ts'

export function createUndo(connection: Connection): UndoLog {
  const { insertCheckpoint, selectSeq, deletePaths, deleteCheckpoint, ...statements } = prepare(connection)
  const insertAll = (seq: SqlValue, changes: readonly PathChange[], bytes: readonly Packed[]): void => {
    for (const row of bytes) statements.insertBytes.run(row.hash, row.bytes.byteLength, row.codec, row.bytes)
    for (const { path, before, after } of changes) {
      const hash = before.kind === 'file' ? before.hash : null
      const left = after === null ? null : JSON.stringify(after)
      statements.insertPath.run(seq, path, JSON.stringify(before), left, hash)
    }
  }
  const seqOf = (callId: string): number => readRow(SeqRow, selectSeq.get(callId)).seq
  /** Takes the paths of a checkpoint away, and the bytes that nothing else needs when `then` is done. */
  const replacePaths = (seq: number, then: () => void): void => {
    const hashes = statements.selectHashes.all(seq).map((row) => readRow(HashRow, row).hash)
    deletePaths.run(seq)
    then()
    for (const hash of hashes) statements.deleteUnused.run(hash, hash)
  }
  const drop = (seq: number): void => replacePaths(seq, () => void deleteCheckpoint.run(seq))
  const checkpoints = async (read: () => readonly unknown[]): Promise<readonly Checkpoint[]> =>
    (await connection.read(read)).map((row) => readRow(CheckpointRow, row))

  return {
    open({ call_id, run, session, principal, project, tool, tier, wall }, before, bytes) {
      const packed = bytes.map(pack)
      return connection.write(() => {
        insertCheckpoint.run(call_id, run, session, principal, project, tool, tier, wall)
        insertAll(seqOf(call_id), before, packed)
      })
    },
    close(callId, changes, { bytes = [], details = {} } = {}) {
      const packed = bytes.map(pack)
      return connection.write(() => {
        const seq = seqOf(callId)
        replacePaths(seq, () => insertAll(seq, changes, packed))
        statements.closeCheckpoint.run(JSON.stringify(details), seq)
      })
    },
    discard: (callId) => connection.write(() => drop(seqOf(callId))),
    find: (id) => checkpoints(() => statements.selectById.all(id, id, id)),
    standing: (limit) => checkpoints(() => statements.selectStanding.all(limit)),
    unfinished: (project) => checkpoints(() => statements.selectOpen.all(project)),
    changes: async (callId) =>
      (await connection.read(() => statements.selectPaths.all(callId))).map((row) => readRow(PathRow, row)),
    async bytes(hash) {
      const found = await connection.read(() => statements.selectBytes.get(hash))
      return found === undefined ? null : unpack(readRow(BytesRow, found))
    },
    markUndone: (callIds, by) =>
      connection.write(() => {
        for (const callId of callIds) {
          statements.reinstate.run(callId)
          statements.markUndone.run(by, callId)
        }
      }, 'full'),
    async trim({ bytes, files, since }) {
      const total = await connection.read(() => readRow(TotalRow, statements.total.get()))
      const oldest = await connection.read(() => statements.oldest.get())
      const isOld = oldest !== undefined && readRow(OldRow, oldest).wall < since
      if (total.bytes <= bytes && total.files <= files && !isOld) return 0
      return connection.write(() => {
        let dropped = 0
        // Others wait meanwhile: the rest goes with the next calls.
        while (dropped < MOST_DROPPED) {
          const now = readRow(TotalRow, statements.total.get())
          const row = statements.oldest.get()
          const first = row === undefined ? null : readRow(OldRow, row)
          if (first === null) break
          // The newest stays: it is the call that asks for room.
          const isOver = (now.bytes > bytes || now.files > files) && now.checkpoints > 1
          if (!isOver && first.wall >= since) break
          drop(first.seq)
          dropped += 1
        }
        return dropped
      })
    },
  }
}

function prepare(connection: Connection) {
  return {
    insertCheckpoint: connection.prepare(
      `INSERT INTO checkpoints (call_id, run, session, principal, project, tool, tier, state, wall, details)
       VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ?, '{}')`,
    ),
    selectSeq: connection.prepare('SELECT seq FROM checkpoints WHERE call_id = ?'),
    insertPath: connection.prepare('INSERT INTO kept_paths VALUES (?, ?, ?, ?, ?)'),
    insertBytes: connection.prepare('INSERT INTO kept_bytes VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    closeCheckpoint: connection.prepare("UPDATE checkpoints SET state = 'closed', details = ? WHERE seq = ?"),
    deletePaths: connection.prepare('DELETE FROM kept_paths WHERE checkpoint = ?'),
    deleteCheckpoint: connection.prepare('DELETE FROM checkpoints WHERE seq = ?'),
    deleteUnused: connection.prepare(
      'DELETE FROM kept_bytes WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM kept_paths WHERE hash = ?)',
    ),
    selectById: connection.prepare(
      'SELECT * FROM checkpoints WHERE call_id = ? OR run = ? OR session = ? ORDER BY seq DESC',
    ),
    selectStanding: connection.prepare(
      "SELECT * FROM checkpoints WHERE state <> 'undone' ORDER BY seq DESC LIMIT ?",
    ),
    selectOpen: connection.prepare("SELECT * FROM checkpoints WHERE project = ? AND state = 'open'"),
    selectPaths: connection.prepare(
      `SELECT path, before, after FROM kept_paths
       WHERE checkpoint = (SELECT seq FROM checkpoints WHERE call_id = ?) ORDER BY path`,
    ),
    selectHashes: connection.prepare(
      'SELECT DISTINCT hash FROM kept_paths WHERE checkpoint = ? AND hash IS NOT NULL',
    ),
    selectBytes: connection.prepare('SELECT codec, bytes FROM kept_bytes WHERE hash = ?'),
    markUndone: connection.prepare(
      "UPDATE checkpoints SET state = 'undone', undone_by = ? WHERE call_id = ?",
    ),
    reinstate: connection.prepare(
      "UPDATE checkpoints SET state = 'closed', undone_by = NULL WHERE undone_by = ?",
    ),
    total: connection.prepare(
      `SELECT count(*) AS files, coalesce(sum(size), 0) AS bytes,
         (SELECT count(*) FROM checkpoints) AS checkpoints FROM kept_bytes`,
    ),
    oldest: connection.prepare('SELECT seq, wall FROM checkpoints ORDER BY seq LIMIT 1'),
  }
}

const MOST_DROPPED = 200

const HashRow = z.object({ hash: z.string() })
const SeqRow = z.object({ seq: z.number() })
const OldRow = z.object({ seq: z.number(), wall: z.number() })
const TotalRow = z.object({ files: z.number(), bytes: z.number(), checkpoints: z.number() })

const CheckpointRow = z.object({
  call_id: z.string(),
  run: z.string().nullable(),
  session: z.string(),
  principal: z.string(),
  project: z.string().nullable(),
  tool: z.string(),
  tier: z.enum(['files', 'tree', 'call']),
  state: z.enum(['open', 'closed', 'undone']),
  undone_by: z.string().nullable(),
  wall: z.number(),
  details: jsonObject,
})

const EntryShape: z.ZodType<Entry> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('absent') }),
  z.object({ kind: z.literal('file'), mode: z.number(), hash: z.string() }),
  z.object({ kind: z.literal('link'), target: z.string() }),
  z.object({ kind: z.literal('folder'), mode: z.number() }),
])
const entry = z.preprocess((text) => (typeof text === 'string' ? JSON.parse(text) : text), EntryShape)
const PathRow = z.object({ path: z.string(), before: entry, after: entry.nullable() })

const BytesRow = z.object({ codec: z.enum(['plain', 'deflate']), bytes: z.instanceof(Uint8Array) })

interface Packed extends KeptBytes {
  readonly codec: 'plain' | 'deflate'
}

/** Before the store is locked. What is packed already, or short, stays as it is. */
function pack({ hash, bytes }: KeptBytes): Packed {
  const packed = bytes.byteLength < 256 ? bytes : deflateRawSync(bytes, { level: 1 })
  return packed.byteLength < bytes.byteLength * 0.9
    ? { hash, bytes: packed, codec: 'deflate' }
    : { hash, bytes, codec: 'plain' }
}

function unpack({ codec, bytes }: z.infer<typeof BytesRow>): Uint8Array {
  return codec === 'plain' ? bytes : inflateRawSync(bytes)
}
