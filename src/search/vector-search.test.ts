import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { StoreFolder } from '../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../test/fixtures/store-folder.ts'
import { sampleEntry } from '../../test/fixtures/store-samples.ts'
import { createLog } from '../shared/log.ts'
import type { Store } from '../store/store.ts'
import type { VectorPlace } from '../store/vectors.ts'
import type { EmbedOrder } from './embedder.ts'
import type { VectorSearch } from './vector-search.ts'
import { openVectorSearch } from './vector-search.ts'

const PLACE = { space: 'user', root: '/u' } as const
const places = (): readonly VectorPlace[] => [PLACE]

let place: StoreFolder
let store: Store
const clock = { at: 1_000_000, now: () => clock.at, monotonic: () => clock.at }
beforeEach(async () => {
  place = await makeStoreFolder()
  store = await place.open()
  const entries = Array.from({ length: 30 }, (_, n) =>
    sampleEntry({
      path: `/u/${n}`,
      item_id: `tool${n}`,
      name: `tool${n}`,
      description: n === 7 ? 'near' : `far ${n}`,
    }),
  )
  await store.index.update(PLACE, entries, [])
})
afterEach(() => place.dispose())

/** Refuses from a number of texts on. */
function open(mostTexts: number): VectorSearch {
  let made = 0
  const embed = ({ kind, texts }: EmbedOrder): Promise<readonly Float32Array[]> => {
    if (kind === 'document' && (made += texts.length) > mostTexts)
      return Promise.reject(new Error('too many'))
    const toVector = (text: string): Float32Array =>
      text.includes('near') ? Float32Array.of(1, 0) : Float32Array.of(0.1, text.length)
    return Promise.resolve(texts.map(toVector))
  }
  const log = createLog({ level: 'silent', clock, write: () => true })
  const embedder = { identity: () => Promise.resolve('m'), embed }
  return openVectorSearch({ embedder, store: store.vectors, clock, log, waitMs: 5000 })
}

test('E1: where every item has a vector, it is said how far each stands out', async () => {
  const search = open(30)
  search.fill(places())
  await vi.waitFor(async () => expect((await search.state([PLACE])).made).toBe(30), 10_000)
  await vi.waitFor(async () => {
    const { rankings, warnings } = await search.rank('near', true)
    expect(warnings).toEqual([])
    expect(rankings).toMatchObject([
      { reason: 'embedder', rows: [expect.any(Number)], deviations: [expect.any(Number)] },
    ])
    expect(rankings[0]?.deviations?.[0]).toBeGreaterThan(4)
  }, 10_000)
  await search.close()
})

test('E1: while many items have no vector, the others only come in an order, and search says so', async () => {
  const search = open(20)
  search.fill(places())
  await vi.waitFor(async () => expect((await search.state([PLACE])).failure).not.toBeNull(), 10_000)
  const { rankings, warnings } = await search.rank('near', true)
  expect(rankings).toHaveLength(1)
  expect(rankings[0]).not.toHaveProperty('deviations')
  expect(warnings).toEqual([
    expect.stringMatching(/^the embedder ranks a part: \d+ of 30 texts have no vector yet$/),
  ])
  await search.close()
})
