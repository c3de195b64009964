import { z } from 'zod'
import { LIMITS } from '../../shared/limits.ts'
import { ITEM_TYPES } from '../../shared/tool-type.ts'
import { SPACES } from '../store.ts'
import type { NewUse, Uses } from '../uses.ts'
import { fadedTimes } from '../uses.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'
import { createSearches } from './searches.ts'

/** More would only take longer to fade. */
const MOST_TIMES = 20
/** Uses that one query is held against. */
const MOST_LIKE = 200

const words = z.string().transform((text) => text.split(' '))
const ItemRow = z.object({
  space: z.enum(SPACES),
  root: z.string(),
  item_type: z.enum(ITEM_TYPES),
  item_id: z.string(),
})
const UseRow = ItemRow.extend({ words, times: z.number(), last: z.number() })
const LikeRow = z.object({ row: z.number(), words, times: z.number(), last: z.number() })
const StandingRow = z.object({ times: z.number(), last: z.number() })
const IdRow = z.object({ id: z.number() })
const WordRow = z.object({ word: z.string(), uses: z.number() })

export function createUses(connection: Connection): Uses {
  const credit = createCredit(connection)
  const { remember, recall, drop } = createSearches(connection)
  const selectAll = connection.prepare('SELECT * FROM uses ORDER BY last DESC, item_id, words')
  const selectLike = connection.prepare(
    `SELECT i.id AS row, u.words, u.times, u.last
     FROM (SELECT DISTINCT use_id FROM use_words WHERE word IN (SELECT value FROM json_each(?))) w
     CROSS JOIN uses u ON u.id = w.use_id
     JOIN json_each(?) p ON u.space = p.value ->> 'space' AND u.root = p.value ->> 'root'
     JOIN search_items i ON i.item_id = u.item_id AND i.item_type = u.item_type AND i.space = u.space
       AND i.root = u.root
     ORDER BY u.last DESC LIMIT ${MOST_LIKE}`,
  )
  const selectFrequency = connection.prepare(
    `SELECT word, count(*) AS uses FROM use_words WHERE word IN (SELECT value FROM json_each(?)) GROUP BY word`,
  )
  const forget = connection.prepare('DELETE FROM uses WHERE ?1 IS NULL OR item_id = ?1 RETURNING id')
  return {
    credit: (uses, at) =>
      connection.write(() => {
        for (const use of uses) credit(use, at)
      }),
    like: (wanted, places) =>
      connection.read(() => {
        const rows = selectLike.all(JSON.stringify(wanted), JSON.stringify(places))
        const uses = rows.map((row) => readRow(LikeRow, row))
        const all = [...new Set(uses.flatMap((use) => use.words))]
        const counted = all.length === 0 ? [] : selectFrequency.all(JSON.stringify(all))
        const frequency = counted.map((row) => readRow(WordRow, row))
        return { uses, frequency: new Map(frequency.map((row) => [row.word, row.uses])) }
      }),
    read: async () => (await connection.read(() => selectAll.all())).map((row) => readRow(UseRow, row)),
    remember,
    recall,
    forget: (itemId) =>
      connection.write(() => {
        drop()
        return forget.all(itemId).length
      }, 'full'),
  }
}

function createCredit(connection: Connection): (use: NewUse, at: number) => void {
  const selectItem = connection.prepare(
    'SELECT space, root, item_type, item_id FROM search_items WHERE id = ? AND item_id = ?',
  )
  const select = connection.prepare(
    'SELECT times, last FROM uses WHERE space = ? AND root = ? AND item_type = ? AND item_id = ? AND words = ?',
  )
  const put = connection.prepare(
    `INSERT INTO uses (space, root, item_type, item_id, words, times, last) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (space, root, item_type, item_id, words)
     DO UPDATE SET times = excluded.times, last = max(last, excluded.last) RETURNING id`,
  )
  const putWord = connection.prepare('INSERT OR IGNORE INTO use_words VALUES (?, ?)')
  const trimSpace = connection.prepare(
    `DELETE FROM uses WHERE id IN (
       SELECT id FROM uses WHERE space = ? AND root = ? ORDER BY last DESC, id DESC LIMIT -1 OFFSET ${LIMITS.usesOfSpace})`,
  )
  const trimAll = connection.prepare(
    `DELETE FROM uses WHERE id IN (SELECT id FROM uses ORDER BY last DESC, id DESC LIMIT -1 OFFSET ${LIMITS.uses})`,
  )
  return (use, at) => {
    const item = selectItem.get(use.row, use.item_id)
    if (item === undefined) return
    const { space, root, item_type, item_id } = readRow(ItemRow, item)
    const key = [space, root, item_type, item_id, use.words.join(' ')] as const
    const standing = select.get(...key)
    const before = standing === undefined ? 0 : fadedTimes(readRow(StandingRow, standing), at)
    const { id } = readRow(IdRow, put.get(...key, Math.min(MOST_TIMES, before + 1), Math.trunc(at)))
    for (const word of use.words) putWord.run(word, id)
    if (standing !== undefined) return
    trimSpace.run(space, root)
    trimAll.run()
  }
}
