import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ServerSentEvent } from './sse-parser.ts'
import { createSseParser } from './sse-parser.ts'

const parse = (...chunks: readonly (string | Uint8Array)[]): readonly ServerSentEvent[] => {
  const parser = createSseParser(10_000)
  return chunks.flatMap((chunk) => parser.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk))
}

test('P12: fields, comments and line ends are read as the standard says', () => {
  expect(parse(': hi\n\ndata: YHOO\ndata: +2\ndata: 10\n\n')).toEqual([
    { event: 'message', data: 'YHOO\n+2\n10', id: '' },
  ])
  expect(parse('event: add\r\ndata: 1\r\n\r\nevent: remove\rdata: 2\r\r')).toEqual([
    { event: 'add', data: '1', id: '' },
    { event: 'remove', data: '2', id: '' },
  ])
  expect(parse('data\n\ndata\ndata\n\ndata:')).toEqual([
    { event: 'message', data: '', id: '' },
    { event: 'message', data: '\n', id: '' },
  ])
  expect(parse('data:test\n\ndata: test\n\ndata:  two\n\n').map(({ data }) => data)).toEqual([
    'test',
    'test',
    ' two',
  ])
  expect(parse('\ufeffdata: after the mark\n\n')).toHaveLength(1)
  expect(parse('event: nothing\n\nid: 3\n\ndata: x\nunknown: y\n\n')).toEqual([
    { event: 'message', data: 'x', id: '3' },
  ])
})

test('P12: an id lasts until the next one, and counts only when its event is whole', () => {
  const parser = createSseParser(1000, 'before')
  expect(parser.lastId).toBe('before')
  const events = parser.push(
    Buffer.from('id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\nid: x\0y\ndata: d\n\nid: 9\ndata: e'),
  )
  expect(events.map(({ id }) => id)).toEqual(['1', '1', '', ''])
  expect(parser.lastId).toBe('')
  parser.push(Buffer.from('\n\n'))
  expect(parser.lastId).toBe('9')
})

test('P12: retry is read when it is a number', () => {
  const parser = createSseParser(1000)
  expect(parser.retryMs).toBeNull()
  parser.push(Buffer.from('retry: 2500\n'))
  parser.push(Buffer.from('retry: soon\nretry: -1\nretry:\n'))
  expect(parser.retryMs).toBe(2500)
})

test('P12: any way of cutting the bytes gives the same events', () => {
  const line = fc.oneof(
    fc.constantFrom(
      '',
      '',
      'data',
      'data:',
      'id: 7',
      'id',
      'event: add',
      ':comment',
      'retry: 10',
      'data: ü☃𝄞',
    ),
    fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `data: ${text}`),
  )
  const text = fc
    .array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 30 })
    .map((lines) => Buffer.from(lines.flat().join('')))
  fc.assert(
    fc.property(text, fc.array(fc.nat(400), { maxLength: 12 }), (bytes, cuts) => {
      const edges = [
        0,
        ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b),
        bytes.length,
      ]
      const pieces = edges.slice(1).map((edge, i) => bytes.subarray(edges[i], edge))
      expect(parse(...pieces)).toEqual(parse(bytes))
      expect(parse(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(parse(bytes))
    }),
    { numRuns: 300 },
  )
})

const push =
  (...chunks: readonly string[]) =>
  () => {
    const parser = createSseParser(100)
    for (const chunk of chunks) parser.push(Buffer.from(chunk))
  }

test('SSRF-10: an event larger than the limit ends the stream, however it grows', () => {
  const tooLarge = expect.objectContaining({ code: 'MESSAGE_TOO_LARGE' })
  expect(push(`data: ${'x'.repeat(200)}`)).toThrow(tooLarge)
  expect(push(...Array.from({ length: 200 }, () => 'x'))).toThrow(tooLarge)
  expect(push(...Array.from({ length: 40 }, () => 'data\n'))).toThrow(tooLarge)
  expect(push(...Array.from({ length: 40 }, () => 'id: 1\n'))).toThrow(tooLarge)
  expect(push(...Array.from({ length: 1000 }, () => ': still here\n'))).not.toThrow()
  expect(push(...Array.from({ length: 1000 }, () => 'data: x\n\n'))).not.toThrow()
})
