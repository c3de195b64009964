import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StoreFolder } from '../../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../../test/fixtures/store-folder.ts'
import { sampleEntry, sampleQuery } from '../../../test/fixtures/store-samples.ts'
import { distanceBetween } from './match.ts'

let place: StoreFolder
beforeEach(async () => {
  place = await makeStoreFolder()
})
afterEach(() => place.dispose())

const USER = { space: 'user', root: '/u' } as const

async function found(
  words: string,
  names: readonly string[],
  spelt: readonly string[] = [],
): Promise<readonly string[]> {
  const { index } = await place.open()
  await index.update(
    USER,
    names.map((item_id) => sampleEntry({ item_id })),
    [],
  )
  const { hits } = await index.search(sampleQuery(words, { roots: [USER], spelt: new Set(spelt) }))
  return hits.map(({ item_id }) => item_id)
}

test('S3: a word with a mistake in it is found, a known word is taken at its word', async () => {
  const names = ['create_repository', 'calendar', 'send_message', 'male', 'mail']
  expect(await found('repositry', names)).toEqual(['create_repository'])
  expect(await found('calender', names)).toEqual(['calendar'])
  expect(await found('mesage', names)).toEqual(['send_message'])
  expect(await found('mail', names)).toEqual(['mail'])
  expect(await found('zebra', names)).toEqual([])
})

test('S3: a word that is spelt right is not taken for another', async () => {
  const names = ['calendar', 'send_message']
  expect(await found('sand calendar', names)).toEqual(['calendar', 'send_message'])
  expect(await found('sand calendar', names, ['sand', 'calendar'])).toEqual(['calendar'])
  expect(await found('sand', names, ['sand'])).toEqual([])
})

test('S3: a word that is like nothing is not taken for a short one that begins like it', async () => {
  const names = ['x', 'xy', 'xyz', 'flat_rate', 'fig']
  expect(await found('xyzzy', names)).toEqual([])
  expect(await found('flights', names)).toEqual([])
  expect(await found('figgs', names)).toEqual([])
})

test.each([
  ['message', 'messag', 0],
  ['mesage', 'messag', 1],
  ['recieve', 'receiv', 1],
  ['calender', 'calendar', 1],
  ['abc', 'xyz', 3],
])('S3: from %s to the stem %s it is %i', (word, stem, distance) => {
  expect(distanceBetween(word, stem)).toBe(distance)
})

test('PAR-14: a query of ten thousand different words is answered', async () => {
  const words = Array.from({ length: 10_000 }, (_, n) => `unheard${n}`).join(' ')
  expect(await found(words, ['a', 'b'])).toEqual([])
})
