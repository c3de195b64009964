import { expect, test } from 'vitest'
import { asItCame, heldAsText, readMessage, unmarked } from './read-message.ts'

const MANY = 120_000
const object = (count: number): string =>
  `{${Array.from({ length: count }, (_, at) => `"key${at}":"a,{\\"[${at}"`).join(',')}}`
const answer = (result: string): string => `{"result":${result},"jsonrpc":"2.0","id":7}`
const resultOf = (text: string): ReturnType<typeof unmarked> => {
  const message = readMessage(text)
  if (message?.kind !== 'result') throw new Error('no result')
  return unmarked(message.result)
}

test('S12: a part of a result with very many values is text, and can be had whole', () => {
  const structured = object(MANY)
  const text = answer(`{"content":[{"type":"text","text":"x"}],"\\u0073tructuredContent":${structured}}`)
  const { result, asText } = resultOf(text)
  expect(asText).toEqual(['structuredContent'])
  expect(result['structuredContent'] === structured).toBe(true)
  expect(result['content']).toEqual([{ type: 'text', text: 'x' }])
  expect('_meta' in result).toBe(false)
  const message = readMessage(text)
  const whole = message?.kind === 'result' ? asItCame(message.result) : null
  expect(heldAsText(message?.kind === 'result' ? message.result : {})).toBe(MANY - 1)
  expect(Object.keys(whole?.['structuredContent'] ?? {})).toHaveLength(MANY)
})

test('S12: what is large and holds few values stays as it is', () => {
  const long = 'x,{['.repeat(600_000)
  const { result, asText } = resultOf(answer(JSON.stringify({ content: [{ type: 'text', text: long }] })))
  expect(asText).toEqual([])
  expect(result).toEqual({ content: [{ type: 'text', text: long }] })
})

test.each([
  ['the result itself', answer(object(250_000))],
  ['something else', `{"id":7,"jsonrpc":"2.0","result":{},"other":${object(250_000)}}`],
])('S12: very many values in %s are refused, and whoever waits hears it', (_, text) => {
  expect(readMessage(text)).toEqual({ kind: 'error', id: 7, error: 'too_much' })
})
