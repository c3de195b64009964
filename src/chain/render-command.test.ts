import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Environment } from '../config/environment.ts'
import { childEnvironment } from '../config/environment.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Command } from '../primitives/subprocess/command.ts'
import { compileCommand } from './command-template.ts'
import type { Circumstances } from './render-command.ts'
import { renderCommand } from './render-command.ts'
import { sampleItem } from '../../test/fixtures/sample-item.ts'
import { openVariables } from './variables.ts'

const ENVIRONMENT: Environment = {
  PATH: '/usr/bin:/bin',
  HOME: '/home/me',
  LANG: 'C.UTF-8',
  LC_TIME: 'C',
  FAKE_SECRET: 'kiwi-canary-0123456789',
  NODE_OPTIONS: '--require /evil.js',
  LD_PRELOAD: '/evil.so',
  BASH_ENV: '/evil.sh',
  GIT_DIR: '/evil',
  PYTHONSTARTUP: '/evil.py',
}
const REST: JsonObject = { command: 'cat', timeout: 300, kill_grace: 5, max_output_bytes: 1000 }
const item = sampleItem({ tool_id: 'tool', tool_type: 'script', executor: 'bash_runtime' })

interface Given extends Partial<Pick<Circumstances, 'projectPath' | 'workFolder'>> {
  readonly entrypoint?: string
  readonly granted?: readonly string[]
}

function render(config: JsonObject, parameters: JsonObject = {}, given: Given = {}): Command {
  const { projectPath = '/project', workFolder = null, entrypoint = null, granted = [] } = given
  const grants = granted.map((secret) => ({ tool: 'tool', digest: 'h', secret, sink: null }))
  const variables = openVariables(
    { item, secrets: new Set(granted), digest: 'h' },
    { environment: ENVIRONMENT, values: new Map(Object.entries(ENVIRONMENT)), grants, projectPath },
  )
  const template = compileCommand({ ...REST, ...config }, new Set(Object.keys(parameters)), entrypoint)
  return renderCommand(template, {
    parameters,
    variables,
    childEnvironment: childEnvironment(ENVIRONMENT),
    projectPath,
    callId: 'call-1',
    workFolder,
    runtimeFolder: '/runtime',
    built: null,
    cache: '/cache',
  })
}

describe('P1: the command as a whole', () => {
  test('everything in its place', () => {
    const config = {
      args: ['-u', '{entrypoint}', '--name={name}'],
      env: { MODE: 'x' },
      timeout: 2,
      capture_output: false,
    }
    expect(render(config, { name: 'Ada' }, { workFolder: '/w/1', entrypoint: 'main.py' })).toEqual({
      command: 'cat',
      args: ['-u', '/w/1/main.py', '--name=Ada'],
      env: {
        PATH: '/usr/bin:/bin',
        HOME: '/home/me',
        LANG: 'C.UTF-8',
        LC_TIME: 'C',
        KIWI_PROJECT_PATH: '/project',
        MODE: 'x',
        KIWI_PARAM_NAME: 'Ada',
        KIWI_CALL_ID: 'call-1',
      },
      cwd: '/w/1',
      input: '{"name":"Ada"}',
      timeoutMs: 2000,
      killGraceMs: 5000,
      maxOutputBytes: 1000,
      captureOutput: false,
    })
  })

  test('parameters on the command line stand behind the arguments', () => {
    const config = { args: ['{entrypoint}'], args_style: 'flags' }
    expect(render(config, { a: '1' }, { workFolder: '/w', entrypoint: 'x.sh' }).args).toEqual([
      '/w/x.sh',
      '--a',
      '1',
    ])
  })

  test('T9: it starts in its work folder, else in the project, else at home, unless the config says where', () => {
    expect(render({}, {}, { workFolder: '/w' }).cwd).toBe('/w')
    expect(render({}).cwd).toBe('/project')
    expect(render({}, {}, { projectPath: null }).cwd).toBe('/home/me')
    expect(render({ cwd: '${PROJECT_PATH}/sub' }, {}, { workFolder: '/w' }).cwd).toBe('/project/sub')
    expect(render({ cwd: '~' }, {}, { workFolder: '/w' }).cwd).toBe('/home/me')
  })

  test('P4: standard input is the parameters as JSON, unless the config gives another', () => {
    expect(render({}, { a: [1], b: 'x' }).input).toBe('{"a":[1],"b":"x"}')
    expect(render({}).input).toBe('{}')
    expect(render({ input_data: 'Dear {b}' }, { a: [1], b: 'x' }).input).toBe('Dear x')
    expect(render({ input_data: '' }, { b: 'x' }).input).toBe('')
  })

  test('P4: a value that is too large for the environment still comes by standard input', () => {
    const { env, input } = render({}, { big: 'x'.repeat(40_000), small: 'y' })
    expect(Object.keys(env).filter((name) => name.startsWith('KIWI_PARAM'))).toEqual(['KIWI_PARAM_SMALL'])
    expect(input).toContain('x'.repeat(40_000))
  })
})

describe('ENV-06, N1: the environment is built, not copied', () => {
  test('of ours only the allow-list is passed on', () => {
    expect(Object.keys(render({}, {}, { projectPath: null }).env).toSorted()).toEqual(
      ['HOME', 'KIWI_CALL_ID', 'LANG', 'LC_TIME', 'PATH'].toSorted(),
    )
  })

  test('inherit_env passes all of it on, beneath what the config and the parameters say', () => {
    const { env } = render({ inherit_env: true, env: { LANG: 'de' } }, { a: 1 }, { granted: ['*'] })
    expect(env).toMatchObject({ FAKE_SECRET: ENVIRONMENT['FAKE_SECRET'], LANG: 'de', KIWI_PARAM_A: '1' })
  })

  test('inherit_env without a grant is refused', () => {
    expect(() => render({ inherit_env: true }, {}, { granted: ['FAKE_SECRET'] })).toThrow(
      expect.objectContaining({ code: 'SECRET_NOT_GRANTED' }),
    )
  })

  test('ENV-07: a parameter takes the place of no variable, whatever it is called', () => {
    const names = [
      'PATH',
      'LD_PRELOAD',
      'NODE_OPTIONS',
      'PYTHONPATH',
      'BASH_ENV',
      'GIT_DIR',
      'KIWI_CALL_ID',
      'KIWI_PARAM_X',
    ]
    const { env } = render({}, Object.fromEntries(names.map((name) => [name, '/evil'])))
    const changed = Object.entries(env)
      .filter(([, value]) => value === '/evil')
      .map(([name]) => name)
    expect(changed.toSorted()).toEqual(names.map((name) => `KIWI_PARAM_${name}`).toSorted())
    expect(env['PATH']).toBe(ENVIRONMENT['PATH'])
    expect(env['KIWI_CALL_ID']).toBe('call-1')
  })

  test('ENV-07: a manifest cannot pretend a parameter or a call id', () => {
    const { env } = render({ env: { KIWI_PARAM_A: 'fake', KIWI_CALL_ID: 'fake' } }, { a: 'real' })
    expect(env).toMatchObject({ KIWI_PARAM_A: 'real', KIWI_CALL_ID: 'call-1' })
  })

  test('a declared loader variable passes, since the manifest says so', () => {
    expect(render({ env: { PYTHONPATH: '{dir}' } }, { dir: '/lib' }).env['PYTHONPATH']).toBe('/lib')
  })
})

describe('P5: variables in every place', () => {
  const places: readonly [string, (text: string) => JsonObject, (command: Command) => unknown][] = [
    ['command', (text) => ({ command: text }), ({ command }) => command],
    ['args', (text) => ({ args: [text] }), ({ args }) => args[0]],
    ['env', (text) => ({ env: { X: text } }), ({ env }) => env['X']],
    ['cwd', (text) => ({ cwd: text }), ({ cwd }) => cwd],
    ['input_data', (text) => ({ input_data: text }), ({ input }) => input],
  ]
  const forms: readonly [string, string][] = [
    ['${HOME}', '/home/me'],
    ['${HOME:-x}', '/home/me'],
    ['${TZ:-x}', 'x'],
    ['a${TZ}b', 'ab'],
    ['${HOME:+set}', 'set'],
    ['a${TZ:+set}b', 'ab'],
    ['${PROJECT_PATH}/x', '/project/x'],
    ['$${HOME}', '${HOME}'],
    ['${FAKE_SECRET}', 'kiwi-canary-0123456789'],
  ]
  test.each(places)('%s', (_, into, from) => {
    for (const [text, expected] of forms) {
      expect(from(render(into(text), {}, { granted: ['FAKE_SECRET'] }))).toBe(expected)
    }
  })

  test.each(places.filter(([name]) => name !== 'input_data'))(
    '%s: a leading ~ is the home folder',
    (_, into, from) => {
      expect(from(render(into('~/x')))).toBe('/home/me/x')
      expect(from(render(into('~x')))).toBe('~x')
      expect(from(render(into('x/~')))).toBe('x/~')
    },
  )

  test.each(places)('ENV-02: %s: a variable without a grant is refused', (_, into) => {
    expect(() => render(into('${FAKE_SECRET}'))).toThrow(
      expect.objectContaining({ code: 'SECRET_NOT_GRANTED' }),
    )
  })

  test.each(places.filter(([name]) => name !== 'command'))(
    'N3: %s: a parameter is never read for variables again',
    (_, into, from) => {
      for (const value of ['${HOME}', '${FAKE_SECRET}', '{b}', '$${HOME}', '~/x']) {
        expect(from(render(into('{a}'), { a: value, b: 'no' }))).toBe(value)
      }
    },
  )
})

describe('words of a runtime', () => {
  test('are filled in, and absent ones are empty', () => {
    const args = ['{entrypoint}', '{entrypoint_name}', '{tool_path}', '{project_path}', '{params_json}']
    expect(render({ args }, { a: 1 }, { workFolder: '/w', entrypoint: 'lib/m.x' }).args).toEqual([
      '/w/lib/m.x',
      'lib/m.x',
      '/w',
      '/project',
      '{"a":1}',
    ])
    expect(render({ args: ['{tool_path}', '{project_path}'] }, {}, { projectPath: null }).args).toEqual([
      '',
      '',
    ])
  })

  test('cannot be overridden by parameters, nor can what the config fixes', () => {
    const given = {
      entrypoint: '/evil',
      tool_path: '/evil',
      project_path: '/evil',
      params_json: '/evil',
      image: 'evil',
    }
    const args = ['{entrypoint}', '{tool_path}', '{project_path}', '{image}']
    const command = render({ args, image: 'alpine' }, given, { workFolder: '/w', entrypoint: 'm.x' })
    expect(command.args).toEqual(['/w/m.x', '/w', '/project', 'alpine'])
  })

  test('that nobody knows stay as they are', () => {
    expect(render({ args: ['{unknown}', '{}', '{ a }'] }, { a: 1 }).args).toEqual([
      '{unknown}',
      '{}',
      '{ a }',
    ])
  })
})

describe('CMD-01: a parameter stays one argument', () => {
  test.each(['x; touch PWNED', '$(id)', '`id`', '|', '\n', 'a b', '"', "'", '', '*', '&&', '> /x'])(
    '%j',
    (value) => {
      expect(render({ args: ['say', '{a}', 'to={a}!'] }, { a: value }).args).toEqual([
        'say',
        value,
        `to=${value}!`,
      ])
    },
  )

  test('whatever it holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        expect(render({ args: ['-x', 'v:{a}', '--', '{a}'] }, { a: value }).args).toEqual([
          '-x',
          `v:${value}`,
          '--',
          value,
        ])
      }),
    )
  })

  test.each<[string, readonly string[], JsonObject]>([
    ['alone', ['{a}'], { a: '--upload-pack=touch PWNED' }],
    ['at the start', ['{a}.txt'], { a: '-rf' }],
    ['behind an empty one', ['{a}{b}'], { a: '', b: '-rf' }],
    ['behind an empty variable', ['${TZ}{a}'], { a: '-rf' }],
    ['made of two', ['{a}{b}'], { a: '-', b: 'rf' }],
    ['before the dashes', ['{a}', '--'], { a: '-rf' }],
  ])('an argument that would turn into an option is refused: %s', (_, args, parameters) => {
    expect(() => render({ args: [...args] }, parameters)).toThrow(
      expect.objectContaining({
        code: 'INVALID_PARAMETERS',
        details: { missing: [], invalid: [expect.anything()] },
      }),
    )
  })

  test.each<[string, JsonObject]>([
    ['a text', { image: '--privileged' }],
    ['a short one', { image: '-v/:/host' }],
  ])('CHN-03: nor may a word of the config turn into one: %s', (_, config) => {
    expect(() => render({ args: ['run', '{image}', 'sh'], ...config })).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringContaining('"image"'),
      }),
    )
  })

  test.each<[string, readonly string[], JsonObject, readonly string[]]>([
    ['behind "--"', ['--', '{a}'], { a: '-rf' }, ['--', '-rf']],
    ['tied to an option of the author', ['--ref={a}'], { a: '-rf' }, ['--ref=-rf']],
    ['a number', ['{a}'], { a: -5 }, ['-5']],
    ['a number as text', ['{a}'], { a: '-5' }, ['-5']],
    ['a list', ['{a}'], { a: ['-x'] }, ['["-x"]']],
  ])('one that is a value passes: %s', (_, args, parameters, expected) => {
    expect(render({ args: [...args] }, parameters).args).toEqual(expected)
  })

  test('a word of the config that is a value passes', () => {
    const config = { args: ['{image}', '{level}', '--', '{last}'], image: 'alpine', level: -1, last: '-x' }
    expect(render(config).args).toEqual(['alpine', '-1', '--', '-x'])
  })
})
