import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readMessage } from './read-message.ts'

describe('a line of an upstream', () => {
  test.each([
    [
      { jsonrpc: '2.0', id: 1, result: { a: 1 } },
      { kind: 'result', id: 1, result: { a: 1 } },
    ],
    [
      { jsonrpc: '2.0', id: 1, error: { code: -1, message: 'no' } },
      { kind: 'error', id: 1, error: { code: -1, message: 'no' } },
    ],
    [
      { jsonrpc: '2.0', id: 1, error: {} },
      { kind: 'error', id: 1, error: { code: 0, message: '' } },
    ],
    [
      { jsonrpc: '2.0', id: 'x', method: 'ping' },
      { kind: 'request', id: 'x', method: 'ping', params: {} },
    ],
    [
      { jsonrpc: '2.0', method: 'notifications/x', params: { a: 1 } },
      { kind: 'notice', method: 'notifications/x', params: { a: 1 } },
    ],
    [{ jsonrpc: '2.0', id: {}, method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: 'text', result: {} }, null],
    [{ jsonrpc: '2.0', id: 1, result: [] }, null],
    [{ jsonrpc: '2.0', id: 1 }, null],
    [{ id: 1, result: {} }, null],
    [[], null],
  ])('%j is %j', (message, read) => {
    expect(readMessage(JSON.stringify(message))).toEqual(read)
  })

  test.each([
    [
      'an answer fails',
      (deep: string) => `{"jsonrpc":"2.0","id":1,"result":{"a":${deep}}}`,
      { kind: 'error', id: 1, error: 'too_deep' },
    ],
    ['a notice is none', (deep: string) => `{"jsonrpc":"2.0","method":"x","params":{"a":${deep}}}`, null],
    [
      'a request is none',
      (deep: string) => `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":${deep}}}`,
      null,
    ],
  ])('nested too deep, %s; depth itself costs nothing', (_, line, read) => {
    for (const levels of [100, 100_000]) {
      expect(readMessage(line('['.repeat(levels) + ']'.repeat(levels)))).toEqual(read)
    }
    expect(readMessage(line('['.repeat(60) + ']'.repeat(60)))).not.toEqual(read)
  })

  test('keys that reach a prototype stay keys', () => {
    const message = readMessage(
      '{"jsonrpc":"2.0","id":1,"result":{"__proto__":{"polluted":1},"constructor":{}}}',
    )
    expect(message).toMatchObject({ kind: 'result', id: 1 })
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
    expect(readMessage('{"__proto__":{"jsonrpc":"2.0","id":1,"result":{}}}')).toBeNull()
  })

  test('whatever it is, it is a message or none, and never a failure', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
        const message = readMessage(line)
        expect(message === null || typeof message.kind === 'string').toBe(true)
      }),
    )
  })
})

test.each([
  ['before it', (deep: string) => `{"jsonrpc":"2.0","id":7,"result":{"a":${deep}}}`],
  ['behind it', (deep: string) => `{"jsonrpc":"2.0","result":{"a":${deep}},"id":7}`],
])('R-08: what is nested without end answers what stands %s', (_, line) => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  expect(readMessage(line(deep))).toEqual({ kind: 'error', id: 7, error: 'too_deep' })
})

test('R-08: brackets within texts are no depth', () => {
  const text = `${'\\"[{'.repeat(10_000)}\\\\`
  const said = JSON.parse(`"${text}"`)
  expect(readMessage(`{"jsonrpc":"2.0","id":7,"result":{"a":"${text}"}}`)).toEqual({
    kind: 'result',
    id: 7,
    result: { a: said },
  })
})
