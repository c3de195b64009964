import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { indexWords } from './word-index.ts'

const listed = (...words: readonly string[]): ((word: string) => number | undefined) =>
  indexWords(Buffer.from(words.join('\n'), 'latin1'), words.length)

test('S3: each word of the shipped table is found where it stands', () => {
  const bytes = readFileSync(join(import.meta.dirname, '../../builtin/search/words.bin'))
  const list = bytes.subarray(12, 12 + bytes.readUInt32LE(8))
  const words = list.toString('latin1').split('\n')
  const placeOf = indexWords(list, bytes.readUInt32LE(0))
  expect(words.length).toBe(bytes.readUInt32LE(0))
  expect(words.filter((word, at) => placeOf(word) !== at)).toEqual([])
  expect(
    words.filter((word) => placeOf(`${word}\n`) !== undefined || placeOf(`-${word}`) !== undefined),
  ).toEqual([])
})

test('S3: neither a part of a word nor nothing is a word of the list', () => {
  const placeOf = listed('tea', 'team', 'steam')
  expect(['tea', 'team', 'steam'].map(placeOf)).toEqual([0, 1, 2])
  expect(['te', 'eam', 'teams', '', 'tea\nteam', 'teä', '茶'].map(placeOf)).toEqual(Array(7).fill(undefined))
  expect(indexWords(new Uint8Array(0), 0)('tea')).toBeUndefined()
})
