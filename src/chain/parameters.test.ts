import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { compilePlan } from './compile-plan.ts'
import { checkParameters, parameterEnvironment } from './parameters.ts'
import type { Plan } from './plan.ts'
import { sampleItem, shippedItem } from '../../test/fixtures/sample-item.ts'
import { openSchemas } from './schemas.ts'
import { TRUSTED } from '../../test/fixtures/trusted.ts'

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
    plan = {
      ...(await compilePlan(items, schemas)),
      item,
      items,
      links: [],
      chain: [],
      trust: TRUSTED,
      warnings: [],
    }
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
