import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { deepFreeze, isJsonObject } from '../shared/json.ts'
import type { ConfigLayer } from './merge.ts'
import { merge, mergeConfigs } from './merge.ts'

const layer = (id: string, config: JsonObject, locked: readonly string[] = []): ConfigLayer => ({
  id,
  config,
  locked,
})

/** Objects of objects and scalars, with few names so that they meet. */
const { config: configs } = fc.letrec<{ config: JsonObject; value: JsonValue }>((tie) => ({
  config: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }),
  value: fc.oneof(
    { maxDepth: 3 },
    fc.integer({ min: 0, max: 3 }),
    fc.constantFrom('x', true),
    fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }),
    tie('config'),
  ),
}))

const at = (config: JsonValue | undefined, path: readonly string[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>((value, key) => (isJsonObject(value) ? value[key] : undefined), config)

/** Every path to something that is not an object with keys. */
function leaves(
  value: JsonValue,
  path: readonly string[] = [],
): { path: readonly string[]; value: JsonValue }[] {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return [{ path, value }]
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]))
}

test('C3: the merged example of the first seed comes out exactly', () => {
  const merged = mergeConfigs([
    layer('subprocess', {}),
    layer('python_runtime', { command: 'python3', timeout: 300, venv: { enabled: true } }),
    layer('email_enricher', {
      entrypoint: 'main.py',
      timeout: 600,
      env: { PYTHONPATH: '/app', DEBUG: '1' },
    }),
  ])
  expect(merged).toEqual({
    command: 'python3',
    entrypoint: 'main.py',
    timeout: 600,
    venv: { enabled: true },
    env: { PYTHONPATH: '/app', DEBUG: '1' },
  })
})

test('C3: entries of both levels stand side by side in a merged object', () => {
  expect(merge({ env: { A: '1', B: '1' } }, { env: { B: '2', C: '2' } })).toEqual({
    env: { A: '1', B: '2', C: '2' },
  })
})

test.each<[string, JsonObject, JsonObject, JsonObject]>([
  ['a list replaces a list', { args: ['a', 'b'] }, { args: ['c'] }, { args: ['c'] }],
  ['an object replaces a scalar', { a: 1 }, { a: { b: 1 } }, { a: { b: 1 } }],
  ['a scalar replaces an object', { a: { b: 1 } }, { a: 1 }, { a: 1 }],
  ['a list replaces an object', { a: { b: 1 } }, { a: [] }, { a: [] }],
  ['null removes a key', { a: 1, b: 2 }, { a: null }, { b: 2 }],
  ['null removes a nested key', { env: { A: '1', B: '2' } }, { env: { A: null } }, { env: { B: '2' } }],
  ['null removes a whole object', { env: { A: '1' }, b: 1 }, { env: null }, { b: 1 }],
  [
    'false and 0 and empty text are values',
    { a: 1, b: true, c: 'x' },
    { a: 0, b: false, c: '' },
    { a: 0, b: false, c: '' },
  ],
  ['a null in a body that nobody set is data', {}, { body: { due: null } }, { body: { due: null } }],
  ['names of methods are plain names', { a: 1 }, { toString: { b: 1 } }, { a: 1, toString: { b: 1 } }],
])('C3: %s', (_, base, over, expected) => {
  expect(merge(base, over)).toEqual(expected)
})

test.each(['__proto__', 'constructor', 'prototype'])('C3, PAR-06: "%s" is refused as a key', (key) => {
  const nested: JsonObject[] = [
    `{"${key}":{"isAdmin":true}}`,
    `{"a":{"${key}":{}}}`,
    `{"a":[{"b":{"${key}":1}}]}`,
  ].map((text) => JSON.parse(text))
  for (const config of nested) {
    expect(() => merge({}, config)).toThrow(expect.objectContaining({ code: 'INVALID_CONFIG' }))
    expect(() => merge({ a: { b: 1 } }, config)).toThrow(`"${key}" is not allowed as a key`)
  }
  expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined()
})

describe('C3: what a merge keeps', () => {
  test('the child wins at every place it speaks of', () => {
    fc.assert(
      fc.property(configs, configs, (base, over) => {
        const merged = merge(base, over)
        for (const { path, value } of leaves(over)) {
          // An empty object adds nothing to an object that is there.
          if (isJsonObject(value) && isJsonObject(at(base, path))) continue
          expect(at(merged, path)).toEqual(value)
        }
      }),
    )
  })

  test('what the child does not speak of stays', () => {
    fc.assert(
      fc.property(configs, configs, (base, over) => {
        const merged = merge(base, over)
        for (const key of Object.keys(base)) {
          if (!Object.hasOwn(over, key)) expect(merged[key]).toBe(base[key])
        }
        expect(Object.keys(merged).toSorted()).toEqual(
          [...new Set([...Object.keys(base), ...Object.keys(over)])].toSorted(),
        )
      }),
    )
  })

  test('merging with nothing, or with itself, changes nothing', () => {
    fc.assert(
      fc.property(configs, (config) => {
        expect(merge(config, {})).toBe(config)
        expect(merge({}, config)).toEqual(config)
        expect(merge(config, config)).toBe(config)
      }),
    )
  })

  test('it does not matter which pair is merged first, as long as objects meet objects', () => {
    const shaped = fc.record(
      {
        a: fc.integer(),
        b: fc.record(
          { c: fc.integer(), d: fc.record({ e: fc.boolean() }, { requiredKeys: [] }) },
          { requiredKeys: [] },
        ),
        f: fc.array(fc.integer(), { maxLength: 2 }),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(shaped, shaped, shaped, (a, b, c) => {
        expect(merge(merge(a, b), c)).toEqual(merge(a, merge(b, c)))
      }),
    )
  })

  test('neither side is changed, and what did not change is shared', () => {
    fc.assert(
      fc.property(configs, configs, (base, over) => {
        const before = structuredClone({ base, over })
        merge(deepFreeze(base), deepFreeze(over))
        expect({ base, over }).toEqual(before)
      }),
    )
    const base = { env: { A: '1' }, venv: { enabled: true } }
    expect(merge(base, { env: { B: '2' } })['venv']).toBe(base.venv)
  })

  test('layers count from the primitive to the leaf', () => {
    expect(
      mergeConfigs([layer('p', { a: 1, b: 1, c: 1 }), layer('r', { b: 2, c: 2 }), layer('s', { c: 3 })]),
    ).toEqual({
      a: 1,
      b: 2,
      c: 3,
    })
    expect(mergeConfigs([])).toEqual({})
  })
})

describe('N11: a child never loosens what its executor protects', () => {
  const refused = (runtime: ConfigLayer, config: JsonObject): JsonObject | Error => {
    try {
      return mergeConfigs([runtime, layer('child', config)])
    } catch (error) {
      return error instanceof Error ? error : new Error('not an error')
    }
  }

  test('CHN-03: command and arguments of a runtime are locked, and the error names key and owner', () => {
    const runtime = layer('python_runtime', { command: 'python3', args: ['{entrypoint}'] }, [
      'command',
      'args',
    ])
    const attack = { command: '/bin/sh', args: ['-c', 'id'] }
    expect(refused(runtime, attack)).toMatchObject({
      code: 'INVALID_CONFIG',
      message: 'Cannot merge config of "child": it changes "command", which "python_runtime" protects',
      details: { key: 'command', protected_by: 'python_runtime', tool: 'child' },
    })
    expect(refused(runtime, { args: ['-c', 'id'] })).toMatchObject({ details: { key: 'args' } })
    expect(refused(runtime, { args: null })).toMatchObject({ details: { key: 'args' } })
  })

  test('a key may be locked before anybody sets it', () => {
    expect(refused(layer('r', {}, ['cwd']), { cwd: '/' })).toMatchObject({ details: { key: 'cwd' } })
  })

  test('the value that stands may be said again', () => {
    const runtime = layer('r', { command: 'python3', env: { A: '1', B: '2' } }, ['command', 'env'])
    expect(refused(runtime, { command: 'python3', env: { B: '2' } })).toEqual(runtime.config)
  })

  test.each<[string, JsonObject]>([
    ['the key itself', { venv: { required: false } }],
    ['null for the key', { venv: { required: null } }],
    ['null for the object around it', { venv: null }],
    ['a scalar for the object around it', { venv: true }],
    ['a list for the object around it', { venv: [] }],
  ])('a nested lock holds against %s', (_, config) => {
    const runtime = layer('r', { venv: { required: true } }, ['venv.required'])
    expect(refused(runtime, config)).toMatchObject({
      code: 'INVALID_CONFIG',
      details: { key: 'venv.required' },
    })
  })

  test('beside a nested lock the child is free', () => {
    const runtime = layer('r', { venv: { required: true } }, ['venv.required'])
    expect(refused(runtime, { venv: { enabled: true } })).toEqual({ venv: { required: true, enabled: true } })
  })

  test('a lock holds for every layer below, and the child can add its own', () => {
    const [runtime, middle] = [layer('r', { command: 'a' }, ['command']), layer('m', { cwd: '/m' }, ['cwd'])]
    expect(() => mergeConfigs([runtime, middle, layer('s', { command: 'b' })])).toThrow('which "r" protects')
    expect(() => mergeConfigs([runtime, middle, layer('s', { cwd: '/s' })])).toThrow('which "m" protects')
  })

  test.each<[string, JsonObject]>([
    ['on', { inherit_env: true }],
    ['to null', { inherit_env: null }],
    ['to a text', { inherit_env: 'yes' }],
  ])('inherit_env that is off cannot be switched %s', (_, config) => {
    expect(refused(layer('r', { inherit_env: false }), config)).toMatchObject({
      code: 'INVALID_CONFIG',
      details: { key: 'inherit_env', tool: 'child' },
    })
  })

  test('inherit_env may be switched off, and on where nobody switched it off', () => {
    expect(refused(layer('r', { inherit_env: true }), { inherit_env: false })).toEqual({ inherit_env: false })
    expect(refused(layer('r', {}), { inherit_env: true })).toEqual({ inherit_env: true })
    expect(refused(layer('r', { inherit_env: false }), { inherit_env: false })).toEqual({
      inherit_env: false,
    })
  })

  test.each<[string, JsonObject]>([
    ['raised', { timeout_max: 61 }],
    ['removed', { timeout_max: null }],
  ])('a ceiling of time cannot be %s', (_, config) => {
    expect(refused(layer('r', { timeout_max: 60 }), config)).toMatchObject({
      code: 'INVALID_CONFIG',
      details: { key: 'timeout_max' },
    })
  })

  test('a ceiling of time can be lowered, and a timeout over it is refused by name', () => {
    const runtime = layer('r', { timeout_max: 60 })
    expect(refused(runtime, { timeout_max: 30, timeout: 30 })).toEqual({ timeout_max: 30, timeout: 30 })
    expect(refused(runtime, { timeout: 61 })).toMatchObject({
      code: 'INVALID_CONFIG',
      message: 'Cannot merge config of "child": "timeout" is over the timeout_max of 60',
    })
    expect(refused(runtime, { timeout_max: 30, timeout: 31 })).toMatchObject({ code: 'INVALID_CONFIG' })
  })

  test('whatever the child says, a locked value is what the runtime set', () => {
    fc.assert(
      fc.property(configs, configs, fc.constantFrom('a', 'b', 'a.b', 'a.b.c'), (base, over, key) => {
        const path = key.split('.')
        const merged = refused(layer('r', base, [key]), over)
        if (merged instanceof Error) return
        expect(at(merged, path)).toEqual(at(base, path))
      }),
    )
  })
})
