import { expect, test } from 'vitest'
import { LIMITS } from '../shared/limits.ts'
import type { Embedder } from './embedder.ts'
import { openQueryVectors } from './query-vectors.ts'

function openAsked(answer: (text: string) => Promise<Float32Array>): {
  readonly asked: string[]
  readonly queries: ReturnType<typeof openQueryVectors>
  readonly clock: { at: number }
} {
  const asked: string[] = []
  const clock = { at: 0 }
  const embedder: Embedder = {
    identity: () => Promise.resolve('m'),
    async embed({ texts: [text = ''] }) {
      asked.push(text)
      return [await answer(text)]
    },
  }
  const queries = openQueryVectors(embedder, { now: () => clock.at, monotonic: () => clock.at })
  return { asked, queries, clock }
}

const ONE = Float32Array.of(1)

test('E1: the same question is asked once, whatever its spaces; another model is another question', async () => {
  const { asked, queries } = openAsked(() => Promise.resolve(ONE))
  expect(await queries.of('m', 'what  is\nit ')).toBe(ONE)
  expect(await queries.of('m', 'what is it')).toBe(ONE)
  await queries.of('n', 'what is it')
  expect(asked).toEqual(['what is it', 'what is it'])
})

test('E1: what is kept is bounded, and so is the length of a question', async () => {
  const { asked, queries } = openAsked(() => Promise.resolve(ONE))
  for (let at = 0; at < 300; at++) await queries.of('m', `question ${at}`)
  await queries.of('m', 'question 299')
  expect(asked).toHaveLength(300)
  await queries.of('m', 'question 0')
  expect(asked).toHaveLength(301)
  await queries.of('m', 'x'.repeat(10_000))
  expect(asked.at(-1)).toHaveLength(LIMITS.embeddedCharacters)
})

test('E1: only a few are under way at once', async () => {
  const { asked, queries } = openAsked(() => new Promise(() => undefined))
  const asking = Array.from({ length: 10 }, (_, at) => queries.of('m', `question ${at}`))
  expect(asked).toHaveLength(4)
  expect(asking.filter((each) => each === null)).toHaveLength(6)
})

test('E1: an embedder that failed is left alone for a while, and then asked again', async () => {
  let isBroken = true
  const { asked, queries, clock } = openAsked(() =>
    isBroken ? Promise.reject(new Error('out of order')) : Promise.resolve(ONE),
  )
  await expect(queries.of('m', 'a')).rejects.toThrow('out of order')
  isBroken = false
  await expect(queries.of('m', 'b')).rejects.toThrow('out of order')
  expect(asked).toEqual(['a'])
  clock.at = 30_000
  expect(await queries.of('m', 'a')).toBe(ONE)
})
