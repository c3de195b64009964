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
      { kind: 'error', id: 1, code: -1, message: 'no' },
    ],
    [
      { jsonrpc: '2.0', id: 1, error: {} },
      { kind: 'error', id: 1, code: 0, message: '' },
    ],
    [
      { jsonrpc: '2.0', id: 'x', method: 'ping' },
      { kind: 'request', id: 'x', method: 'ping' },
    ],
    [
      { jsonrpc: '2.0', method: 'notifications/x' },
      { kind: 'notice', method: 'notifications/x' },
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

  test('whatever it is, it is a message or none, and never a failure', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
        const message = readMessage(line)
        expect(message === null || typeof message.kind === 'string').toBe(true)
      }),
    )
  })
})
