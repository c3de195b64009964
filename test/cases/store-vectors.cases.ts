import { expect } from 'vitest'
import type { IndexEntry, Store } from '../../src/store/store.ts'
import type { VectorPlace } from '../../src/store/vectors.ts'
import { sampleEntry } from '../fixtures/store-samples.ts'
import type { Cases } from './store-bed.ts'

const PLACE = { space: 'project', root: '/p/.ai' } as const satisfies VectorPlace
const MODEL = 'embedder model'

function entry(id: string, description: string): IndexEntry {
  const text = { parameters: '', body: '' }
  const more = { path: `/p/.ai/tools/${id}.yaml`, stamp: description, tags: [], search_text: text }
  return sampleEntry({ item_id: id, name: id, description, ...more })
}

const put = (store: Store, ...entries: readonly IndexEntry[]): Promise<void> =>
  store.index.update(PLACE, entries, [])

/** Makes a vector of each text that has none. */
async function make(store: Store, model = MODEL): Promise<readonly string[]> {
  const { some } = await store.vectors.missing(model, [PLACE], 100)
  await store.vectors.put(
    model,
    some.map(({ hash, text }) => ({ hash, vec: Float32Array.of(text.length, 0.5) })),
  )
  return some.map(({ itemId }) => itemId).toSorted((a, b) => a.localeCompare(b))
}

export const vectorCases: Cases = {
  async 'E1: what has no vector is told with its text, by its name first; what is made is found by every handle'(
    bed,
  ) {
    const [store, other] = [await bed.open(), await bed.open()]
    await put(store, entry('rain_gauge', 'measures rain'), entry('sun_dial', 'tells the time'))
    const before = await other.vectors.missing(MODEL, [PLACE], 100)
    expect(before).toMatchObject({ texts: 2, made: 0, dims: null, stored: 0 })
    expect(before.some.map(({ text }) => text.trim())).toContain('rain_gauge. measures rain')
    expect(await make(store)).toEqual(['rain_gauge', 'sun_dial'])
    expect(await other.vectors.missing(MODEL, [PLACE], 100)).toEqual({
      texts: 2,
      made: 2,
      dims: 2,
      stored: 2,
      some: [],
    })
    const [first, second] = await other.vectors.after(MODEL, 0, 10)
    expect(first?.vec).toHaveLength(2)
    expect(await other.vectors.after(MODEL, first?.id ?? 0, 10)).toEqual([second])
    expect(await other.vectors.after('another', 0, 10)).toEqual([])
    expect(await other.vectors.missing(MODEL, [{ space: 'project', root: '/elsewhere' }], 10)).toMatchObject({
      texts: 0,
    })
  },

  async 'E1: a text that came back has its vector still; one text of two items is made once'(bed) {
    const store = await bed.open()
    await put(store, entry('a', 'same'), entry('b', 'other'))
    await make(store)
    await put(store, entry('a', 'changed'))
    expect(await make(store)).toEqual(['a'])
    await put(store, { ...entry('a', 'same'), stamp: 'later' })
    expect(await make(store)).toEqual([])
    await store.index.replace(PLACE, [
      entry('a', 'same'),
      { ...entry('a', 'same'), path: '/p/.ai/twin.yaml' },
    ])
    expect(await store.vectors.missing(MODEL, [PLACE], 10)).toMatchObject({ texts: 1, made: 1 })
    const ids = (await store.vectors.after(MODEL, 0, 10)).map(({ id }) => id)
    expect(await store.vectors.rowsOf(ids)).toHaveLength(2)
  },

  async 'E1: rows come in the order of their vectors, and go with their items'(bed) {
    const store = await bed.open()
    await put(store, entry('a', 'one'), entry('b', 'two longer'))
    await make(store)
    const ids = (await store.vectors.after(MODEL, 0, 10)).map(({ id }) => id)
    const rows = await store.vectors.rowsOf(ids)
    expect(rows).toHaveLength(2)
    expect(await store.vectors.rowsOf(ids.toReversed())).toEqual(rows.toReversed())
    await store.index.update(PLACE, [], ['/p/.ai/tools/a.yaml'])
    expect(await store.vectors.rowsOf(ids)).toHaveLength(1)
    await store.vectors.prune(MODEL)
    expect(await store.vectors.after(MODEL, 0, 10)).toHaveLength(1)
  },

  async 'E1: vectors of one model have one length'(bed) {
    const store = await bed.open()
    await put(store, entry('a', 'one'))
    await make(store)
    const longer = [{ hash: 'f'.repeat(32), vec: new Float32Array(3) }]
    await expect(store.vectors.put(MODEL, longer)).rejects.toMatchObject({ code: 'TOOL_FAILED' })
    await store.vectors.put('another', longer)
    expect(await store.vectors.after(MODEL, 0, 10)).toHaveLength(1)
  },

  async 'E1: one holder at a time makes vectors; a failure is waited out by all, and told'(bed) {
    const [{ vectors }, { vectors: others }] = [await bed.open(), await bed.open()]
    const claim = (holder: string, now: number) => ({ holder, now, until: now + 100 })
    expect(await vectors.claim(MODEL, claim('me', 1000))).toEqual({ failures: 0 })
    expect(await others.claim(MODEL, claim('you', 1050))).toBeNull()
    expect(await vectors.claim(MODEL, claim('me', 1050))).toEqual({ failures: 0 })
    expect(await others.claim(MODEL, claim('you', 1150))).toEqual({ failures: 0 })
    // Whose turn it is no more has nothing to give back.
    await vectors.release(MODEL, 'me', { error: 'late', retryAt: 9000 })
    expect(await vectors.failure(MODEL)).toBeNull()
    await others.release(MODEL, 'you', { error: 'out of order', retryAt: 2000 })
    expect(await vectors.failure(MODEL)).toEqual({ error: 'out of order', retryAt: 2000 })
    expect(await vectors.claim(MODEL, claim('me', 1999))).toBeNull()
    expect(await vectors.claim(MODEL, claim('me', 2000))).toEqual({ failures: 1 })
    await vectors.release(MODEL, 'me', null)
    expect(await others.failure(MODEL)).toBeNull()
    expect(await others.claim(MODEL, claim('you', 2001))).toEqual({ failures: 0 })
  },

  async 'E1: what a model made is kept while it is used, and for a month after'(bed) {
    const store = await bed.open()
    const day = 24 * 60 * 60 * 1000
    await put(store, entry('a', 'one'))
    for (const model of ['old', MODEL]) {
      await store.vectors.claim(model, { holder: 'me', now: day, until: day })
      await make(store, model)
    }
    await store.vectors.keep(MODEL, 20 * day)
    expect(await store.vectors.after('old', 0, 10)).toHaveLength(1)
    await store.vectors.keep(MODEL, 40 * day)
    expect(await store.vectors.after('old', 0, 10)).toEqual([])
    expect(await store.vectors.after(MODEL, 0, 10)).toHaveLength(1)
  },
}
