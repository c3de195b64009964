import { expect, test } from 'vitest'
import { faultLines, printable, printableText, table } from './terminal.ts'

const ESC = '\u001B'

test.each([
  [`${ESC}[31mred${ESC}[0m`, '?[31mred?[0m'],
  ['\u009B2Jgone', '?2Jgone'],
  ['a\nb\r\n\tc', 'a b c'],
  ['a\u2028b\u2029c', 'a b c'],
  ['\u0000\u0007\u007F', '???'],
  ['a\u202Egnp.exe', 'a?gnp.exe'],
  ['caf\u00E9 \u65E5\u672C \u{1F95D}', 'caf\u00E9 \u65E5\u672C \u{1F95D}'],
])('AUD-05: %j is shown as %j', (text, shown) => {
  expect(printable(text)).toBe(shown)
})

test('AUD-05: a text keeps its lines and tabs, and nothing else that steers a terminal', () => {
  expect(printableText(`# a\r\n\tb${ESC}[2J\u009B\rc\n`)).toBe('# a\n\tb?[2J??c\n')
})

test('AUD-05: a cell stays in its row, and styles come after it was cleaned and measured', () => {
  const bold = (text: string): string => `<${text}>`
  expect(
    table(
      [
        ['a\nb', `${ESC}x`, 'last'],
        ['longer', 'y', 'run on'],
      ],
      { 0: bold },
    ),
  ).toBe('<a b   >  ?x  last\n<longer>  y   run on')
})

test('T6: what is wrong is told line by line: fields, and what the rules of a chain found', () => {
  const rule = { rule: 'syntax_check', tool: 'python_runtime' }
  const findings = [
    { ...rule, path: 'main.py', line: 3, reason: 'invalid syntax' },
    { ...rule, path: 'lib/a.py', line: null, reason: 'cannot be read' },
    { ...rule, path: null, line: null, reason: 'the manifest has no entrypoint' },
  ]
  expect(faultLines({ findings })).toEqual([
    'main.py:3: invalid syntax',
    'lib/a.py: cannot be read',
    'the manifest has no entrypoint',
  ])
  expect(faultLines({ invalid: [{ name: '', reason: 'has no key "levl"' }] })).toEqual(['has no key "levl"'])
  expect(faultLines({ missing: ['name'], invalid: [{ name: 'age', reason: 'must be a number' }] })).toEqual([
    'name: is missing',
    'age: must be a number',
  ])
  expect(faultLines({ findings: 'none' })).toEqual([])
  expect(faultLines(null)).toEqual([])
})

test('a row that ends in empty cells ends where its text does', () => {
  expect(
    table([
      ['a', 'long', ''],
      ['b', '', ''],
      ['c', 'd', 'e'],
    ]),
  ).toBe('a  long\nb\nc  d     e')
})
