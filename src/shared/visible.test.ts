import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { visible, visibleJson, visibleLine } from './visible.ts'

const HOSTILE = 'a\u001B[2J\r\nApprove? y\u202Eevil\u2066\u200B\u0085\u2028\u{E0041}\u007F\u3164'

test('APR-08: nothing in a text can end its line, turn its direction, move the cursor or hide', () => {
  for (const text of [visible(HOSTILE), visibleLine(HOSTILE.replaceAll('\n', ' '))])
    expect(text).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  expect(visible('\u001B[31m\n"')).toBe(String.raw`\u001b[31m\n\"`)
  expect(visible('\u202E')).toBe(String.raw`\u{202e}`)
  expect(visible('Grüße, 世界 🙂')).toBe('Grüße, 世界 🙂')
})

test('APR-08: of a value as JSON, only the lines between its parts are lines', () => {
  const text = visibleJson({ a: HOSTILE, b: ['x\ny'] })
  expect(text.split('\n')).toHaveLength(6)
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
})

test('APR-08: two texts that differ are shown differently', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, other) => {
      fc.pre(one !== other)
      return visible(one) !== visible(other)
    }),
  )
})
