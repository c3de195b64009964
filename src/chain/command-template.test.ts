import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import { compileCommand, numberOf, timeoutMsOf } from './command-template.ts'

const REST: JsonObject = { timeout: 300, kill_grace: 5, max_output_bytes: 1000 }
const compile = (config: JsonObject, parameters: readonly string[] = [], entrypoint: string | null = null) =>
  compileCommand({ command: 'cat', ...REST, ...config }, new Set(parameters), entrypoint)
const sources = (config: JsonObject, entrypoint: string | null): readonly string[] =>
  compile(config, [], entrypoint).args.map(({ source }) => source)

describe('P1: each key of the config arrives', () => {
  test.each<[JsonObject, JsonObject]>([
    [{ timeout: 1.5 }, { timeoutMs: 1500 }],
    [{ kill_grace: 0 }, { killGraceMs: 0 }],
    [{ max_output_bytes: 7 }, { maxOutputBytes: 7 }],
    [{ capture_output: false }, { captureOutput: false }],
    [{ capture_output: true }, { captureOutput: true }],
    [{}, { captureOutput: true, inheritEnv: false, argsStyle: 'none' }],
    [{ inherit_env: true }, { inheritEnv: true }],
    [{ args_style: 'flags' }, { argsStyle: 'flags' }],
    [{ args_style: 'equals' }, { argsStyle: 'equals' }],
    [{ args_style: 'positional' }, { argsStyle: 'positional' }],
  ])('%j', (config, expected) => {
    expect(compile(config)).toMatchObject(expected)
  })

  test('arguments and variables that are numbers or truth values become text', () => {
    const { args, env } = compile({ args: [1, true, 'x'], env: { N: 2, B: false } })
    expect(args.map(({ source }) => source)).toEqual(['1', 'true', 'x'])
    expect(env.map(([name, { source }]) => [name, source])).toEqual([
      ['N', '2'],
      ['B', 'false'],
    ])
  })
})

test('C9: {name...} is an argument for each text of a list, or each key of an object, in the config', () => {
  const args = ['-x', '--v={volumes...}', '{rest...}', '--e={env...}', '{none...}', 'a{rest...}b']
  const given = { args, volumes: ['/a', '/b'], rest: ['run', '{name}'], env: { K: '1' } }
  const compiled = compile(given, ['name']).args
  expect(compiled.map(({ source }) => source)).toEqual([
    '-x',
    '--v=/a',
    '--v=/b',
    'run',
    '{name}',
    '--e=K',
    'a{rest...}b',
  ])
  expect(compiled[4]?.segments).toEqual([{ kind: 'parameter', name: 'name' }])
})

describe('CMD-01: a parameter never chooses the program', () => {
  test.each(['{name}', '/bin/{name}', '{entrypoint}', '{unknown}', '{a-b}', '${HOME}/{name}'])(
    'the command "%s" is refused',
    (command) => {
      expect(() => compile({ command }, ['name'])).toThrow(
        expect.objectContaining({
          code: 'INVALID_CONFIG',
          message: `Cannot use command "${command}": a parameter may not choose the program`,
        }),
      )
    },
  )

  test.each(['${HOME}/bin/x', '~/bin/x', '/opt/{}/x', '$${x}'])('the command "%s" is not', (command) => {
    expect(compile({ command }).command.segments.every(({ kind }) => kind !== 'parameter')).toBe(true)
  })
})

describe('C9: where the entrypoint stands', () => {
  test('behind the arguments, when they do not place it', () => {
    expect(sources({ args: ['-u'] }, 'main.py')).toEqual(['-u', '{entrypoint}'])
    expect(sources({}, 'main.py')).toEqual(['{entrypoint}'])
  })

  test.each([
    ['{entrypoint}'],
    ['--file={entrypoint}'],
    ['{entrypoint_name}'],
    ['{tool_path}/{entrypoint_name}'],
  ])('once, when they do: %s', (arg) => {
    expect(sources({ args: [arg, 'last'] }, 'main.py')).toEqual([arg, 'last'])
  })

  test('nowhere, when there is none', () => {
    expect(sources({ args: ['-v'] }, null)).toEqual(['-v'])
  })

  test.each([['{entrypoint}'], ['{entrypoint_name}']])('%s without a file is refused', (arg) => {
    expect(() => sources({ args: [arg] }, null)).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringContaining('no file to start'),
      }),
    )
  })
})

describe('words', () => {
  test('are the texts and numbers of the config that the primitive does not read itself', () => {
    const { words } = compile({
      image: 'alpine',
      level: 3,
      cwd: '/x',
      on: true,
      list: ['a'],
      args_style: 'flags',
    })
    expect(words).toEqual({ image: 'alpine', level: '3' })
  })

  test('a parameter may be called like a key of the primitive', () => {
    const { args } = compile({ args: ['{timeout}', '{image}', '{other}'], image: 'alpine' }, ['timeout'])
    expect(args.map(({ segments }) => segments[0]?.kind)).toEqual(['parameter', 'parameter', 'text'])
  })

  test('the order of the parameters is kept', () => {
    expect(compile({}, ['b', 'a', 'c']).parameterOrder).toEqual(['b', 'a', 'c'])
  })
})

test('ENV-04: a nested variable is refused wherever it stands', () => {
  const nested = ['${A:-${B}}', '${A:+${B}}']
  for (const text of nested) {
    for (const config of [
      { command: text },
      { args: [text] },
      { env: { X: text } },
      { cwd: text },
      { input_data: text },
    ]) {
      expect(() => compile(config)).toThrow(expect.objectContaining({ code: 'INVALID_CONFIG' }))
    }
  }
})

test('a number that the schema should have filled in is missed by name', () => {
  expect(() => numberOf({ timeout: '3' }, 'timeout')).toThrow('"timeout" is not a number')
  expect(numberOf({ timeout: 3 }, 'timeout')).toBe(3)
})

test('N11: no timeout is over its ceiling', () => {
  expect(timeoutMsOf({ timeout: 300, timeout_max: 2 })).toBe(2000)
  expect(timeoutMsOf({ timeout: 1, timeout_max: 2 })).toBe(1000)
  expect(timeoutMsOf({ timeout: 300 })).toBe(300_000)
})
