import { z } from 'zod'
import type {
  AskedWords,
  FoundRow,
  IndexEntry,
  IndexedSpace,
  SearchHit,
  SearchIndex,
  SearchQuery,
} from '../store.ts'
import { SPACES } from '../store.ts'
import type { Connection } from './connection.ts'
import { findItems, reachOf } from './find.ts'
import { createMatcher } from './match.ts'
import { createMeaning } from './meaning.ts'
import { jsonObject, readRow, toolType } from './rows.ts'
import type { SearchRows } from './search-rows.ts'

export function createSearchIndex(connection: Connection, searchRows: SearchRows): SearchIndex {
  // One JSON text: the driver takes three times as long to make ten thousand small rows.
  const selectKnown = connection.prepare(
    'SELECT json_group_object(path, stamp) AS known FROM search_items WHERE space = ? AND root = ?',
  )
  const selectStamp = connection.prepare(
    'SELECT stamp FROM search_items WHERE space = ? AND root = ? LIMIT 1',
  )
  const dropAll = connection.prepare('DELETE FROM search_items WHERE space = ? AND root = ?')
  const selectItem = connection.prepare(
    `SELECT i.item_id, i.name, i.tool_type, t.description, i.space, i.path, i.version, i.updated_at
     FROM search_items i JOIN search_text t ON t.rowid = i.id
     WHERE i.id = ?`,
  )
  // highlight() adds a mark where a column matched, so a column that matched differs from its text.
  const selectMatched = connection.prepare(
    `SELECT ${COLUMNS.map((column, n) => `highlight(search_text, ${n}, '*', '') <> ${column} AS ${column}`).join(', ')}
     FROM search_text WHERE search_text MATCH ? AND rowid = ?`,
  )
  const matcher = createMatcher(connection)
  const showOne = (found: FoundRow, match: string | null): SearchHit[] => {
    const row = selectItem.get(found.row)
    // Another process may have removed it a moment ago.
    if (row === undefined) return []
    const matched = match === null ? undefined : selectMatched.get(match, found.row)
    return [toHit(found, readRow(HitRow, row), matched)]
  }
  const find = (query: SearchQuery): ReturnType<typeof findItems> =>
    findItems(connection, query, matcher.narrowed(query))
  const show = (found: readonly FoundRow[], asked: AskedWords): readonly SearchHit[] => {
    const match = matcher.anyOf(asked)
    return found.flatMap((item) => showOne(item, match))
  }
  const kept = createKept(connection)
  return {
    ...createMeaning(connection),
    known: (place) =>
      connection.read(() =>
        kept.stamps(place, () => {
          const { known } = readRow(KnownRow, selectKnown.get(place.space, place.root))
          const texts = Object.entries(known).filter((entry): entry is Stamp => typeof entry[1] === 'string')
          return new Map(texts)
        }),
      ),
    async update(place, put, drop) {
      await connection.write(() => {
        for (const path of drop) searchRows.drop(place, path)
        for (const entry of put) searchRows.put(place, entry)
      })
      kept.change(place, put, drop)
    },
    async stampOf({ space, root }) {
      const row = await connection.read(() => selectStamp.get(space, root))
      return row === undefined ? null : readRow(StampRow, row).stamp
    },
    replace: (place, entries) =>
      connection.write(() => {
        dropAll.run(place.space, place.root)
        for (const entry of entries) searchRows.put(place, entry)
      }),
    find: (query) => connection.read(() => find(query)),
    show: (found, asked) => connection.read(() => show(found, asked)),
    search: (query) =>
      connection.read(() => {
        const { found, total } = find(query)
        return { hits: show(found, query), total }
      }),
    async count(roots) {
      const { sql, values } = reachOf({ ...EVERYTHING, roots }, null)
      const counting = `${sql} SELECT tool_type, count(*) AS items FROM reached GROUP BY tool_type`
      const rows = await connection.read(() => connection.prepare(counting).all(...values))
      return Object.fromEntries(
        rows.map((row) => readRow(CountRow, row)).map(({ tool_type, items }) => [tool_type, items]),
      )
    },
  }
}

type Stamp = [path: string, stamp: string]

/** Spaces whose stamps are kept: reading ten thousand of them takes longer than the search that follows. */
const MOST_KEPT = 8

interface Kept {
  stamps(place: IndexedSpace, read: () => ReadonlyMap<string, string>): ReadonlyMap<string, string>
  /** What this process has just written. */
  change(place: IndexedSpace, put: readonly IndexEntry[], drop: readonly string[]): void
}

function keyOf({ space, root }: IndexedSpace): string {
  return `${space} ${root}`
}

/** Good until another process writes to the store, whatever it writes. */
function createKept(connection: Connection): Kept {
  const dataVersion = connection.prepare('PRAGMA data_version')
  const byPlace = new Map<string, ReadonlyMap<string, string>>()
  let seen = ''
  return {
    stamps(place, read) {
      const now = JSON.stringify(dataVersion.get())
      if (now !== seen) byPlace.clear()
      seen = now
      const known = byPlace.get(keyOf(place)) ?? read()
      if (byPlace.size >= MOST_KEPT) byPlace.clear()
      byPlace.set(keyOf(place), known)
      return known
    },
    change(place, put, drop) {
      const known = byPlace.get(keyOf(place))
      if (known === undefined) return
      const changed = new Map(known)
      for (const path of drop) changed.delete(path)
      for (const { path, stamp } of put) changed.set(path, stamp)
      byPlace.set(keyOf(place), changed)
    },
  }
}

const EVERYTHING: Omit<SearchQuery, 'roots'> = {
  words: [],
  spaces: SPACES,
  itemTypes: [],
  toolTypes: [],
  category: null,
  tags: [],
  server: null,
  sortBy: 'name',
  limit: 0,
}

/** The columns of search_text, in its order. */
const COLUMNS = ['name', 'description', 'category', 'tags', 'parameters', 'body'] as const

const StampRow = z.object({ stamp: z.string() })
const KnownRow = z.object({ known: jsonObject })
const CountRow = z.object({ tool_type: toolType, items: z.number() })
const HitRow = z.object({
  item_id: z.string(),
  name: z.string(),
  tool_type: toolType,
  description: z.string(),
  space: z.enum(SPACES),
  path: z.string(),
  version: z.string(),
  updated_at: z.string(),
})
const MatchedRow = z.record(z.enum(COLUMNS), z.number())

function toHit({ row: at, score }: FoundRow, row: z.infer<typeof HitRow>, matched: unknown): SearchHit {
  const isFile = row.space === 'project' || row.space === 'user'
  const columns = matched === undefined ? null : readRow(MatchedRow, matched)
  return {
    row: at,
    ...row,
    path: isFile ? row.path : null,
    score,
    why: columns === null ? [] : COLUMNS.filter((column) => columns[column] === 1),
  }
}
