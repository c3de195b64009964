import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { StoreFolder } from '../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../test/fixtures/store-folder.ts'
import { sampleEntry } from '../../test/fixtures/store-samples.ts'
import { createLog } from '../shared/log.ts'
import type { IndexEntry, Store } from '../store/store.ts'
import type { Embedder } from './embedder.ts'
import type { VectorFill } from './fill-vectors.ts'
import { openVectorFill } from './fill-vectors.ts'

const PLACE = { space: 'user', root: '/u' } as const
const MODEL = 'm'

let place: StoreFolder
let store: Store
const clock = { at: 1_000_000, now: () => clock.at, monotonic: () => clock.at }
beforeEach(async () => {
  place = await makeStoreFolder()
  store = await place.open()
})
afterEach(() => place.dispose())

const entry = (id: string): IndexEntry =>
  sampleEntry({ path: `/u/${id}`, stamp: id, item_id: id, name: id, description: `what ${id} does` })

function open(embed: Embedder['embed']): VectorFill {
  const log = createLog({ level: 'silent', clock, write: () => true })
  const embedder = { identity: () => Promise.resolve(MODEL), embed }
  return openVectorFill({ embedder, store: store.vectors, clock, log, isOwn: false })
}

const made = async (): Promise<number> => (await store.vectors.missing(MODEL, [PLACE], 0)).made
const put = (ids: readonly string[]): Promise<void> => store.index.update(PLACE, ids.map(entry), [])
const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `tool${at}`)

test('E1: all are made in batches, by one look', async () => {
  await put(many(70))
  const sizes: number[] = []
  const fill = open(({ texts }) => {
    sizes.push(texts.length)
    return Promise.resolve(texts.map((text) => Float32Array.of(text.length)))
  })
  fill.begin([PLACE])
  await vi.waitFor(async () => expect(await made()).toBe(70), 10_000)
  await fill.close()
  expect(sizes).toEqual([2, 4, 8, 16, 32, 8])
  expect(fill.last).toMatchObject({ texts: 70, made: 70 })
})

test('E1: a text that no embedder takes does not keep the others from theirs, and is tried ever more seldom', async () => {
  await put([...many(40), 'poison'])
  let calls = 0
  const fill = open(({ texts }) => {
    calls++
    return texts.some((text) => text.startsWith('poison'))
      ? Promise.reject(new Error('cannot take it'))
      : Promise.resolve(texts.map((text) => Float32Array.of(text.length)))
  })
  await vi.waitFor(
    async () => {
      clock.at += 4_000_000
      fill.begin([PLACE])
      expect(await made()).toBe(40)
    },
    { timeout: 20_000, interval: 10 },
  )
  await vi.waitFor(async () => expect(await store.vectors.failure(MODEL)).not.toBeNull(), 10_000)
  await fill.soon([PLACE], 400)
  const failure = await store.vectors.failure(MODEL)
  expect(failure).toMatchObject({ error: 'cannot take it' })
  const before = calls
  clock.at = (failure?.retryAt ?? 0) - 1
  fill.begin([PLACE])
  await fill.close()
  expect(calls).toBe(before)
})

test('E1: closing ends what is under way and gives the turn back', async () => {
  await put(many(3))
  let isAsked = false
  const fill = open(
    (_order, signal) =>
      new Promise((_resolve, reject) => {
        isAsked = true
        signal?.addEventListener('abort', () => reject(new Error('ended')))
      }),
  )
  fill.begin([PLACE])
  await vi.waitFor(() => expect(isAsked).toBe(true), 10_000)
  await fill.close()
  expect(await store.vectors.failure(MODEL)).toBeNull()
  expect(await store.vectors.claim(MODEL, { holder: 'another', now: clock.at, until: clock.at + 1 })).toEqual(
    {
      failures: 0,
    },
  )
})
