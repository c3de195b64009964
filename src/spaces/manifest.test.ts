import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { ToolType } from '../shared/tool-type.ts'
import { TOOL_TYPES } from '../shared/tool-type.ts'
import type { Manifest } from './manifest.ts'
import { checkExecutor, invalidManifest, readManifest } from './manifest.ts'
import type { Origin } from './normalise-manifest.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'

const NOWHERE: Origin = { stem: null, category: null }
const PLAIN: JsonObject = {
  tool_id: 'a',
  tool_type: 'script',
  executor: 'bash_runtime',
  version: '1.0.0',
  description: 'd',
}

const read = (given: JsonObject, origin = NOWHERE): Manifest =>
  readManifest({ ...PLAIN, ...given }, origin).manifest
const warningsOf = (given: JsonObject): readonly string[] =>
  readManifest({ ...PLAIN, ...given }, NOWHERE).warnings

/** The names of the fields that are refused. */
function faultsOf(given: JsonObject): readonly unknown[] {
  try {
    readManifest({ ...PLAIN, ...given }, NOWHERE)
  } catch (error) {
    if (!(error instanceof KiwiError) || error.code !== 'INVALID_MANIFEST') throw error
    const { invalid } = error.details
    return Array.isArray(invalid) ? invalid.map(({ name }: { name: unknown }) => name) : []
  }
  return []
}

describe('T8: the fields of a manifest', () => {
  test('all of them are read, and what is left out has its default', () => {
    const whole: JsonObject = {
      ...PLAIN,
      category: 'web/mail',
      tags: ['a', 'b'],
      config: { entrypoint: 'main.sh' },
      parameters: [
        {
          name: 'email',
          type: 'string',
          required: true,
          default: 'x',
          enum: ['x', 'y'],
          description: 'who',
          pattern: '^x',
        },
      ],
      input_schema: { type: 'object' },
      outputs: { type: 'object' },
      validation: { rules: [] },
      capabilities: ['spawn'],
      config_schema: { type: 'object' },
      mutates_state: true,
      idempotent: false,
      enabled: false,
      files: ['main.sh'],
      secrets: ['TOKEN'],
      sandbox: { level: 'strict' },
      locked: ['command'],
      rollback: { tool: 'b', parameters: {} },
    }
    expect(readManifest(whole, NOWHERE)).toEqual({ manifest: whole, warnings: [] })
    expect(read({})).toEqual({
      ...PLAIN,
      category: null,
      tags: [],
      config: {},
      parameters: [],
      secrets: [],
      locked: [],
    })
  })

  test.each<readonly [string, JsonObject, string]>([
    ['no id', { tool_id: null }, 'tool_id'],
    ['an id with a space', { tool_id: 'a b' }, 'tool_id'],
    ['an id that is a way out', { tool_id: '..' }, 'tool_id'],
    ['an unknown type', { tool_type: 'program' }, 'tool_type'],
    ['a type that every object has', { tool_type: 'constructor' }, 'tool_type'],
    ['no type', { tool_type: null }, 'tool_type'],
    ['an executor that is no id', { executor: 'a/b' }, 'executor'],
    ['a version that is a number', { version: 1 }, 'version'],
    ['a version of two numbers', { version: '1.0' }, 'version'],
    ['a version with a v', { version: 'v1.0.0' }, 'version'],
    ['a version with a blank', { version: ' 1.0.0' }, 'version'],
    ['a description that is a list', { description: ['a'] }, 'description'],
    ['a category that leads out', { category: '../a' }, 'category'],
    ['tags that are no list', { tags: 5 }, 'tags'],
    ['an empty tag', { tags: [''] }, 'tags.0'],
    ['a config that is a text', { config: 'x' }, 'config'],
    ['parameters that are a text', { parameters: 'x' }, 'parameters'],
    ['a parameter without a name', { parameters: [{ type: 'string' }] }, 'parameters.0.name'],
    ['a parameter of an unknown type', { parameters: [{ name: 'a', type: 'file' }] }, 'parameters.0.type'],
    [
      'a parameter that is required by a text',
      { parameters: [{ name: 'a', required: 'yes' }] },
      'parameters.0.required',
    ],
    ['a parameter with an empty enum', { parameters: [{ name: 'a', enum: [] }] }, 'parameters.0.enum'],
    [
      'a parameter declared twice',
      { parameters: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] },
      'parameters.a',
    ],
    ['a schema that is a text', { input_schema: 'x' }, 'input_schema'],
    ['outputs that are a list', { outputs: [] }, 'outputs'],
    ['a validation that is a switch', { validation: true }, 'validation'],
    ['capabilities of numbers', { capabilities: [1] }, 'capabilities.0'],
    ['a config_schema that is a text', { config_schema: '' }, 'config_schema'],
    ['mutates_state as a text', { mutates_state: 'no' }, 'mutates_state'],
    ['idempotent as a number', { idempotent: 1 }, 'idempotent'],
    ['enabled as a text', { enabled: 'off' }, 'enabled'],
    ['a secret that is no name of a variable', { secrets: ['A-B'] }, 'secrets.0'],
    ['a sandbox that is a text', { sandbox: 'strict' }, 'sandbox'],
    ['a lock without a name', { locked: [''] }, 'locked.0'],
    ['a rollback that is a text', { rollback: 'x' }, 'rollback'],
  ])('%s is refused by name', (_, given, name) => {
    expect(faultsOf(given)).toEqual([name])
  })

  test.each(['__proto__', 'constructor', 'prototype'])('PAR-06: a parameter cannot be named %s', (name) => {
    expect(faultsOf({ parameters: [{ name }] })).toEqual(['parameters.0.name'])
  })

  test('all faults are named at once', () => {
    expect(new Set(faultsOf({ version: '1', tags: 5, description: 7 }))).toEqual(
      new Set(['description', 'tags', 'version']),
    )
  })

  test.each(['1.0.0', '0.0.0', '10.20.30', '1.0.0-rc.1', '1.0.0+build.5', '1.0.0-beta+exp.sha.5114f85'])(
    'R47: %s is a version',
    (version) => {
      expect(read({ version }).version).toBe(version)
    },
  )

  test.each(PARAMETER_TYPES)('a parameter may be of type %s', (type) => {
    expect(read({ parameters: [{ name: 'a', type }] }).parameters).toEqual([
      { name: 'a', type, required: false },
    ])
  })

  test('a parameter is an optional text unless it says otherwise', () => {
    expect(read({ parameters: [{ name: 'a' }] }).parameters).toEqual([
      { name: 'a', type: 'string', required: false },
    ])
  })

  test('unknown keys are kept and told of; those with _ in front are nobody’s business', () => {
    expect(read({ autor: 'me', _virtual: true })).toMatchObject({ autor: 'me', _virtual: true })
    expect(warningsOf({ autor: 'me', _virtual: true, name: 'A', title: 'B' })).toEqual([
      '"autor" is not a key Kiwi knows: kept, without effect',
    ])
  })

  test('a version or description that is missing is told of', () => {
    const { version: _v, description: _d, ...rest } = PLAIN
    const { manifest, warnings } = readManifest(rest, NOWHERE)
    expect(manifest).toMatchObject({ version: '0.0.0', description: '' })
    expect(warnings.map((text) => text.split(' ')[0])).toEqual(['"version"', '"description"'])
  })

  test('a manifest cannot be changed once it was read, and what was read is left as it is', () => {
    const raw: JsonObject = { ...PLAIN, executor_config: { retry: { max_attempts: 2 } }, tags: 'a, b' }
    const { manifest } = readManifest(raw, NOWHERE)
    expect(() => Object.assign(manifest.config, { x: 1 })).toThrow(TypeError)
    expect(raw).toEqual({ ...PLAIN, executor_config: { retry: { max_attempts: 2 } }, tags: 'a, b' })
  })

  test('no JSON object does anything but be read or be refused', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom(...Object.keys(PLAIN), 'config', 'tags', 'parameters', 'retry'),
          fc.jsonValue(),
        ),
        (given) => {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same type, without readonly
          expect(Array.isArray(faultsOf(given as JsonObject))).toBe(true)
        },
      ),
    )
  })
})

describe('where the id and the category come from', () => {
  const { tool_id: _id, ...unnamed } = PLAIN
  const idOf = (given: JsonObject): string =>
    readManifest({ ...unnamed, ...given }, { stem: 'stem', category: null }).manifest.tool_id

  test('tool_id, then id, then name, then the name of the file', () => {
    expect(idOf({ tool_id: 'a', id: 'b', name: 'c' })).toBe('a')
    expect(idOf({ id: 'b', name: 'c' })).toBe('b')
    expect(idOf({ name: 'c' })).toBe('c')
    expect(idOf({})).toBe('stem')
  })

  test('the folder wins over the category that is declared', () => {
    expect(read({ category: 'declared' }, { stem: null, category: 'folder' }).category).toBe('folder')
    expect(read({ category: 'declared' }).category).toBe('declared')
  })
})

describe('T1, L3: the executor a type of tool can have', () => {
  test.each<readonly [ToolType, string | null, string | null]>([
    ['primitive', null, null],
    ['primitive', 'subprocess', 'type primitive has none; remove it'],
    ['knowledge', 'x', 'type knowledge has none; remove it'],
    ['composite', 'x', 'type composite has none; remove it'],
    ['runtime', 'subprocess', null],
    ['runtime', null, 'missing; type runtime needs one of type primitive'],
    ['mcp_server', null, 'missing; type mcp_server needs one of type primitive'],
    ['mcp_tool', null, 'missing; type mcp_tool needs one of type mcp_server'],
    ['script', null, 'missing; type script needs one of type runtime'],
    ['script', 'my_runtime', null],
    ['api', 'http_client', null],
    ['api', 'subprocess', '"subprocess" is not "http_client", which type api needs'],
    ['directive', 'x', '"x" is not "llm_runtime", which type directive needs'],
    ['thread', 'x', '"x" is not "llm_runtime", which type thread needs'],
  ])('%s on %s: %s', (tool_type, executor, reason) => {
    const faults = checkExecutor(read({ tool_type, executor }))
    expect(faults).toEqual(reason === null ? [] : [{ name: 'executor', reason }])
  })

  test('every type that is complete by itself is right as it is read', () => {
    for (const tool_type of TOOL_TYPES) {
      const needs = checkExecutor(read({ tool_type, executor: null })).length
      expect(needs).toBe(['runtime', 'mcp_server', 'mcp_tool', 'script'].includes(tool_type) ? 1 : 0)
    }
  })
})

test('D16, T8: a version that YAML takes for a number is told to stand in quotes', () => {
  expect(() => read({ version: 1 })).toThrow('"version": must be a text such as "1.0.0", in quotes')
})

test('an invalid manifest says which fields are wrong and why', () => {
  const error = invalidManifest('a', [
    { name: 'version', reason: 'too low' },
    { name: 'tags', reason: 'too many' },
  ])
  expect(error).toMatchObject({
    code: 'INVALID_MANIFEST',
    message: 'Cannot use the manifest of "a": "version": too low; "tags": too many',
    details: {
      invalid: [
        { name: 'version', reason: 'too low' },
        { name: 'tags', reason: 'too many' },
      ],
    },
  })
})
