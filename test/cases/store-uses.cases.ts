import { expect } from 'vitest'
import { LIMITS } from '../../src/shared/limits.ts'
import type { IndexedSpace, SearchIndex } from '../../src/store/store.ts'
import type { NewUse, PastSearch } from '../../src/store/uses.ts'
import { fadedTimes } from '../../src/store/uses.ts'
import { sampleEntry, sampleQuery } from '../fixtures/store-samples.ts'
import type { Cases } from './store-bed.ts'

const ONE: IndexedSpace = { space: 'project', root: '/one/.ai' }
const TWO: IndexedSpace = { space: 'project', root: '/two/.ai' }
const NOW = 1_760_000_000_000
const DAY = 24 * 60 * 60 * 1000

/** Puts an item into the index, and gives back a use of it. */
async function useOf(index: SearchIndex, place: IndexedSpace, item_id: string): Promise<NewUse> {
  await index.update(place, [sampleEntry({ item_id })], [])
  const { found } = await index.find(sampleQuery('', { roots: [place], spaces: [place.space], limit: 100 }))
  const hits = await index.show(found, { words: [] })
  return { row: hits.find((hit) => hit.item_id === item_id)?.row ?? -1, item_id, words: ['deploy', 'site'] }
}

export const useCases: Cases = {
  async 'S3: a use is counted, seen by other processes, and belongs to the space of its item'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    const use = await useOf(store.index, ONE, 'ship')
    await store.uses.credit([use], NOW)
    await store.uses.credit([use, { ...use, words: ['go'] }], NOW + 1)
    expect(await other.uses.read()).toMatchObject([
      { ...ONE, item_id: 'ship', item_type: 'tool', words: ['deploy', 'site'], last: NOW + 1 },
      { item_id: 'ship', words: ['go'], times: 1 },
    ])
    const { uses, frequency } = await other.uses.like(['site', 'new'], [ONE])
    expect(uses).toMatchObject([{ row: use.row, words: ['deploy', 'site'] }])
    expect(uses[0]?.times).toBeCloseTo(2, 5)
    expect(frequency).toEqual(
      new Map([
        ['deploy', 1],
        ['site', 1],
      ]),
    )
    expect((await other.uses.like(['site'], [TWO])).uses).toEqual([])
    expect((await other.uses.like([], [ONE])).uses).toEqual([])
  },

  async 'S3: the last searches of a person in a project are remembered for a while, and forgotten with the rest'(
    bed,
  ) {
    const [store, other] = [await bed.open(), await bed.open()]
    const who = { principal: 'ada', project: '/one' }
    const search = (word: string): PastSearch => ({ ...who, words: [word], items: new Map([['ship', 7]]) })
    for (const [at, word] of ['a', 'b', 'c', 'd', 'e', 'f'].entries())
      await store.uses.remember(search(word), NOW + at, NOW - 10)
    expect((await other.uses.recall(who, NOW)).map(({ words }) => words[0])).toEqual([
      'f',
      'e',
      'd',
      'c',
      'b',
    ])
    expect(await other.uses.recall(who, NOW + 5)).toEqual([search('f')])
    for (const stranger of [
      { ...who, principal: 'bob' },
      { ...who, project: null },
      { ...who, project: '/two' },
    ])
      expect(await other.uses.recall(stranger, NOW)).toEqual([])
    // Another's search drops what is too old for anybody.
    await other.uses.remember({ ...search('g'), principal: 'bob', project: null }, NOW + 20, NOW + 4)
    expect((await store.uses.recall(who, 0)).map(({ words }) => words[0])).toEqual(['f', 'e'])
    expect(await store.uses.recall({ principal: 'bob', project: null }, 0)).toHaveLength(1)
    await store.uses.forget(null)
    expect(await other.uses.recall(who, 0)).toEqual([])
  },

  async 'S3: what is no longer in the index is neither counted nor raised, and forgetting is for good'(bed) {
    const store = await bed.open()
    const [ship, sail] = [await useOf(store.index, ONE, 'ship'), await useOf(store.index, ONE, 'sail')]
    await store.uses.credit(
      [
        { ...ship, row: sail.row },
        { ...ship, row: 99_999 },
      ],
      NOW,
    )
    expect(await store.uses.read()).toEqual([])
    await store.uses.credit([ship, sail], NOW)
    await store.index.update(ONE, [], ['tools/ship.yaml'])
    expect((await store.uses.like(['site'], [ONE])).uses).toMatchObject([{ row: sail.row }])
    expect([await store.uses.forget('none'), await store.uses.forget('ship')]).toEqual([0, 1])
    expect(await store.uses.read()).toMatchObject([{ item_id: 'sail' }])
    expect(await store.uses.forget(null)).toBe(1)
    expect((await store.uses.like(['site'], [ONE])).frequency.size).toBe(0)
  },

  async 'S3: uses fade, and of each space only so many are kept: the oldest go'(bed) {
    const store = await bed.open()
    const [ship, kept] = [await useOf(store.index, ONE, 'ship'), await useOf(store.index, TWO, 'kept')]
    expect(fadedTimes({ times: 4, last: NOW }, NOW + 30 * DAY)).toBe(2)
    await store.uses.credit([kept, ...Array.from({ length: 50 }, () => ship)], NOW)
    const [most] = (await store.uses.read()).filter(({ item_id }) => item_id === 'ship')
    expect(most?.times).toBe(20)
    const words = Array.from({ length: LIMITS.usesOfSpace + 10 }, (_, n) => [`word${n}`])
    await store.uses.credit(
      words.map((own) => ({ ...ship, words: own })),
      NOW + DAY,
    )
    const left = await store.uses.read()
    expect(left).toHaveLength(LIMITS.usesOfSpace + 1)
    expect(left.filter(({ words: own }) => own.includes('deploy'))).toMatchObject([{ item_id: 'kept' }])
  },
}
