import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { StoreFolder } from '../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../test/fixtures/store-folder.ts'
import { sampleEntry } from '../../test/fixtures/store-samples.ts'
import { createLog } from '../shared/log.ts'
import type { Store } from '../store/store.ts'
import type { VectorPlace } from '../store/vectors.ts'
import type { Embedder, EmbedOrder } from './embedder.ts'
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
function open(mostTexts: number, isOwn = false, waitMs = 5000): VectorSearch {
  let made = 0
  const embed = ({ kind, texts }: EmbedOrder): Promise<readonly Float32Array[]> =>
    kind === 'document' && (made += texts.length) > mostTexts
      ? Promise.reject(new Error('too many'))
      : Promise.resolve(texts.map(toVector))
  return openWith(embed, { isOwn, waitMs })
}

function openWith(
  embed: Embedder['embed'],
  settings: { readonly isOwn: boolean; readonly waitMs: number },
): VectorSearch {
  const log = createLog({ level: 'silent', clock, write: () => true })
  const embedder = { identity: () => Promise.resolve('m'), embed }
  return openVectorSearch({ embedder, store: store.vectors, clock, log, ...settings })
}

function toVector(text: string): Float32Array {
  return text.includes('near') ? Float32Array.of(1, 0) : Float32Array.of(0.1, text.length)
}

/** Of what is to be read, nothing is until nobody wants it any more. */
const neverRead: Embedder['embed'] = ({ kind, texts }, signal) =>
  kind === 'query'
    ? Promise.resolve(texts.map(toVector))
    : new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('over'))))

test('E1: where every item has a vector, it is said how far each stands out', async () => {
  const search = open(30)
  search.begin(places())
  await vi.waitFor(async () => expect((await search.state([PLACE])).made).toBe(30), 10_000)
  await vi.waitFor(async () => {
    const { rankings, warnings } = await search.rank('near', places(), true)
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
  search.begin(places())
  await vi.waitFor(async () => expect((await search.state([PLACE])).failure).not.toBeNull(), 10_000)
  const { rankings, warnings } = await search.rank('near', places(), true)
  expect(rankings).toHaveLength(1)
  expect(rankings[0]).not.toHaveProperty('deviations')
  expect(warnings).toEqual([
    expect.stringMatching(/^the embedder ranks a part: \d+ of 30 texts have no vector yet$/),
  ])
  await search.close()
})

describe('S3: the reader that is shipped', () => {
  test('S3: a first search of a person waits for what it has not read, and is told what is near', async () => {
    const search = open(30, true)
    search.begin(places())
    const { read, rankings, warnings } = await search.rank('near', places(), true)
    expect({ rankings, warnings }).toEqual({ rankings: [], warnings: [] })
    expect(read).toEqual([
      { row: expect.any(Number), score: expect.any(Number), nearness: expect.closeTo(1) },
    ])
    expect((await search.state([PLACE])).made).toBe(30)
    await search.close()
  })

  test('S3: an agent waits for the few that are new since', async () => {
    const search = open(40, true)
    search.begin(places())
    await search.rank('near', places(), true)
    const few = Array.from({ length: 10 }, (_, n) => sampleEntry({ path: `/u/new${n}`, item_id: `new${n}` }))
    await store.index.update(PLACE, few, [])
    search.begin(places())
    expect((await search.rank('near', places(), false)).read).toHaveLength(1)
    expect((await search.state([PLACE])).made).toBe(40)
    await search.close()
  })

  test('S3: while it has more to read than an agent can wait for it says nothing, and no agent waits', async () => {
    const search = openWith(neverRead, { isOwn: true, waitMs: 60_000 })
    search.begin(places())
    expect(await search.rank('near', places(), false)).toEqual({ read: null, rankings: [], warnings: [] })
    await search.close()
  })

  test('S3: while it has much to read nobody waits for it', async () => {
    const more = Array.from({ length: 500 }, (_, n) =>
      sampleEntry({ path: `/u/more${n}`, item_id: `more${n}` }),
    )
    await store.index.update(PLACE, more, [])
    const search = openWith(neverRead, { isOwn: true, waitMs: 60_000 })
    search.begin(places())
    expect(await search.rank('near', places(), true)).toEqual({ read: null, rankings: [], warnings: [] })
    await search.close()
  })

  test('S3: what it cannot do is said, and what is over in time is not waited for', async () => {
    const failing = open(0, true)
    failing.begin(places())
    expect(await failing.rank('near', places(), false)).toMatchObject({ read: null, rankings: [] })
    await failing.close()
    const hasty = open(30, true, 0)
    hasty.begin(places())
    expect(await hasty.rank('near', places(), false)).toEqual({ read: null, rankings: [], warnings: [] })
    await hasty.close()
  })
})
