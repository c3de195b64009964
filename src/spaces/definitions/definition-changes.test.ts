import { expect, test } from 'vitest'
import type { JsonObject } from '../../shared/json.ts'
import { definitionDiff } from './definition-changes.ts'

const before: JsonObject = {
  name: 'add',
  description: 'Adds',
  inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
}

test('X5: a difference shows what changed, and no keys that only stand in another order', () => {
  const raw = {
    inputSchema: { properties: { b: { type: 'number' }, a: { type: 'string' } }, type: 'object' },
    description: 'Adds',
    name: 'add',
    title: 'new',
  }
  const lines = definitionDiff({ raw, approved: before }).split('\n')
  expect(lines.filter((line) => /^[+-]/.test(line)).map((line) => line.replaceAll(' ', ''))).toEqual([
    '-"type":"number"',
    '+"type":"string"',
    '-}',
    '+},',
    '+"title":"new"',
  ])
})

test('X5: what nobody has seen yet is shown as it came', () => {
  const shown = definitionDiff({ raw: { b: 1, a: [{ d: 1, c: 2 }] }, approved: null })
  expect(shown.match(/"[a-d]"/g)?.join('')).toBe('"b""a""d""c"')
})
