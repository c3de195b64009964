import { z } from 'zod'
import { itemTypeOf, TOOL_TYPES } from '../../shared/tool-type.ts'
import type { FoundRow, SearchQuery, SpaceName } from '../store.ts'
import { SPACES } from '../store.ts'
import type { Connection } from './connection.ts'
import type { SqlValue } from './driver.ts'
import { MOST_SCORED } from './match.ts'
import { readRow } from './rows.ts'

interface Found {
  readonly found: readonly FoundRow[]
  readonly total: number
}

/** The ids of the best items and how many fit in all. `match` null: no words, everything fits. */
export function findItems(connection: Connection, query: SearchQuery, match: string | null): Found {
  const { sql, values } = reachOf(query, match)
  const page = connection.prepare(
    `${sql}, ${SHOWN} SELECT id, score, (SELECT count(*) FROM shown) AS total
     FROM shown ORDER BY ${ORDER[query.sortBy]} LIMIT ?`,
  )
  const count = connection.prepare(
    `${sql}, ${SHOWN} SELECT 0 AS id, 0 AS score, count(*) AS total FROM shown`,
  )
  // A negative limit would mean "all" to SQLite.
  const limit = Math.max(0, Math.trunc(query.limit))
  const rows = (limit === 0 ? [] : page.all(...values, limit)).map((row) => readRow(Row, row))
  const total = rows[0]?.total ?? readRow(Row, count.get(...values)).total
  return { found: rows.map(({ id, score }) => ({ row: id, score: toScore(score) })), total }
}

/** What servers list is long and alike: of it only what fits nearly as well as the best is shown. */
const SHOWN = `shown AS MATERIALIZED (
  SELECT * FROM reached WHERE near <> ${SPACES.indexOf('mcp')} OR score >= 0.3 * (SELECT max(score) FROM reached)
)`

const Row = z.object({ id: z.number(), score: z.number(), total: z.number() })

/** Of the columns of search_text, in its order. */
const WEIGHTS = '2.0, 1.0, 1.0, 1.5, 0.5, 0.25'

/**
 * Scores are compared as they are shown, so that a tie is a tie to the reader. A word that most items hold
 * scores next to nothing in BM25: there the true score still tells a name from a body.
 */
const BY_SCORE = 'CASE WHEN score < 0.001 THEN score ELSE round(score, 3) END DESC'

const ORDER: Readonly<Record<SearchQuery['sortBy'], string>> = {
  score: `${BY_SCORE}, name, near, id`,
  name: 'name, near, id',
  updated: 'updated_at DESC, name, near, id',
  downloads: 'downloads DESC, name, near, id',
}

function toScore(score: number): number {
  return score === 0 ? 0 : Math.max(0.001, Math.round(score * 1000) / 1000)
}

interface Scope {
  readonly space: SpaceName
  readonly root: string
  /** Smaller is nearer. */
  readonly near: number
}

interface Reach {
  /** Ends in the definition of `reached`: a select over it follows. */
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** The items a query reaches, before order and limit. */
export function reachOf(query: SearchQuery, match: string | null): Reach {
  const scopes = query.spaces.flatMap((space): readonly Scope[] => {
    const near = SPACES.indexOf(space)
    if (space === 'builtin' || space === 'registry') return [{ space, root: '', near }]
    return query.roots.filter((root) => root.space === space).map(({ root }) => ({ space, root, near }))
  })
  const { conditions, values } = filtersOf(query, match)
  if (new Set(query.spaces).size > 1) {
    conditions.push(`(s.near = ? OR ${NOT_SHADOWED})`)
    values.push(Math.min(SPACES.length, ...scopes.map(({ near }) => near)))
  }
  // Those of one name are not held against each other.
  const score = match === null || query.called !== undefined ? '0.0' : `-bm25(search_text, ${WEIGHTS})`
  const source =
    match === null
      ? 'scope s CROSS JOIN search_items i ON i.space = s.space AND i.root = s.root'
      : `search_text CROSS JOIN search_items i ON i.id = search_text.rowid
         CROSS JOIN scope s ON s.space = i.space AND s.root = i.root`
  return {
    sql: `
WITH scope (space, root, near) AS MATERIALIZED (
  SELECT DISTINCT value ->> 'space', value ->> 'root', value ->> 'near' FROM json_each(?)
), reached AS MATERIALIZED (
  SELECT i.id, i.name, i.tool_type, i.updated_at, i.downloads, s.near, ${score} AS score
  FROM ${source}
  ${conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`}
  ${match === null ? '' : `LIMIT ${MOST_SCORED}`}
)`,
    values: [JSON.stringify(scopes), ...values],
  }
}

/** Whether or not the nearer one has the words: it is what the id would lead to. */
const NOT_SHADOWED = `NOT EXISTS (
    SELECT 1 FROM search_items o JOIN scope n ON n.space = o.space AND n.root = o.root
    WHERE o.item_id = i.item_id AND o.item_type = i.item_type AND n.near < s.near)`

/** Few different texts whatever is asked, since each is compiled once and kept. */
function filtersOf(query: SearchQuery, match: string | null): { conditions: string[]; values: SqlValue[] } {
  const { rows, called, itemTypes, toolTypes, category, tags, server } = query
  const conditions: string[] = []
  const values: SqlValue[] = []
  if (match !== null) {
    conditions.push('search_text MATCH ?')
    values.push(match)
  }
  if (rows !== undefined) {
    conditions.push('i.id IN (SELECT value FROM json_each(?))')
    values.push(JSON.stringify(rows))
  }
  if (called !== undefined) {
    // Most are told apart by their last letter, which costs a tenth.
    conditions.push(
      `CASE WHEN ? IN (lower(substr(i.item_id, -1)), lower(substr(i.name, -1)))
       THEN ? IN (${[ID, NAME, ID_ON_SERVER].map(withoutJoints).join(', ')}) ELSE 0 END`,
    )
    values.push(called.slice(-1), called)
  }
  const types = TOOL_TYPES.filter(
    (type) =>
      (itemTypes.length === 0 || itemTypes.includes(itemTypeOf(type))) &&
      (toolTypes.length === 0 || toolTypes.includes(type)),
  )
  if (types.length < TOOL_TYPES.length) {
    conditions.push('i.tool_type IN (SELECT value FROM json_each(?))')
    values.push(JSON.stringify(types))
  }
  if (category !== null) {
    conditions.push("substr(i.category || '/', 1, length(?)) = ?")
    values.push(`${category}/`, `${category}/`)
  }
  if (server !== null) {
    conditions.push('i.server = ?')
    values.push(server)
  }
  if (tags.length > 0) {
    conditions.push(`NOT EXISTS (
      SELECT 1 FROM json_each(?) w WHERE w.value NOT IN (SELECT value FROM json_each(i.tags)))`)
    values.push(JSON.stringify(tags))
  }
  return { conditions, values }
}

const ID = 'i.item_id'
const NAME = 'i.name'
const ID_ON_SERVER = "substr(i.item_id, instr(i.item_id, '.') + 1)"

function withoutJoints(sql: string): string {
  return ['_', '-', '.', '/', ' '].reduce(
    (inner, joint) => `replace(${inner}, '${joint}', '')`,
    `lower(${sql})`,
  )
}
