import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonValue } from './json.ts'
import type { Segment, Values } from './template.ts'
import { compileTemplate, compileTree, renderText, renderTree, textOf } from './template.ts'

const PARAMETERS: ReadonlySet<string> = new Set(['name', 'count', 'list', 'max-age'])

const noVariables = (): never => {
  throw new Error('no variable was named')
}

const valuesOf = (parameters: Readonly<Record<string, JsonValue>>): Values => ({
  parameter: (name) => parameters[name],
  variable: noVariables,
})

const render = (source: string, parameters: Readonly<Record<string, JsonValue>> = {}): string =>
  renderText(compileTemplate(source, PARAMETERS), valuesOf(parameters))

/** Writes down what it was asked for, so that the form of a variable can be read in the result. */
const shown: Values = {
  parameter: (name) => `<${name}>`,
  variable: ({ name, form, operand }) => `<${name} ${form} ${operand}>`,
}

describe('P5: every form of a variable, in every place a template may stand', () => {
  const forms: readonly (readonly [string, string])[] = [
    ['${HOME}', '<HOME plain >'],
    ['${HOME:-/home/me}', '<HOME default /home/me>'],
    ['${HOME:-}', '<HOME default >'],
    ['${HOME:-a:-b}', '<HOME default a:-b>'],
    ['${HOME:+yes}', '<HOME alternate yes>'],
    ['${HOME:+}', '<HOME alternate >'],
    ['${_a1}', '<_a1 plain >'],
    ['a ${A} b ${B:-c} d', 'a <A plain > b <B default c> d'],
    ['${A}${B}', '<A plain ><B plain >'],
    ['{name}${A}{name}', '<name><A plain ><name>'],
    ['${A:-two\nlines}', '<A default two\nlines>'],
    ['$${A}', '${A}'],
    ['$${', '${'],
    ['$${A} ${A}', '${A} <A plain >'],
    ['$HOME $ {} { name }', '$HOME $ {} { name }'],
  ]
  const places: Readonly<Record<string, (text: string) => JsonValue>> = {
    'a text': (text) => text,
    'a list': (text) => ['x', text],
    'an object': (text) => ({ key: text }),
    'an object in a list in an object': (text) => ({ key: [{ inner: text, n: 1 }] }),
  }
  test.each(Object.entries(places))('in %s', (_, place) => {
    for (const [source, expected] of forms) {
      expect(renderTree(compileTree(place(source), PARAMETERS), shown)).toEqual(place(expected))
    }
  })
})

describe('ENV-04: what is no whole, flat form is an error and not text', () => {
  test.each([
    '${A:-${SECRET}}',
    '${A:+${SECRET}}',
    '${A:-$${SECRET}}',
    '${A:-{name}}',
    '${A:+{"x": 1}}',
    '${}',
    '${A',
    '${1A}',
    '${A B}',
    '${ A }',
    '${A:?message}',
    '${A-default}',
    '${{name}}',
    'text ${A} ${',
  ])('%s', (source) => {
    expect(() => compileTemplate(source, PARAMETERS)).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining('${') }),
    )
  })

  test('also deep inside a body', () => {
    expect(() => compileTree({ a: [{ b: '${A:-${B}}' }] }, PARAMETERS)).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG' }),
    )
  })
})

describe('a parameter', () => {
  test('is put in wherever it stands, as often as it stands there', () => {
    expect(render('{name}-{count}/{name}', { name: 'a', count: 3 })).toBe('a-3/a')
    expect(render('{max-age}', { 'max-age': 60 })).toBe('60')
  })

  test('an unknown {word} stays text, and what stands in it is still read', () => {
    expect(render('{nobody} {} {name {name}} {"a": {name}}', { name: 'x' })).toBe(
      '{nobody} {} {name x} {"a": x}',
    )
    expect(render('{constructor} {__proto__}')).toBe('{constructor} {__proto__}')
  })

  test('a parameter that was not given is nothing', () => {
    expect(render('[{name}]')).toBe('[]')
    expect(render('[{name}]', { name: null })).toBe('[]')
  })

  test.each([
    ['text', 'text'],
    [12.5, '12.5'],
    [true, 'true'],
    [{ a: [1] }, '{"a":[1]}'],
    [['x', 1], '["x",1]'],
    [null, ''],
    [undefined, ''],
  ])('as text %j is %j', (value, expected) => {
    expect(textOf(value)).toBe(expected)
  })
})

/** Text in which everything that means something in a template is frequent. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom('${HOME}', '${A:-b}', '{name}', '{count}', '$${', '${', '}', '{', '$', '\0', '\n'),
      fc.string({ unit: 'binary', maxLength: 8 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

describe('what is put in is never read again', () => {
  test('N3, ENV-01: any text survives in a text, a list and an object, and names no variable', () => {
    fc.assert(
      fc.property(hostile, hostile, (name, count) => {
        const values = valuesOf({ name, count })
        const source = { both: '<{name}|{count}>', list: ['{name}', 'a{count}'] }
        expect(renderTree(compileTree(source, PARAMETERS), values)).toEqual({
          both: `<${name}|${count}>`,
          list: [name, `a${count}`],
        })
      }),
    )
  })

  test('N3: the value of a variable is text as well', () => {
    const values: Values = { parameter: () => '${A}', variable: () => '{name} ${B}' }
    expect(renderText(compileTemplate('${A} {name}', PARAMETERS), values)).toBe('{name} ${B} ${A}')
  })

  test('P5: with ${ written as $${ any text without parameters stands for itself', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const escaped = text.replaceAll('${', () => '$${')
        expect(renderText(compileTemplate(escaped, new Set()), valuesOf({}))).toBe(text)
      }),
    )
  })

  test('a template remembers its source, and compiling leaves nothing behind', () => {
    const first = compileTemplate('a {name} ${B}', PARAMETERS)
    expect(() => compileTemplate('{name} ${', PARAMETERS)).toThrow()
    const segments: readonly Segment[] = [
      { kind: 'text', text: 'a ' },
      { kind: 'parameter', name: 'name' },
      { kind: 'text', text: ' ' },
      { kind: 'variable', name: 'B', form: 'plain', operand: '' },
    ]
    expect(compileTemplate('a {name} ${B}', PARAMETERS)).toEqual(first)
    expect(first).toEqual({ source: 'a {name} ${B}', segments })
  })
})

describe('a tree', () => {
  test('P6: a text that is exactly {param} keeps the type of the parameter', () => {
    const tree = compileTree(
      { text: ['{name}'], n: '{count}', list: '{list}', mixed: 'n={count}', absent: '{max-age}' },
      PARAMETERS,
    )
    expect(renderTree(tree, valuesOf({ name: 'a', count: 7, list: [1, { b: null }] }))).toEqual({
      text: ['a'],
      n: 7,
      list: [1, { b: null }],
      mixed: 'n=7',
      absent: null,
    })
  })

  test('P6: any JSON value passes through {param} unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same type, without readonly
        const given = value as JsonValue
        expect(renderTree(compileTree({ a: ['{name}'] }, PARAMETERS), valuesOf({ name: given }))).toEqual({
          a: [given],
        })
      }),
    )
  })

  test('what holds no template is shared between calls, not built again', () => {
    const tree = compileTree({ fixed: { a: [1, 'x', null, true] }, open: '{name}' }, PARAMETERS)
    const [one, two] = [renderTree(tree, valuesOf({ name: 'a' })), renderTree(tree, valuesOf({ name: 'b' }))]
    expect(one).toEqual({ fixed: { a: [1, 'x', null, true] }, open: 'a' })
    expect(Reflect.get(Object(one), 'fixed')).toBe(Reflect.get(Object(two), 'fixed'))
    expect(compileTree({ a: ['plain', { b: '' }] }, PARAMETERS).kind).toBe('constant')
  })

  test('an escape in a constant is undone', () => {
    expect(compileTree({ a: '$${HOME}' }, PARAMETERS)).toEqual({
      kind: 'constant',
      value: { a: '${HOME}' },
    })
  })

  test('keys are data: they are kept as they are', () => {
    expect(renderTree(compileTree({ '{name}': '{name}' }, PARAMETERS), valuesOf({ name: 'a' }))).toEqual({
      '{name}': 'a',
    })
  })
})
