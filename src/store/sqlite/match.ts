import { z } from 'zod'
import { LIMITS } from '../../shared/limits.ts'
import type { AskedWords } from '../store.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'

/** Rows one search scores. Whatever is asked, and however much there is, the work stays the same. */
export const MOST_SCORED = 10_000

/** Makes of words what the index is asked. */
interface Matcher {
  /** Any of the words, for what a hit shows; null when there are none. */
  anyOf(asked: AskedWords): string | null
  /** The same narrowed to the rows that are worth a score. */
  narrowed(asked: AskedWords): string | null
}

interface Term {
  readonly quoted: string
  /** Rows that hold it, counted to one beyond the bound. */
  readonly rows: number
}

export function createMatcher(connection: Connection): Matcher {
  const countRows = connection.prepare(
    'SELECT count(*) AS n FROM (SELECT 1 FROM search_text WHERE search_text MATCH ? LIMIT ?)',
  )
  const alike = connection.prepare(
    `SELECT term, doc FROM search_words
     WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ? ORDER BY doc DESC LIMIT ?`,
  )
  const rowsOf = (match: string): number => readRow(CountRow, countRows.get(match, MOST_SCORED + 1)).n

  /** What is spelt nearly like a word nobody has: the terms of the index are stems. */
  const nearlyAlike = (word: string): readonly string[] => {
    if (!MISSPELT.test(word)) return []
    const first = word.slice(0, 1)
    const next = String.fromCharCode(first.charCodeAt(0) + 1)
    const shortest = Math.max(SHORTEST, word.length - 4)
    const terms = alike.all(first, next, shortest, word.length + 1, MOST_COMPARED)
    return terms
      .map((row) => readRow(TermRow, row).term)
      .map((term) => ({ term, distance: distanceBetween(word, term) }))
      .filter(({ term, distance }) => distance <= (Math.min(word.length, term.length) < 7 ? 1 : 2))
      .toSorted((a, b) => a.distance - b.distance)
      .slice(0, MOST_ALIKE)
      .map(({ term }) => term)
  }
  /** For each word what it is found by: nothing, itself, or those it may have been meant for. */
  const waysOf = ({ words, spelt }: AskedWords): readonly (readonly Term[])[] => {
    const asked = words.slice(0, LIMITS.queryWords)
    let corrected = 0
    return asked.map((word, at) => {
      // The last word may still be being typed.
      const quoted = at === asked.length - 1 ? `${quote(word)}*` : quote(word)
      const rows = rowsOf(quoted)
      if (rows > 0) return [{ quoted, rows }]
      if (spelt?.has(word) === true || ++corrected > MOST_CORRECTED) return []
      return nearlyAlike(word).map((term) => ({ quoted: quote(term), rows: rowsOf(quote(term)) }))
    })
  }
  return {
    anyOf(asked) {
      if (asked.words.length === 0) return null
      return either(waysOf(asked).flat()) ?? NOTHING
    },
    narrowed(asked) {
      if (asked.words.length === 0) return null
      const ways = waysOf(asked)
      if (asked.everyWord === true) return every(ways)
      const terms = ways.flat()
      const any = either(terms)
      if (any === null) return NOTHING
      const rarest = terms.toSorted((a, b) => a.rows - b.rows)
      const rare: Term[] = []
      let rows = 0
      for (const term of rarest) {
        rows += term.rows
        if (rows > MOST_SCORED) break
        rare.push(term)
      }
      if (rare.length === terms.length) return any
      const narrow = either(rare) ?? narrowest(terms, any, rowsOf)
      return `(${narrow}) AND (${any})`
    },
  }
}

/** Where every word is common: in the name, or all at once. */
function narrowest(terms: readonly Term[], any: string, rowsOf: (match: string) => number): string {
  const all = terms.map(({ quoted }) => quoted).join(' AND ')
  const ways = [`{name} : (${all})`, `{name} : (${any})`, all]
  return ways.find((match) => rowsOf(match) >= ENOUGH) ?? any
}

function every(ways: readonly (readonly Term[])[]): string {
  const each = ways.map(either)
  return each.includes(null) ? NOTHING : each.map((way) => `(${way})`).join(' AND ')
}

function either(terms: readonly Term[]): string | null {
  return terms.length === 0 ? null : terms.map(({ quoted }) => quoted).join(' OR ')
}

/** Words only ever reach the index quoted, so nothing in them is an operator. */
function quote(word: string): string {
  return `"${word.slice(0, LONGEST_WORD).replaceAll('"', '""').replaceAll('\0', ' ')}"`
}

/** How many letters are missing, too many, others or swapped; a stem may lack the end of its word. */
export function distanceBetween(word: string, stem: string): number {
  let before: number[] = []
  let above = Array.from({ length: stem.length + 1 }, (_, x) => x)
  let best = Infinity
  for (let y = 1; y <= word.length; y++) {
    const row = [y]
    for (let x = 1; x <= stem.length; x++) {
      const isSame = word[y - 1] === stem[x - 1]
      const isSwapped = y > 1 && x > 1 && word[y - 1] === stem[x - 2] && word[y - 2] === stem[x - 1]
      row.push(
        Math.min(
          at(above, x) + 1,
          at(row, x - 1) + 1,
          at(above, x - 1) + (isSame ? 0 : 1),
          isSwapped ? at(before, x - 2) + 1 : Infinity,
        ),
      )
    }
    before = above
    above = row
    if (word.length - y <= STEMMED) best = Math.min(best, at(row, stem.length))
  }
  return best
}

const at = (row: readonly number[], index: number): number => row[index] ?? Infinity

/** Letters of a stem that a misspelt word can be known by. */
const SHORTEST = 4
/** Letters a stem may lack. */
const STEMMED = 3
/** Words of our letters, long enough to be recognized with a mistake in them. */
const MISSPELT = /^[a-z][a-z0-9]{3,31}$/
/** Terms of the index a misspelt word is held against, the most used first, and how many are taken. */
const MOST_COMPARED = 5000
const MOST_ALIKE = 3
/** Words of one query that are taken for misspelt. */
const MOST_CORRECTED = 4
/** Rows after which there is no need to look further. */
const ENOUGH = 50
const LONGEST_WORD = 128
/** What no row holds: the index has no empty question. */
const NOTHING = '"\u0001"'

const CountRow = z.object({ n: z.number() })
const TermRow = z.object({ term: z.string() })
