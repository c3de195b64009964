import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createIds } from '../shared/ids.ts'
import { LIMITS } from '../shared/limits.ts'
import { openResults } from './results.ts'

let cache: string
let time = 0
const ids = createIds(() => (time += 1))
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'kiwi-results-'))
})
afterEach(() => rmSync(cache, { recursive: true, force: true }))

test('a result that fits is handed on as it is, and nothing is kept', async () => {
  const data = { output: 'small', stdout: 'small' }
  expect(await openResults(cache).fit(ids(), 'tool', data)).toBe(data)
  expect(readdirSync(cache)).toEqual([])
})

test('L8: 5 MB become a preview under 40 KB, and every byte can be paged', async () => {
  const results = openResults(cache)
  const whole = 'zwölf Boxkämpfer 🥊 '.repeat(250_000)
  const callId = ids()
  const shown = await results.fit(callId, 'tool', { output: whole, stdout: whole, return_code: 0 })
  expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThan(40_000)
  expect(shown).toMatchObject({ truncated: true, return_code: 0, output_bytes: Buffer.byteLength(whole) })
  let read = ''
  for (let offset: number | null = 0; offset !== null;) {
    const page = await results.page(callId, offset, 100_003)
    read += page.text
    offset = page.next_offset
  }
  expect(read === whole).toBe(true)
})

test('a large value that is not text is kept as JSON', async () => {
  const results = openResults(cache)
  const callId = ids()
  const output = Array.from({ length: 20_000 }, (_, n) => n)
  await results.fit(callId, 'tool', { output })
  const page = await results.page(callId, 0, 1_000_000)
  expect(JSON.parse(page.text)).toEqual(output)
})

test('X10, L8: a JSONPath behind the id reads a part of a kept result, page by page', async () => {
  const results = openResults(cache)
  const callId = ids()
  const items = Array.from({ length: 5000 }, (_, n) => ({ id: n, name: `ünï ${n}` }))
  const shown = await results.fit(callId, 'tool', { output: { items, note: 'é'.repeat(10) } })
  expect(shown).toMatchObject({ rest: { note: expect.stringContaining('JSONPath') } })
  const at = (path: string, offset = 0, limit = 1000): Promise<unknown> =>
    results.page(`${callId}${path}`, offset, limit)
  expect(await at('$.items[1:3].name')).toEqual({
    text: '["ünï 1","ünï 2"]',
    offset: 0,
    bytes: 21,
    next_offset: null,
  })
  expect(await at('$.items[?@.id==4999].name')).toMatchObject({ text: '["ünï 4999"]' })
  // A text is itself; a page ends with a whole character.
  expect(await at('$.note', 0, 5)).toEqual({ text: 'éé', offset: 0, bytes: 20, next_offset: 4 })
  expect(await at('$.note', 18, 5)).toMatchObject({ text: 'é', next_offset: null })
  expect(await at('$.nothing')).toMatchObject({ text: 'null', bytes: 4 })
  expect(await at('$..nothing')).toMatchObject({ text: '[]' })
  await expect(at('$.items[')).rejects.toMatchObject({
    code: 'INVALID_PARAMETERS',
    hint: expect.stringContaining('JSONPath'),
  })
  await expect(at('.items')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('X10: what is no JSON has no parts, and is said to be paged', async () => {
  const results = openResults(cache)
  const callId = ids()
  await results.fit(callId, 'tool', { output: 'word '.repeat(10_000) })
  await expect(results.page(`${callId}$.a`, 0, 10)).rejects.toMatchObject({
    code: 'INVALID_PARAMETERS',
    message: `Cannot select from the result of call "${callId}": it is text, and no JSON`,
    hint: expect.stringContaining('offset'),
  })
})

test('kept results are private, and only the newest stay', async () => {
  const results = openResults(cache)
  const first = ids()
  await results.fit(first, 'tool', { output: 'x'.repeat(LIMITS.resultBytes + 1) })
  expect(statSync(join(cache, 'results', first)).mode & 0o777).toBe(0o600)
  for (let n = 0; n < LIMITS.keptResults; n++) {
    await results.fit(ids(), 'tool', { output: 'x'.repeat(LIMITS.resultBytes + 1) })
  }
  expect(readdirSync(join(cache, 'results')).length).toBe(LIMITS.keptResults)
  await expect(results.page(first, 0, 10)).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a handle names a result, never a path', async () => {
  writeFileSync(join(cache, 'secret'), 'secret')
  await expect(openResults(cache).page('../secret', 0, 10)).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('when nothing can be kept the reply still has its preview', async () => {
  const blocked = join(cache, 'file')
  writeFileSync(blocked, '')
  const shown = await openResults(blocked).fit(ids(), 'tool', { output: 'x'.repeat(LIMITS.resultBytes + 1) })
  expect(shown).toMatchObject({ truncated: true, rest: null })
})

test('S12: blocks that are too large are told by kind and size, and kept whole with what is beside them', async () => {
  const results = openResults(cache)
  const callId = ids()
  const image = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(LIMITS.resultBytes) }
  const data = {
    output: { a: 1 },
    content: [{ type: 'text', text: 'x' }, image],
    _meta: { 'example.com/a': 1 },
  }
  const shown = await results.fit(callId, 'tool', data)
  expect(shown).toMatchObject({
    output: { a: 1 },
    content: [
      { type: 'text', text: 'x' },
      { type: 'image', mimeType: 'image/png', truncated: true, bytes: JSON.stringify(image).length },
    ],
    _meta: { 'example.com/a': 1 },
    truncated: true,
  })
  const page = await results.page(callId, 0, 1_000_000)
  expect(JSON.parse(page.text)).toEqual(data)
})

test('S12: of very many blocks the reply holds none or a few, and all are kept', async () => {
  const results = openResults(cache)
  const content = Array.from({ length: 5000 }, (_, at) => ({ type: 'text', text: `block ${at}` }))
  const callId = ids()
  const shown = await results.fit(callId, 'tool', { output: 'x'.repeat(5000), content })
  expect(JSON.stringify(shown).length).toBeLessThan(LIMITS.resultBytes)
  expect(JSON.parse((await results.page(callId, 0, 1_000_000)).text)).toMatchObject({ content })
})

test('D13: a large answer of which nothing can be left out is not said to be cut', async () => {
  const results = openResults(cache)
  const data = { directive: { process: ['x'.repeat(LIMITS.resultBytes)] }, tool_context: {} }
  expect(await results.fitAnswer(ids(), 'big', data, { tool_context: {} })).toBe(data)
  expect(readdirSync(cache)).toEqual([])
  const cut = await results.fitAnswer(
    ids(),
    'big',
    { ...data, tool_context: { a: 'y' } },
    { tool_context: {} },
  )
  expect(cut).toMatchObject({ truncated: true, tool_context: {}, rest: expect.anything() })
})
