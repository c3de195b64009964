import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { compilePlan } from './compile-plan.ts'
import { assertNoOption, checkParameters, parameterArguments, parameterEnvironment } from './parameters.ts'
import type { Plan } from './plan.ts'
import { sampleItem, shippedItem } from '../../test/fixtures/sample-item.ts'
import { openSchemas } from './schemas.ts'

const schemas = openSchemas()

describe('T8: parameters are checked before the run', () => {
  let plan: Plan

  beforeAll(async () => {
    const item = sampleItem({
      tool_id: 'weather',
      tool_type: 'api',
      executor: 'http_client',
      config: { url: 'https://example.com' },
      parameters: [
        { name: 'city', type: 'string', required: true },
        { name: 'days', type: 'integer', default: 7 },
        { name: 'unit', enum: ['c', 'f'] },
      ],
    })
    const items = [item, await shippedItem('http_client')]
    const trust = { level: 4, links: [], refusal: null, unsigned: null, warnings: [] } as const
    plan = { ...(await compilePlan(items, schemas)), item, items, links: [], chain: [], trust, warnings: [] }
  })

  test('defaults are filled in, and what was given is left alone', () => {
    const given = Object.freeze({ city: 'Bern' })
    expect(checkParameters(plan, given)).toEqual({ city: 'Bern', days: 7 })
    expect(given).toEqual({ city: 'Bern' })
  })

  test.each<[JsonObject, JsonObject, string]>([
    [{}, { missing: ['city'], invalid: [] }, '"city" is missing'],
    [
      { city: 1 },
      { missing: [], invalid: [{ name: 'city', reason: 'must be string' }] },
      '"city" must be string',
    ],
    [
      { city: 'x', days: 1.5 },
      { missing: [], invalid: [{ name: 'days', reason: 'must be integer' }] },
      '"days" must be integer',
    ],
    [
      { city: 'x', unit: 'k' },
      { missing: [], invalid: [{ name: 'unit', reason: 'must be one of ["c","f"]' }] },
      '"unit" must be one of ["c","f"]',
    ],
    [
      { city: 'x', town: 'y' },
      { missing: [], invalid: [{ name: 'town', reason: 'is not known here' }] },
      '"town" is not known here',
    ],
    [
      { days: 'x' },
      { missing: ['city'], invalid: [{ name: 'days', reason: 'must be integer' }] },
      '"city" is missing; "days" must be integer',
    ],
  ])('S14: %j is refused by name', (given, details, faults) => {
    expect(() => checkParameters(plan, given)).toThrow(
      expect.objectContaining({
        code: 'INVALID_PARAMETERS',
        message: `Cannot run "weather": ${faults}`,
        details,
        fix: { call: 'load', arguments: { item_type: 'tool', item_id: 'weather' } },
      }),
    )
  })

  test('PAR-06: a key that would reach a prototype is one more unknown parameter', () => {
    const given: JsonObject = JSON.parse('{"city":"x","__proto__":{"isAdmin":true}}')
    expect(() => checkParameters(plan, given)).toThrow(
      expect.objectContaining({ code: 'INVALID_PARAMETERS' }),
    )
  })
})

describe('P4: parameters in the environment', () => {
  test.each<[string, JsonValue, string, string]>([
    ['email', 'a@b.c', 'KIWI_PARAM_EMAIL', 'a@b.c'],
    ['dry-run', true, 'KIWI_PARAM_DRY_RUN', 'true'],
    ['max.items', 3, 'KIWI_PARAM_MAX_ITEMS', '3'],
    ['naïve', 1.5, 'KIWI_PARAM_NA_VE', '1.5'],
    ['list', [1, 'a'], 'KIWI_PARAM_LIST', '[1,"a"]'],
    ['map', { a: { b: null } }, 'KIWI_PARAM_MAP', '{"a":{"b":null}}'],
    ['nothing', null, 'KIWI_PARAM_NOTHING', ''],
    ['empty', '', 'KIWI_PARAM_EMPTY', ''],
    ['PATH', '/evil', 'KIWI_PARAM_PATH', '/evil'],
    ['a=b', 'x', 'KIWI_PARAM_A_B', 'x'],
  ])('"%s" = %j', (name, value, variable, text) => {
    expect(parameterEnvironment({ [name]: value })).toEqual({ [variable]: text })
  })

  test.each([
    ['a-b', 'a_b'],
    ['name', 'NAME'],
    ['x.y', 'x y'],
  ])('ENV-07: "%s" and "%s" would be one variable, which is refused', (first, second) => {
    expect(() => parameterEnvironment({ [first]: 1, [second]: 2 })).toThrow(
      expect.objectContaining({
        code: 'INVALID_PARAMETERS',
        details: { missing: [], invalid: [{ name: second, reason: `clashes with "${first}"` }] },
      }),
    )
  })

  test('P4: a value over 32 KiB is left to standard input, counted in bytes', () => {
    const most = 'x'.repeat(LIMITS.environmentBytes)
    expect(parameterEnvironment({ a: most })).toEqual({ KIWI_PARAM_A: most })
    expect(
      parameterEnvironment({ a: `${most}x`, b: 'ü'.repeat(LIMITS.environmentBytes / 2 + 1), c: '1' }),
    ).toEqual({
      KIWI_PARAM_C: '1',
    })
  })

  test('ENV-07: whatever the names are, every variable carries the prefix and plain letters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (name) => {
        const parameters = Object.fromEntries([[name, 'x']])
        const [variable] = Object.keys(parameterEnvironment(parameters))
        expect(variable).toMatch(/^KIWI_PARAM_[A-Z0-9_]*$/)
      }),
    )
  })

  test('ENV-07: "__proto__" is a name like any other', () => {
    const parameters: JsonObject = JSON.parse('{"__proto__":"x"}')
    expect(parameterEnvironment(parameters)).toEqual({ KIWI_PARAM___PROTO__: 'x' })
  })
})

describe('R20: parameters on the command line', () => {
  const parameters = { b: '2', a: 'one two', list: [1], dash: '-x' }
  const line = (
    argsStyle: 'none' | 'flags' | 'equals' | 'positional',
    given: JsonObject = parameters,
    ...order: string[]
  ) =>
    parameterArguments({ argsStyle, parameterOrder: order.length === 0 ? Object.keys(given) : order }, given)

  test('none of them by default', () => {
    expect(line('none')).toEqual([])
  })

  test('as flags, a value that looks like an option tied to its name', () => {
    expect(line('flags')).toEqual(['--b', '2', '--a', 'one two', '--list', '[1]', '--dash=-x'])
    expect(line('flags', { n: -5, on: true, none: null })).toEqual(['--n=-5', '--on', 'true', '--none', ''])
  })

  test('with equals signs', () => {
    expect(line('equals')).toEqual(['--b=2', '--a=one two', '--list=[1]', '--dash=-x'])
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
