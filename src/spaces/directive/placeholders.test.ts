import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fillPlaceholders, fillValue } from './placeholders.ts'

const INPUTS = { x: 'v', n: 5, list: ['a', 'b'], empty: '' }

describe('placeholders of a directive', () => {
  test.each([
    ['{x}', 'v'],
    ['{{x}} and {{ x }}', 'v and v'],
    ['{input:x}', 'v'],
    ['${inputs.x}', 'v'],
    ['${inputs.x ?? "d"}', 'v'],
    ['${inputs.unset ?? "d"}', 'd'],
    ["${inputs.unset ?? 'd e'}", 'd e'],
    ['a {unset} b {{unset}}${inputs.unset}', 'a  b '],
    ['${json(inputs.unset)}', 'null'],
    ['${json(inputs.x)} ${json(inputs.list)}', '"v" ["a","b"]'],
    ['{n} {list} [{empty}]', '5 ["a","b"] []'],
    [
      '{other} ${inputs.other} ${inputs.other ?? "d"} ${HOME} {input:other}',
      '{other} ${inputs.other} ${inputs.other ?? "d"} ${HOME} {input:other}',
    ],
    ['{constructor} {__proto__} {"x": 1} { x }', '{constructor} {__proto__} {"x": 1} { x }'],
    ['${inputs.x | upper} ${run(inputs.x)}', '${inputs.x | upper} ${run(inputs.x)}'],
  ])('D2: %s', (text, filled) => {
    expect(fillPlaceholders(text, INPUTS, [...Object.keys(INPUTS), 'unset'])).toBe(filled)
  })

  test('D2: an input may be named in any script', () => {
    const inputs = { 話題: '天気', שם: 'דוד', नाम: 'अदा' }
    expect(fillPlaceholders('{話題}について {{שם}} ${inputs.नाम} {天気}', inputs)).toBe(
      '天気について דוד अदा {天気}',
    )
    expect(fillValue({ a: '{話題}', b: '{無}' }, { ...inputs, 無: null })).toEqual({ a: '天気' })
  })

  test('D2: a value that holds a placeholder is never filled again', () => {
    const name = fc.constantFrom('a', 'b', 'c')
    const text = fc
      .array(
        fc.oneof(
          name.map((one) => `{${one}}`),
          fc.string({ maxLength: 5 }).map((one) => one.replaceAll(/[{}$]/g, '')),
        ),
      )
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, text, text, (template, a, b) => {
        const filled = fillPlaceholders(template, { a, b }, ['a', 'b', 'c'])
        const parts = template.split(/(\{[abc]\})/)
        expect(filled).toBe(parts.map((part) => ({ '{a}': a, '{b}': b, '{c}': '' })[part] ?? part).join(''))
      }),
    )
  })

  test('D2: in parameters what was not given is left out, so that the default of the tool counts', () => {
    const given = { a: '{unset}', b: ['{unset}', 'x{unset}'], c: '{other}' }
    expect(fillValue(given, {}, ['unset'])).toEqual({ b: ['x'], c: '{other}' })
  })

  test.each(['{N}', '{{N}}', '{{ N }}', '{input:N}', '${inputs.N}', '${ inputs.N }'])(
    'D2: in parameters %s alone is the value, in whichever form, and nothing where it was not given',
    (form) => {
      const of = (name: string): string => form.replace('N', name)
      const given = { a: of('list'), b: [of('n'), of('unset')], c: of('unset'), d: of('other') }
      expect(fillValue(given, INPUTS, [...Object.keys(INPUTS), 'unset'])).toEqual({
        a: ['a', 'b'],
        b: [5],
        d: of('other'),
      })
    },
  )

  test('D2: in parameters a value of its own counts where none was given, and JSON is always a text', () => {
    const given = { a: '${inputs.unset ?? "d"}', b: '${inputs.n ?? "d"}', c: '${json(inputs.n)}' }
    expect(fillValue(given, INPUTS, ['n', 'unset'])).toEqual({ a: 'd', b: 5, c: '5' })
  })

  test('D2: in parameters a text that is one placeholder becomes its value', () => {
    expect(
      fillValue({ a: '{list}', b: ['{n}', 'n={n}', '{other}'], c: null, d: { e: '{empty}' } }, INPUTS),
    ).toEqual({
      a: ['a', 'b'],
      b: [5, 'n=5', '{other}'],
      c: null,
      d: { e: '' },
    })
  })
})
