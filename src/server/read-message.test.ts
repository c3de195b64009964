import { expect, test } from 'vitest'
import { LIMITS } from '../shared/limits.ts'
import { readMessage } from './read-message.ts'

const read = (text: string): ReturnType<typeof readMessage> => readMessage(Buffer.from(text))

test('a message is what its JSON says', () => {
  expect(read('{"a":[1,"\u00E9"]}')).toEqual({ value: { a: [1, '\u00E9'] } })
})

test.each([
  ['HTTP-13', '{"a":1,"a":2}', -32_600],
  ['PAR-02', '['.repeat(LIMITS.nesting + 1), -32_600],
  ['HTTP-11', '{"a":', -32_700],
  ['HTTP-11', '', -32_700],
  ['PAR-12', '\uFEFF{}', -32_700],
])('%s: %s is refused with %d', (_, text, code) => {
  expect(read(text)).toMatchObject({ fault: { code } })
})

test('a refused request is answered under its id, where that can be read', () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000)
  expect(read(`{"id":7,"params":${deep}}`)).toMatchObject({ fault: { id: 7, code: -32_600 } })
  expect(read('{"id":"a","x":1,"x":2}')).toMatchObject({ fault: { id: 'a' } })
  expect(read('{"id":{},"x":1,"x":2}')).toMatchObject({ fault: { id: undefined } })
  expect(read('{"id":7,')).toMatchObject({ fault: { code: -32_700 } })
})

test('PAR-12: bytes that are not UTF-8 are refused, not mended', () => {
  expect(readMessage(Buffer.from([0x22, 0xff, 0x22]))).toMatchObject({ fault: { code: -32_700 } })
  expect(readMessage(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toMatchObject({ fault: { code: -32_700 } })
})
