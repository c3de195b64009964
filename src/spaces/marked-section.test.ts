import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { setSection } from './marked-section.ts'

const set = (text: string, section: string): string => setSection(text, section, 'AGENTS.md')

test.each([
  ['', '<!-- kiwi:begin -->\nHi\n<!-- kiwi:end -->\n'],
  ['# Ours\n', '# Ours\n\n<!-- kiwi:begin -->\nHi\n<!-- kiwi:end -->\n'],
  ['# Ours', '# Ours\n\n<!-- kiwi:begin -->\nHi\n<!-- kiwi:end -->\n'],
  ['# Ours\n\n', '# Ours\n\n<!-- kiwi:begin -->\nHi\n<!-- kiwi:end -->\n'],
  ['# Ours\r\n', '# Ours\r\n\r\n<!-- kiwi:begin -->\r\nHi\r\n<!-- kiwi:end -->\r\n'],
])('X9: behind %j it is added once', (text, wanted) => {
  expect(set(text, 'Hi\n')).toBe(wanted)
})

test('X9: a later section takes the place of the earlier one, and the rest stays byte for byte', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '\n', '\r\n', ' ', '<!--', '-->', '$&', 'ü') })
  const section = text.filter((each) => each.trim() !== '')
  fc.assert(
    fc.property(text, text, section, section, (before, behind, first, second) => {
      const once = set(before, first) + behind
      expect(set(once, first)).toBe(once)
      const twice = set(once, second)
      expect(twice.startsWith(before)).toBe(true)
      expect(twice.endsWith(behind)).toBe(true)
      expect(set(twice, first)).toBe(once)
      expect(twice.match(/kiwi:begin/g)).toHaveLength(1)
    }),
  )
})

test.each([
  'x <!-- kiwi:begin --> y',
  '<!-- kiwi:end -->',
  '<!-- kiwi:end --><!-- kiwi:begin -->',
  '<!-- kiwi:begin --><!-- kiwi:end --><!-- kiwi:begin --><!-- kiwi:end -->',
])('X9: marks that do not fit are left to the person: %j', (text) => {
  expect(() => set(text, 'Hi')).toThrow(expect.objectContaining({ code: 'CONFLICT' }))
})
