import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StoreFolder } from '../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../test/fixtures/store-folder.ts'
import { sampleEntry, sampleQuery } from '../../test/fixtures/store-samples.ts'
import type { NearRow, SearchHit, SearchQuery, Store } from '../store/store.ts'
import { viewOf } from '../store/store.ts'
import type { Ranking } from './fuse.ts'
import { nameIn } from './named-first.ts'
import { parseQuery } from './parse-query.ts'
import { rankItems } from './rank-items.ts'
import { openWordTable } from './word-table.ts'

const wordTable = openWordTable(join(import.meta.dirname, '../../builtin/search/words.bin'))
const WORDS_ALONE = { rankings: [], read: null }
const USER = { space: 'user', root: '/u' } as const
const ABOUT: Readonly<Record<string, string>> = {
  send_email: 'Sends an email to a person',
  resize_image: 'Changes the width and height of an image',
  list_invoices: 'Lists the invoices of a customer',
  forecast: 'Weather for the next days in a city',
  play_song: 'Plays music from the library',
  translate: 'Translates text into another language',
  book_flight: 'Books a flight between two airports',
  find_recipe: 'Finds recipes for dinner by ingredients',
  run_query: 'Runs SQL on the database',
  tokyo: '東京の天気を調べる',
}

let place: StoreFolder
let store: Store
beforeAll(async () => {
  place = await makeStoreFolder()
  store = await place.open()
  const entries = Object.entries(ABOUT).map(([item_id, description]) => sampleEntry({ item_id, description }))
  await store.index.update(USER, entries, [])
})
afterAll(() => place.dispose())

async function ranked(
  text: string,
  further: readonly Ranking[] = [],
  given: Partial<SearchQuery> = {},
): Promise<readonly SearchHit[]> {
  const query = { ...sampleQuery('', { roots: [USER], ...given }), words: parseQuery(text).words }
  return (await rankItems(query, { rankings: further, read: null }, { store: viewOf(store), wordTable })).hits
}

const first = async (text: string): Promise<string | undefined> => (await ranked(text))[0]?.item_id

test('S3: an item is found by what it is about, without any of its words, and says so', async () => {
  const [hit] = await ranked('photo picture pixels')
  expect(hit).toMatchObject({ item_id: 'resize_image', why: ['meaning'] })
  expect(await first('will it rain tomorrow')).toBe('forecast')
  expect(await first('what could I cook tonight')).toBe('find_recipe')
})

test('S3: what developers say is near to what tools are called', async () => {
  const own = { space: 'project', root: '/git' } as const
  const tools = {
    merge_pull_request: 'Merge a pull request',
    create_issue: 'Create a new issue in a repository',
    list_commits: 'Get the commits of a branch',
    fork_repository: 'Fork a repository to your account',
    send_invoice: 'Send an invoice to a customer',
  }
  const entries = Object.entries(tools).map(([item_id, description]) => sampleEntry({ item_id, description }))
  await store.index.update(own, entries, [])
  const found = async (text: string): Promise<string | undefined> =>
    (await ranked(text, [], { roots: [own] }))[0]?.item_id
  expect(await found('report a bug')).toBe('create_issue')
  expect(await found('bill somebody')).toBe('send_invoice')
  expect(await found('git log')).toBe('list_commits')
  await store.index.update(
    own,
    [],
    Object.keys(tools).map((id) => `tools/${id}.yaml`),
  )
})

test('S3: an item that has the words stays before one that is only about the same', async () => {
  const hits = await ranked('translate')
  expect(hits[0]).toMatchObject({ item_id: 'translate', why: ['name', 'description'] })
})

test.each([
  '',
  ' ',
  '\0',
  '😀',
  'مرحبا بالعالم',
  'xqzzk',
  '"OR" NEAR( *',
  'x'.repeat(10_000),
  'word '.repeat(2000),
])('PAR-14: %j is answered', async (text) => {
  expect(Array.isArray(await ranked(text.slice(0, 10_000)))).toBe(true)
})

test('S3: text without spaces is found by a word inside it', async () => {
  expect(await first('天気')).toBe('tokyo')
  expect(await first('東京の天気')).toBe('tokyo')
})

test('S3: a further ranking raises an item and gives its reason, and passes no filter', async () => {
  const all = await ranked('')
  const song = all.find(({ item_id }) => item_id === 'play_song')?.row ?? 0
  const use = { reason: 'use', weight: 2, rows: [song, 99_999] }
  const hits = await ranked('translate text', [use])
  expect(hits[0]).toMatchObject({ item_id: 'play_song', why: ['use'] })
  expect(hits.map(({ row }) => row)).not.toContain(99_999)
  const scores = hits.map(({ score }) => score)
  expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  // On the scale of the words, as without it.
  expect(scores[0]).toBe((await ranked('translate text'))[0]?.score)
  expect(await ranked('translate text', [use], { spaces: ['registry'] })).toEqual([])
})

test('E1: what an embedder has looked at all of is added by how far it stands out, and passes no filter', async () => {
  const all = await ranked('')
  const rowOf = (id: string): number => all.find(({ item_id }) => item_id === id)?.row ?? 0
  const rows = [rowOf('play_song'), rowOf('book_flight'), 99_999]
  const near = (...deviations: number[]): Ranking => ({ reason: 'embedder', weight: 1, rows, deviations })
  const ids = async (ranking: Ranking): Promise<readonly string[]> =>
    (await ranked('translate text', [ranking])).map(({ item_id }) => item_id)
  // First in its order, but hardly nearer than the rest: the words decide.
  expect((await ids(near(1, 0.5, 0.4)))[0]).toBe('translate')
  const hits = await ranked('translate quickly', [near(9, 8, 7)])
  expect(hits.slice(0, 3).map(({ item_id, why }) => [item_id, why.at(-1)])).toEqual([
    ['play_song', 'embedder'],
    ['book_flight', 'embedder'],
    ['translate', 'description'],
  ])
  expect(hits.map(({ row }) => row)).not.toContain(99_999)
  const scores = hits.map(({ score }) => score)
  expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  expect(await ranked('translate text', [near(9, 8, 7)], { spaces: ['registry'] })).toEqual([])
})

test('S3: an item that is called by its id or name stands first, however many others are filled with the words', async () => {
  const other = await makeStoreFolder()
  const { index, ...rest } = await other.open()
  const stuffed = Array.from({ length: 300 }, (_, n) =>
    sampleEntry({
      item_id: `send_email_send_email_${n}`,
      name: n === 7 ? 'send email' : `send email send email ${n}`,
      description: 'send email send email send email',
      tags: ['send', 'email'],
    }),
  )
  await index.update({ space: 'project', root: '/p' }, stuffed, [])
  const entries = ['send_email', 'mail.send_it_now', 'readFile'].map((item_id) =>
    sampleEntry({ item_id, name: item_id, description: 'x' }),
  )
  await index.update(USER, entries, [])
  const roots = [USER, { space: 'project', root: '/p' }] as const
  const view = viewOf({ ...rest, index })
  const found = async (text: string): Promise<readonly string[]> => {
    const words = [...parseQuery(text).words]
    const query = { ...sampleQuery('', { roots, limit: 3 }), words, name: nameIn(text) }
    return (await rankItems(query, WORDS_ALONE, { store: view, wordTable })).hits.map(
      ({ item_id }) => item_id,
    )
  }
  expect((await found('send_email')).slice(0, 2)).toEqual(['send_email', 'send_email_send_email_7'])
  expect((await found('Send Email'))[0]).toBe('send_email')
  expect((await found('send it now'))[0]).toBe('mail.send_it_now')
  expect((await found('read file'))[0]).toBe('readFile')
  await other.dispose()
})

test('E2: what an item is about follows its text', async () => {
  const other = await makeStoreFolder()
  const { index, ...rest } = await other.open()
  const view = viewOf({ ...rest, index })
  const asked = { ...sampleQuery('', { roots: [USER] }), words: ['guitar', 'piano'] }
  const fillers = Object.entries(ABOUT).filter(([id]) => id !== 'play_song')
  const entry = (description: string): Parameters<typeof index.update>[1] => [
    sampleEntry({ item_id: 'changing', description }),
  ]
  await index.update(
    USER,
    fillers.map(([item_id, description]) => sampleEntry({ item_id, description })),
    [],
  )
  await index.update(USER, entry('Plays music and songs'), [])
  const found = async (): Promise<readonly string[]> =>
    (await rankItems(asked, WORDS_ALONE, { store: view, wordTable })).hits.map(({ item_id }) => item_id)
  expect(await found()).toContain('changing')
  await index.update(USER, entry('Sends an invoice to a customer'), [])
  expect(await found()).not.toContain('changing')
  await index.update(USER, entry('Plays music and songs'), [])
  expect(await found()).toContain('changing')
  await index.update(USER, [], ['tools/changing.yaml'])
  expect(await found()).not.toContain('changing')
  await other.dispose()
})

test('S3: without a table the words alone rank', async () => {
  const query = { ...sampleQuery('email', { roots: [USER] }) }
  const without = { store: viewOf(store), wordTable: openWordTable('/nowhere/words.bin') }
  const { hits } = await rankItems(query, WORDS_ALONE, without)
  expect(hits.map(({ item_id }) => item_id)).toEqual(['send_email'])
})

test('S3: of what is only about the same, the few nearest are shown', async () => {
  const own = { space: 'project', root: '/many' } as const
  const many = Array.from({ length: 12 }, (_, n) =>
    sampleEntry({ item_id: `shot_${n}`, description: 'Photo, picture, pixels and camera' }),
  )
  const rest = Array.from({ length: 200 }, (_, n) =>
    sampleEntry({ item_id: `tax_${n}`, description: 'Invoice, tax and accounting of a customer' }),
  )
  await store.index.update(own, [...many, ...rest], [])
  const hits = await ranked('images', [], { roots: [own], limit: 50 })
  expect(hits.map(({ why }) => why)).toEqual(Array.from({ length: 5 }, () => ['meaning']))
  expect(hits.every(({ item_id: id }) => id.startsWith('shot_'))).toBe(true)
})

test('S3: what was read as a whole says what is near, and the table is heard beside it', async () => {
  const rows = new Map((await ranked('')).map(({ item_id, row }) => [item_id, row]))
  const near = (id: string, score: number, nearness: number): NearRow => ({
    row: rows.get(id) ?? 0,
    score,
    nearness,
  })
  const asked = async (
    text: string,
    read: readonly NearRow[],
  ): Promise<readonly (readonly [string, string])[]> => {
    const query = { ...sampleQuery('', { roots: [USER] }), words: parseQuery(text).words }
    const { hits } = await rankItems(query, { rankings: [], read }, { store: viewOf(store), wordTable })
    return hits.map(({ item_id, why }) => [item_id, why.join()] as const)
  }
  const song = near('play_song', 3, 0.6)
  expect(await asked('will it rain tomorrow', [song])).toEqual([['play_song', 'meaning']])
  expect(await asked('will it rain tomorrow', [near('play_song', 3, 0.1)])).toEqual([])
  expect(await asked('will it rain tomorrow', [near('play_song', 1, 0.6)])).toEqual([])
  const both = await asked('translate a text', [song, near('translate', 2, 0.5)])
  expect(both).toEqual([
    ['translate', expect.not.stringContaining('meaning')],
    ['play_song', 'meaning'],
  ])
})

test('S3: of what it does not understand the reader says nothing', async () => {
  const rows = new Map((await ranked('')).map(({ item_id, row }) => [item_id, row]))
  const read = [{ row: rows.get('play_song') ?? 0, score: 9, nearness: 0.9 }]
  const asked = async (text: string): Promise<readonly string[]> => {
    const query = { ...sampleQuery('', { roots: [USER] }), words: parseQuery(text).words }
    const { hits } = await rankItems(query, { rankings: [], read }, { store: viewOf(store), wordTable })
    return hits.map(({ item_id }) => item_id)
  }
  expect(await asked('天気')).toEqual(['tokyo'])
  expect(await asked('миграции базы данных')).toEqual([])
  expect(await asked('a melody')).toEqual(['play_song'])
})

test('S3: what has all words of a short query stands before what has none, however near', async () => {
  const rows = new Map((await ranked('')).map(({ item_id, row }) => [item_id, row]))
  const read = [{ row: rows.get('play_song') ?? 0, score: 9, nearness: 0.9 }]
  const asked = async (text: string): Promise<readonly (string | number)[]> => {
    const query = { ...sampleQuery('', { roots: [USER] }), words: parseQuery(text).words }
    const { hits } = await rankItems(query, { rankings: [], read }, { store: viewOf(store), wordTable })
    expect(hits.map(({ score }) => score)).toEqual(hits.map(({ score }) => score).toSorted((a, b) => b - a))
    return hits.map(({ item_id }) => item_id).slice(0, 2)
  }
  expect(await asked('invoices')).toEqual(['list_invoices', 'play_song'])
  expect(await asked('invoices of customers')).toEqual(['list_invoices', 'play_song'])
  expect(await asked('invoices of airports')).toEqual(['play_song', expect.any(String)])
})
