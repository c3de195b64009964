import { z } from 'zod'
import { KiwiError } from '../../shared/errors.ts'
import { sha256 } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import { openTurns } from '../../shared/take-turns.ts'
import type { MadeVector, Missing, MissingText, Vectors } from '../vectors.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'
import { createVectorTurns } from './vector-turns.ts'

export function createVectors(connection: Connection): Vectors {
  const selectDims = connection.prepare('SELECT dims FROM vectors WHERE model = ? LIMIT 1')
  const insert = connection.prepare(
    'INSERT OR IGNORE INTO vectors (model, hash, dims, vec) VALUES (?, ?, ?, ?)',
  )
  // By the index of models, which the plus keeps it from, all of them would be sorted for every part.
  const selectAfter = connection.prepare(
    'SELECT id, vec FROM vectors WHERE id > ? AND +model = ? ORDER BY id LIMIT ?',
  )
  const selectRows = connection.prepare(
    `SELECT json_group_array(json_array(h.item, v.id) ORDER BY j.key) AS items FROM json_each(?) j
     JOIN vectors v ON v.id = j.value JOIN search_hashes h ON h.hash = v.hash`,
  )
  const dropOrphans = connection.prepare(
    'DELETE FROM vectors WHERE model = ? AND hash NOT IN (SELECT hash FROM search_hashes)',
  )
  const dimsOf = (model: string): number | null => {
    const row = selectDims.get(model)
    return row === undefined ? null : readRow(DimsRow, row).dims
  }
  const find = createFind(connection, dimsOf)
  const isUnchanged = openMark(connection)
  let whole: { readonly asked: string; readonly missing: Missing } | null = null
  return {
    ...createVectorTurns(connection),
    async missing(model, places, limit) {
      const scope = JSON.stringify(places)
      const asked = `${model} ${scope}`
      // Asked with every search, and of many items it takes long.
      const isSame = await connection.read(() => isUnchanged())
      if (isSame && whole?.asked === asked) return whole.missing
      await hashTexts(connection, scope)
      const missing = await connection.read(() => find(model, scope, limit))
      whole = missing.made === missing.texts ? { asked, missing } : null
      return missing
    },
    put: (model, made) =>
      connection.write(() => {
        for (const { hash, vec } of made) {
          assertDims(model, vec, dimsOf(model))
          insert.run(model, hash, vec.length, new Uint8Array(vec.buffer, vec.byteOffset, vec.byteLength))
        }
      }),
    after: (model, id, limit) =>
      connection.read(() =>
        selectAfter
          .all(id, model, limit)
          .map((row) => readRow(VectorRow, row))
          // The bytes of a row need not lie where numbers may.
          .map((row) => ({ id: row.id, vec: new Float32Array(new Uint8Array(row.vec).buffer) })),
      ),
    async rowsOf(ids) {
      const { items } = readRow(PairsRow, await connection.read(() => selectRows.get(JSON.stringify(ids))))
      return items.map(([row, id]) => ({ row, id }))
    },
    prune: (model) => connection.write(() => void dropOrphans.run(model)),
  }
}

/** Says whether anything was indexed or made since it was last asked. */
function openMark(connection: Connection): () => boolean {
  const select = connection.prepare(
    `SELECT (SELECT max(change) FROM search_vectors) || ' ' || (SELECT count(*) FROM search_items) || ' ' ||
       (SELECT count(*) FROM vectors) AS mark`,
  )
  let last: unknown = null
  return () => {
    const { mark } = readRow(MarkRow, select.get())
    const isSame = mark === last
    last = mark
    return isSame
  }
}

/** An item as the embedder is given it: by its name first, since what is long is cut. What it takes says little of what it does. */
const TEXT = `substr(iif(i.name = i.item_id, '', i.name || ' ') || i.item_id || '. ' || t.description || ' ' || t.body, 1, ${LIMITS.embeddedCharacters})`
const SCOPE = `scope (space, root) AS MATERIALIZED (
  SELECT DISTINCT value ->> 'space', value ->> 'root' FROM json_each(?)
)`
const IN_SCOPE = 'scope s CROSS JOIN search_items i ON i.space = s.space AND i.root = s.root'

/** Items whose texts are hashed before others get a turn. */
const AT_ONCE = 200

/** What was indexed since the last look gets its hash. */
async function hashTexts(connection: Connection, scope: string): Promise<void> {
  const unknown = connection.prepare(
    `WITH ${SCOPE} SELECT json_group_array(i.id) AS items FROM ${IN_SCOPE}
     WHERE NOT EXISTS (SELECT 1 FROM search_hashes h WHERE h.item = i.id)`,
  )
  const texts = connection.prepare(
    `SELECT t.rowid AS id, ${TEXT} AS text FROM json_each(?) j
     JOIN search_text t ON t.rowid = j.value JOIN search_items i ON i.id = j.value`,
  )
  const insert = connection.prepare(
    'INSERT OR REPLACE INTO search_hashes SELECT id, ? FROM search_items WHERE id = ?',
  )
  const { items } = readRow(ItemsRow, await connection.read(() => unknown.get(scope)))
  const turn = openTurns()
  for (let from = 0; from < items.length; from += AT_ONCE) {
    const some = JSON.stringify(items.slice(from, from + AT_ONCE))
    // Read and written at once: a text that another process writes anew in between loses its hash again.
    await connection.write(() => {
      for (const { id, text } of texts.all(some).map((row) => readRow(TextRow, row)))
        insert.run(hashOf(text), id)
    })
    await turn()
  }
}

function createFind(
  connection: Connection,
  dimsOf: (model: string) => number | null,
): (model: string, scope: string, limit: number) => Missing {
  const WANTED = `${SCOPE}, wanted AS MATERIALIZED (
    SELECT h.hash, min(i.id) AS item FROM ${IN_SCOPE} JOIN search_hashes h ON h.item = i.id GROUP BY h.hash
  )`
  const count = connection.prepare(
    `WITH ${WANTED} SELECT count(*) AS texts, count(v.id) AS made,
       (SELECT count(*) FROM vectors WHERE model = ?) AS stored
     FROM wanted w LEFT JOIN vectors v ON v.model = ? AND v.hash = w.hash`,
  )
  // From another place each time: a text that no embedder can take does not stand in the way of the others.
  const select = connection.prepare(
    `WITH ${WANTED} SELECT w.hash, i.item_id AS itemId, ${TEXT} AS text
     FROM wanted w JOIN search_items i ON i.id = w.item JOIN search_text t ON t.rowid = i.id
     WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model = ? AND v.hash = w.hash)
     ORDER BY w.hash < ?, w.hash LIMIT ?`,
  )
  return (model, scope, limit) => {
    const counts = readRow(CountRow, count.get(scope, model, model))
    const from = Math.floor(Math.random() * 256)
      .toString(16)
      .padStart(2, '0')
    const rows: readonly MissingText[] =
      counts.made === counts.texts
        ? []
        : select.all(scope, model, from, limit).map((row) => readRow(MissingRow, row))
    // Another process may have written a text anew a moment ago: its hash comes with the next look.
    const some = rows.filter(({ hash, text }) => hash === hashOf(text))
    return { ...counts, dims: dimsOf(model), some }
  }
}

function hashOf(text: string): string {
  return sha256(text).slice(0, 32)
}

function assertDims(model: string, { length }: MadeVector['vec'], known: number | null): void {
  if (known === null || known === length) return
  throw new KiwiError(
    'TOOL_FAILED',
    `Cannot keep a vector of "${model}": it has ${length} numbers, and the others have ${known}`,
    { hint: 'Name another model in search.model: what was made by another is not compared with it' },
  )
}

const MarkRow = z.object({ mark: z.string().nullable() })
const DimsRow = z.object({ dims: z.number() })
const TextRow = z.object({ id: z.number(), text: z.string() })
const CountRow = z.object({ texts: z.number(), made: z.number(), stored: z.number() })
const MissingRow = z.object({ hash: z.string(), itemId: z.string(), text: z.string() })
const ItemsRow = z.object({
  items: z.string().transform((text) => z.array(z.number()).parse(JSON.parse(text))),
})
const PairsRow = z.object({
  items: z.string().transform((text) => z.array(z.tuple([z.number(), z.number()])).parse(JSON.parse(text))),
})
const VectorRow = z.object({ id: z.number(), vec: z.instanceof(Uint8Array) })
