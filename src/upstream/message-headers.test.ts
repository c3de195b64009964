import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkRequest } from '../primitives/http/request.ts'
import { isStateless, messageHeaders, parameterHeaders } from './message-headers.ts'

const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }

describe('the headers of a message', () => {
  test('say what a request of the newer revision says itself', () => {
    const read = { id: 1, method: 'resources/read', params: { uri: 'a://b', _meta: meta } }
    expect(messageHeaders(read)).toEqual({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'resources/read',
      'mcp-name': 'a://b',
    })
  })

  test('are none for an older revision, a notice or an answer', () => {
    expect(messageHeaders({ id: 1, method: 'tools/list', params: {} })).toEqual({})
    expect(messageHeaders({ method: 'notifications/x', params: { _meta: meta } })).toEqual({})
    expect(messageHeaders({ id: 1, result: {} })).toEqual({})
    expect(['2025-11-25', '2026-07-28', null].map(isStateless)).toEqual([false, true, false])
  })

  test('hold the arguments that a schema names, wherever properties lead to them, and no others', () => {
    const schema = {
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        count: { type: 'integer', 'x-mcp-header': 'Count' },
        ratio: { type: 'number' },
        inner: { type: 'object', properties: { dry: { type: 'boolean', 'x-mcp-header': 'Dry' } } },
        list: { type: 'array', items: { type: 'string' }, default: [{ 'x-mcp-header': 'a value' }] },
      },
    }
    const given = { region: 'eu', count: 2, ratio: 0.5, inner: { dry: true }, list: ['a'] }
    expect(parameterHeaders('a', schema, given)).toEqual({
      'mcp-param-region': 'eu',
      'mcp-param-count': '2',
      'mcp-param-dry': 'true',
    })
    expect(parameterHeaders('a', schema, { count: null })).toEqual({})
    expect(parameterHeaders('a', true, given)).toEqual({})
  })

  test.each([
    ['an empty name', { a: { type: 'string', 'x-mcp-header': '' } }],
    ['a name with a space', { a: { type: 'string', 'x-mcp-header': 'My Region' } }],
    ['a name with a line break', { a: { type: 'string', 'x-mcp-header': 'a\nb' } }],
    ['a number', { a: { type: 'number', 'x-mcp-header': 'A' } }],
    ['a list', { a: { type: 'array', 'x-mcp-header': 'A' } }],
    ['an item of a list', { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } }],
    ['an alternative', { a: { anyOf: [{ type: 'string', 'x-mcp-header': 'A' }] } }],
    [
      'one name twice',
      { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } },
    ],
  ])('refuse a schema with %s', (_, properties) => {
    expect(() => parameterHeaders('x.y', { type: 'object', properties }, {})).toThrow(/^Cannot call "x.y": /)
  })

  test('hold any text in a form that a header can have and that can be read back', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'A' } } }
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (a) => {
        const headers = parameterHeaders('a', schema, { a })
        const request = { method: 'POST', url: 'http://x/', headers, body: null, isIdempotent: null }
        expect('failure' in checkRequest(request)).toBe(false)
        const text = headers['mcp-param-a'] ?? ''
        const [, coded] = /^=\?base64\?(.*)\?=$/.exec(text) ?? []
        expect(coded === undefined ? text : Buffer.from(coded, 'base64').toString('utf8')).toBe(
          Buffer.from(a).toString('utf8'),
        )
      }),
    )
  })
})
