import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import { parameterArguments } from './parameter-arguments.ts'
import { assertNoOption } from './parameters.ts'

describe('R20: parameters on the command line', () => {
  const parameters = { b: '2', a: 'one two', list: [1], dash: '-x' }
  const line = (
    argsStyle: 'none' | 'flags' | 'equals' | 'positional' | 'call',
    given: JsonObject = parameters,
    ...order: string[]
  ) =>
    parameterArguments(
      { argsStyle, parameterOrder: order.length === 0 ? Object.keys(given) : order, flagNames: {} },
      given,
    )

  test('none of them by default, nor when a function is called with them', () => {
    expect(line('none')).toEqual([])
    expect(line('call')).toEqual([])
  })

  test('as flags, a value that looks like an option tied to its name', () => {
    expect(line('flags')).toEqual(['--b', '2', '--a', 'one two', '--list', '1', '--dash=-x'])
    expect(line('flags', { n: -5, text: '' })).toEqual(['--n=-5', '--text', ''])
  })

  test('a switch stands alone or not at all, a list is repeated, null is left out, an object is JSON', () => {
    const given = { on: true, off: false, none: null, list: ['a', '-b', null], empty: [], object: { a: [1] } }
    expect(line('flags', given)).toEqual(['--on', '--list', 'a', '--list=-b', '--object', '{"a":[1]}'])
    expect(line('equals', given)).toEqual([
      '--on=true',
      '--off=false',
      '--list=a',
      '--list=-b',
      '--object={"a":[1]}',
    ])
  })

  test('an option is spelled as the script declares it; what it takes by position comes first', () => {
    const template = {
      argsStyle: 'flags' as const,
      parameterOrder: ['dry_run', 'count', 'file'],
      flagNames: { dry_run: '--dry-run', count: '-n', file: '' },
    }
    expect(parameterArguments(template, { file: 'a b', count: 2, dry_run: true })).toEqual([
      'a b',
      '--dry-run',
      '-n',
      '2',
    ])
    expect(() => parameterArguments(template, { file: '--force' })).toThrow('would be read as an option')
    expect(parameterArguments(template, { file: ['a', 'b'] })).toEqual(['a', 'b'])
  })

  test('an option may take all values of a list at once', () => {
    const template = { argsStyle: 'flags' as const, parameterOrder: ['a', 'b'], flagNames: { a: '--a...' } }
    expect(parameterArguments(template, { a: ['x', 'y'], b: ['x', 'y'] })).toEqual(
      '--a x y --b x --b y'.split(' '),
    )
    expect(parameterArguments(template, { a: [], b: null })).toEqual([])
    expect(parameterArguments(template, { a: 'x' })).toEqual(['--a', 'x'])
    expect(() => parameterArguments(template, { a: ['x', '--b'] })).toThrow('would be read as an option')
  })

  test('the path of the project is given to a script that declares an option for it', () => {
    const template = {
      argsStyle: 'flags' as const,
      parameterOrder: ['a'],
      flagNames: { project_path: '--project-path' },
    }
    expect(parameterArguments(template, { a: 1, project_path: '/x' }, '/project')).toEqual([
      '--a',
      '1',
      '--project-path',
      '/project',
    ])
    expect(parameterArguments(template, { a: 1 }, null)).toEqual(['--a', '1'])
    expect(parameterArguments({ ...template, flagNames: {} }, { a: 1 }, '/project')).toEqual(['--a', '1'])
  })

  test('with equals signs', () => {
    expect(line('equals')).toEqual(['--b=2', '--a=one two', '--list=1', '--dash=-x'])
  })

  test('by position, in the order of the manifest and not of the call', () => {
    expect(line('positional', { to: 'b', from: 'a' }, 'from', 'to')).toEqual(['a', 'b'])
    expect(line('equals', { to: 'b', from: 'a' }, 'from', 'to')).toEqual(['--from=a', '--to=b'])
    expect(line('positional', { from: 'a' }, 'from', 'to')).toEqual(['a'])
  })

  test.each(['flags', 'equals', 'positional'] as const)(
    'CMD-01: a name that the manifest does not declare is never an option: %s',
    (style) => {
      const given = { q: 'x', exec: 'rm -rf /', 'upload-pack': 'sh' }
      expect(line(style, given, 'q')).toEqual(line(style, { q: 'x' }, 'q'))
    },
  )

  test.each(['-rf', '--force', '-', '-c core.sshCommand=x', '-1e5', '-1.', '--1'])(
    'CMD-01: by position "%s" would be an option, and is refused by name',
    (value) => {
      expect(() => line('positional', { ref: value })).toThrow(
        expect.objectContaining({
          code: 'INVALID_PARAMETERS',
          details: { missing: [], invalid: [{ name: 'ref', reason: 'starts with "-"' }] },
        }),
      )
    },
  )

  test.each(['-5', '-0.25', '5', 'a-b', '', ' -x', '—x'])('"%s" is a value', (value) => {
    expect(() => assertNoOption('n', value)).not.toThrow()
    expect(line('positional', { n: value })).toEqual([value])
  })

  test('CMD-01: whatever a value holds, each parameter stays where it was put', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        expect(line('equals', { a, b }, 'a', 'b')).toEqual([`--a=${a}`, `--b=${b}`])
        const flags = line('flags', { a, b }, 'a', 'b')
        expect(
          flags.filter((text) => text.startsWith('-')).every((text) => /^--[ab](?:=-|$)/.test(text)),
        ).toBe(true)
      }),
    )
  })
})
