import { z } from 'zod'
import type { PastSearch, Uses } from '../uses.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'

/** Of one person; those of others are dropped when they are too old for any use. */
const MOST_SEARCHES = 5

const SearchRow = z.object({
  words: z.string().transform((text) => text.split(' ')),
  items: z.string().transform((text): unknown => JSON.parse(text)),
})
const Items = z.record(z.string(), z.number())

/** What the last searches of people showed, until it is too old. */
export function createSearches(connection: Connection): Pick<Uses, 'remember' | 'recall'> & {
  readonly drop: () => void
} {
  const put = connection.prepare(
    'INSERT INTO searches (principal, project, at, words, items) VALUES (?, ?, ?, ?, ?)',
  )
  const trim = connection.prepare(
    `DELETE FROM searches WHERE at < ?2 OR principal = ?1 AND id NOT IN (
       SELECT id FROM searches WHERE principal = ?1 ORDER BY at DESC, id DESC LIMIT ${MOST_SEARCHES})`,
  )
  const select = connection.prepare(
    `SELECT words, items FROM searches WHERE principal = ? AND project = ? AND at >= ? ORDER BY at DESC, id DESC`,
  )
  const dropAll = connection.prepare('DELETE FROM searches')
  return {
    remember: ({ principal, project, words, items }, at, since) =>
      connection.write(() => {
        const shown = JSON.stringify(Object.fromEntries(items))
        put.run(principal, project ?? '', Math.trunc(at), words.join(' '), shown)
        trim.run(principal, Math.trunc(since))
      }),
    recall: ({ principal, project }, since) =>
      connection.read(() =>
        select.all(principal, project ?? '', Math.trunc(since)).map((row): PastSearch => {
          const { words, items } = readRow(SearchRow, row)
          return { principal, project, words, items: new Map(Object.entries(Items.parse(items))) }
        }),
      ),
    drop: () => void dropAll.run(),
  }
}
