import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openReader } from './reader.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FILE = join(ROOT, 'builtin/search/reader-3.bin')
const SCRIPT = join(ROOT, 'dist/reader-thread.js')
const reader = openReader({ file: FILE, script: SCRIPT })
afterAll(() => reader.close())
const embed = (...texts: string[]): Promise<readonly Float32Array[]> =>
  reader.embed({ kind: 'document', texts, about: [] })
const cosine = (a: Float32Array | undefined, b: Float32Array | undefined): number =>
  Array.from(a ?? []).reduce((sum, value, at) => sum + value * (b?.[at] ?? 0), 0)

test('S3: a request is nearer to the tool that answers it than to its neighbours, without any of its words', async () => {
  const tools = [
    'create_invoice. Creates an invoice for a customer',
    'list_payments. Lists the payments that were received',
    'send_reminder. Sends a dunning letter for an overdue bill',
    'void_invoice. Cancels an invoice that was issued by mistake',
  ]
  const [request, ...vectors] = await embed('they still have not paid us, nudge them', ...tools)
  const nearest = vectors.map((vector) => cosine(request, vector))
  expect(nearest.indexOf(Math.max(...nearest))).toBe(2)
})

test('S3: what a word means depends on those beside it', async () => {
  const [bank, money, water] = await embed(
    'the bank of the river was flooded',
    'opens an account at a bank and pays money in',
    'how high the water of a stream stands at its shore',
  )
  expect(cosine(bank, water)).toBeGreaterThan(cosine(bank, money))
})

test('S3: names are read as the words they were put together from', async () => {
  const [one, other] = await embed('server.list_openIssues. Shows all', 'server list open issues. Shows all')
  expect(cosine(one, other)).toBeGreaterThan(0.99)
})

test.each([
  ['nothing', ''],
  ['a blank', ' '],
  ['a zero', '\0'],
  ['a picture', '😀'],
  ['Japanese', '天気を調べる'],
  ['a word without end', 'x'.repeat(10_000)],
  ['a text without end', 'word '.repeat(2000)],
])('PAR-14: %s is read: a vector of length 1, the same each time', async (_, text) => {
  const [one, again] = await embed(text, text)
  expect(one).toEqual(again)
  expect(cosine(one, again)).toBeCloseTo(1, 4)
})

test('E1: it stops between two texts when nobody waits any more, and says what is not there', async () => {
  const order = { kind: 'document', texts: ['a', 'b'], about: [] } as const
  await expect(reader.embed(order, AbortSignal.abort(new Error('over')))).rejects.toThrow('over')
  const without = {
    file: openReader({ file: `${FILE}.none`, script: SCRIPT }),
    script: openReader({ file: FILE, script: `${SCRIPT}.none` }),
  }
  await expect(without.file.embed(order)).rejects.toThrow('ENOENT')
  await expect(without.script.embed(order)).rejects.toThrow('Cannot find module')
})

test('E1: others go on while texts are read, and a query comes between them', async () => {
  const order: string[] = []
  const texts = Array.from({ length: 12 }, (_, at) => `a text about ${at} things, with some words to read`)
  const reading = embed(...texts).then(() => order.push('texts'))
  const asking = reader
    .embed({ kind: 'query', texts: ['which things'], about: [] })
    .then(() => order.push('query'))
  await Promise.all([reading, asking])
  expect(order).toEqual(['query', 'texts'])
})

test('E1: when it is closed what is under way ends, and who asks again is answered again', async () => {
  const texts = Array.from({ length: 100 }, (_, at) => `text ${at}`)
  const under = reader.embed({ kind: 'document', texts, about: [] })
  await Promise.all([expect(under).rejects.toThrow('has ended'), reader.close()])
  expect(await embed('a text')).toHaveLength(1)
})
