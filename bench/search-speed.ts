import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReader } from '../src/search/reading/reader.ts'
import { parseQuery } from '../src/search/parse-query.ts'
import { rankItems } from '../src/search/rank-items.ts'
import { openVectorSearch } from '../src/search/vector-search.ts'
import { openWordTable } from '../src/search/word-table.ts'
import { systemClock } from '../src/shared/clock.ts'
import { createLog } from '../src/shared/log.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import type { Store } from '../src/store/store.ts'
import { viewOf } from '../src/store/store.ts'
import { sampleEntry, sampleQuery } from '../test/fixtures/store-samples.ts'
import { ROOT, round, summarize, timed } from './measure.ts'

const SIZES = [100, 10_000, 100_000]
const PLACE = { space: 'project', root: '/bench' } as const
const VERBS = [
  'create',
  'list',
  'delete',
  'send',
  'read',
  'merge',
  'convert',
  'watch',
  'archive',
  'translate',
]
const NOUNS = [
  'invoice',
  'photo',
  'branch',
  'message',
  'calendar',
  'server',
  'recipe',
  'ticket',
  'table',
  'song',
]

const QUERIES: Readonly<Record<string, string>> = {
  'a request in words': 'please send a message to the people who watch topic 42',
  'one rare word': 'topic77',
  'a word every item has': 'benchmark',
  'a word with a mistake': 'calender',
}

/** Rows of a table: how long a search takes over few and over many items, in a process that has just begun and later. */
export async function measureSpeed(): Promise<readonly string[]> {
  const rows = new Map<string, string[]>()
  const note = (what: string, value: string): void => void rows.set(what, [...(rows.get(what) ?? []), value])
  const p50s = new Map<string, number[]>()
  for (const size of SIZES) {
    const folder = mkdtempSync(join(tmpdir(), 'kiwi-search-'))
    const path = join(folder, 'store.db')
    await fill(path, size)
    const cold = await openSqliteStore({ path, clock: systemClock })
    const search = searcher(cold)
    note('the first search of a process', `${round(await timed(() => search('send message')))} ms`)
    for (const [what, query] of Object.entries(QUERIES)) {
      const times: number[] = []
      for (let turn = 0; turn < 20; turn++) times.push(await timed(() => search(query)))
      const { p50 } = summarize(times)
      note(what, `${round(p50)} ms`)
      p50s.set(what, [...(p50s.get(what) ?? []), p50])
    }
    await cold.close()
    rmSync(folder, { recursive: true, force: true })
  }
  const head = ['p50', ...SIZES.map((size) => `${size.toLocaleString('en')} items`), 'factor']
  const factor = (what: string): string => {
    const [least = NaN, ...more] = p50s.get(what) ?? []
    return Number.isNaN(least) ? '' : `${round((more.at(-1) ?? NaN) / least)} x`
  }
  return [
    head,
    head.map(() => '---'),
    ...Array.from(rows, ([what, cells]) => [what, ...cells, factor(what)]),
  ].map((cells) => `| ${cells.join(' | ')} |`)
}

const reader = openReader({
  file: join(ROOT, 'builtin/search/reader-3.bin'),
  script: join(ROOT, 'dist/reader-thread.js'),
})

function searcher(store: Store): (text: string) => Promise<unknown> {
  const wordTable = openWordTable(join(ROOT, 'builtin/search/words.bin'))
  const log = createLog({ level: 'silent', clock: systemClock, write: () => true })
  const means = { embedder: reader, isOwn: true, clock: systemClock, log, waitMs: 10_000 }
  const vectors = openVectorSearch({ ...means, store: store.vectors })
  const view = viewOf(store)
  return async (text) => {
    vectors.begin([PLACE])
    const meant = await vectors.rank(text, [PLACE], true)
    const { words } = parseQuery(text)
    const query = { ...sampleQuery('', { roots: [PLACE] }), words }
    return rankItems(query, meant, { store: view, wordTable })
  }
}

/** Items that differ in what they are about, all with one word in common. What a reader would make of them is made up: that takes long, and the time to compare is the same. */
async function fill(path: string, size: number): Promise<void> {
  const store = await openSqliteStore({ path, clock: systemClock })
  for (let from = 0; from < size; from += 5000) {
    const entries = Array.from({ length: Math.min(5000, size - from) }, (_, at) => toEntry(from + at))
    await store.index.update(PLACE, entries, [])
  }
  const [{ length } = []] = await reader.embed({ kind: 'query', texts: ['x'], about: [] })
  const model = await reader.identity()
  for (;;) {
    const { some } = await store.vectors.missing(model, [PLACE], 5000)
    if (some.length === 0) break
    await store.vectors.put(
      model,
      some.map(({ hash }) => ({ hash, vec: Float32Array.from({ length }, () => Math.random() - 0.5) })),
    )
  }
  const search = searcher(store)
  for (let done = 0; done < size; done += 2000) await search('send message')
  await store.close()
}

function toEntry(number: number): ReturnType<typeof sampleEntry> {
  const [verb = '', noun = ''] = [VERBS[number % 10], NOUNS[Math.floor(number / 10) % 10]]
  return sampleEntry({
    item_id: `${verb}_${noun}_${number}`,
    description: `Can ${verb} every ${noun} of topic${number % 997} for the benchmark, number ${number}`,
    search_text: { parameters: `${noun}_id The ${noun} to ${verb}`, body: '' },
  })
}
