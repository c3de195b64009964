import { beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import type { Item } from '../spaces/item.ts'
import type { ItemFile } from '../store/store.ts'
import { compilePlan, digestOf } from './compile-plan.ts'
import type { Compiled } from './compile-plan.ts'
import { sampleFile, sampleItem, shippedItem } from '../../test/fixtures/sample-item.ts'
import { openSchemas } from './schemas.ts'

const schemas = openSchemas()
const compile = (...items: readonly Item[]): Promise<Compiled> => compilePlan(items, schemas)
let subprocess: Item
let httpClient: Item
let python: Item
let docker: Item

beforeAll(async () => {
  subprocess = await shippedItem('subprocess')
  httpClient = await shippedItem('http_client')
  python = await shippedItem('python_runtime')
  docker = await shippedItem('docker_runtime')
})

const main = [sampleFile('main.py', 'print(1)')]
const script = (more: JsonObject = {}, files: readonly ItemFile[] = main): Item =>
  sampleItem({ tool_id: 'a_script', tool_type: 'script', executor: 'python_runtime', ...more }, files)
const runtime = (config: JsonObject, more: JsonObject = {}): Item =>
  sampleItem({ tool_id: 'a_runtime', tool_type: 'runtime', executor: 'subprocess', config, ...more })
const api = (config: JsonObject, more: JsonObject = {}): Item =>
  sampleItem({ tool_id: 'an_api', tool_type: 'api', executor: 'http_client', config, ...more })

describe('C7: a config that does not fit is refused with the names of its keys, before anything is started', () => {
  const invalid = (...names: readonly string[]) =>
    expect.objectContaining({
      code: 'INVALID_CONFIG',
      details: expect.objectContaining({
        invalid: expect.arrayContaining(names.map((name) => expect.objectContaining({ name }))),
      }),
    })

  test('a missing command', async () => {
    await expect(compile(script(), runtime({}), subprocess)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: 'Cannot run "a_script": its config does not fit "subprocess": "command" is missing',
      details: { missing: ['command'], invalid: [], tool: 'subprocess' },
    })
  })

  test('a command that a child removed', async () => {
    const child = script({ config: { command: null } })
    await expect(compile(child, runtime({ command: 'cat' }), subprocess)).rejects.toMatchObject({
      details: { missing: ['command'] },
    })
  })

  test('a missing url', async () => {
    await expect(compile(api({ method: 'GET' }), httpClient)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      details: { missing: ['url', 'url_template'], tool: 'http_client' },
    })
  })

  test('an environment that is switched off although the runtime requires it', async () => {
    const child = script({ config: { venv: { required: true, enabled: false } } })
    await expect(compile(child, python, subprocess)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('its config does not fit "subprocess": "venv.enabled" must be true'),
      details: { tool: 'subprocess' },
    })
  })

  test('the same conflict between a runtime and its script', async () => {
    const schema = { properties: { venv: { properties: { enabled: { const: true } } } } }
    const strict = runtime({ command: 'cat', venv: { enabled: true } }, { config_schema: schema })
    await expect(
      compile(script({ config: { venv: { enabled: false } } }), strict, subprocess),
    ).rejects.toThrow(invalid('venv.enabled'))
  })

  test.each<[string, JsonObject]>([
    ['args', { args: 'a b' }],
    ['args.0', { args: [{ a: 1 }] }],
    ['env', { env: [] }],
    ['env.A', { env: { A: ['x'] } }],
    ['cwd', { cwd: 1 }],
    ['timeout', { timeout: 0 }],
    ['timeout', { timeout: 'soon' }],
    ['capture_output', { capture_output: 'yes' }],
    ['input_data', { input_data: { a: 1 } }],
    ['inherit_env', { inherit_env: 'yes' }],
    ['max_output_bytes', { max_output_bytes: 0 }],
    ['kill_grace', { kill_grace: -1 }],
    ['args_style', { args_style: 'shell' }],
    ['command', { command: '' }],
  ])('P1: a wrong "%s" of a program: %j', async (name, config) => {
    await expect(compile(script({ config }), runtime({ command: 'cat' }), subprocess)).rejects.toThrow(
      invalid(name),
    )
  })

  test.each<[string, JsonObject]>([
    ['method', { method: 'GET /x' }],
    ['headers', { headers: 'a: b' }],
    ['headers.A', { headers: { A: {} } }],
    ['auth', { auth: 1 }],
    ['timeout', { timeout: -1 }],
    ['retries', { retries: 99 }],
    ['retry_delay', { retry_delay: -1 }],
    ['retryable_statuses', { retryable_statuses: 503 }],
    ['response_transform', { response_transform: 1 }],
    ['max_response_bytes', { max_response_bytes: 1.5 }],
    ['max_redirects', { max_redirects: -1 }],
  ])('P6: a wrong "%s" of a request: %j', async (name, config) => {
    await expect(compile(api({ url: 'https://example.com', ...config }), httpClient)).rejects.toThrow(
      invalid(name),
    )
  })

  test('an entrypoint that is not among the files', async () => {
    await expect(
      compile(script({ config: { entrypoint: '../../etc/passwd' } }), python, subprocess),
    ).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: 'Cannot run "a_script": it has no file "../../etc/passwd"',
    })
  })

  test('a runtime that starts a file, and a script that has none', async () => {
    await expect(compile(script({}, []), python, subprocess)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
    })
    const several = [sampleFile('a.py', ''), sampleFile('b.py', '')]
    await expect(compile(script({}, several), python, subprocess)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
    })
  })

  test('P11: a path into the answer that cannot be read', async () => {
    const broken = api({ url: 'https://example.com', response_transform: '$.a[' })
    await expect(compile(broken, httpClient)).rejects.toMatchObject({ code: 'INVALID_CONFIG' })
  })

  test('CHN-03: a script that takes the program of its runtime', async () => {
    const attack = script({ config: { command: '/bin/sh', args: ['-c', 'id'] } })
    await expect(compile(attack, python, subprocess)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      details: { key: 'command', protected_by: 'python_runtime' },
    })
  })

  test.each(['--privileged', '-v/:/host'])(
    'CHN-03: an image of a container that is an option: %s',
    async (image) => {
      const inside = script({ executor: 'docker_runtime', config: { image } })
      await expect(compile(inside, docker, subprocess)).rejects.toThrow(invalid('image'))
    },
  )

  test('a primitive that is not one of ours', async () => {
    const own = sampleItem({ tool_id: 'teleport', tool_type: 'primitive' })
    await expect(compile(script(), runtime({ command: 'cat' }), own)).rejects.toMatchObject({
      code: 'NO_PRIMITIVE',
    })
  })
})

test('P1: what the config leaves open is filled in from the schema of the primitive', async () => {
  const { config, effect } = await compile(script(), python, subprocess)
  expect(config).toMatchObject({
    command: 'python3',
    timeout: 300,
    max_output_bytes: 8 * 1024 * 1024,
    kill_grace: 5,
  })
  expect(effect).toMatchObject({
    command: {
      timeoutMs: 300_000,
      killGraceMs: 5000,
      maxOutputBytes: 8_388_608,
      captureOutput: true,
      inheritEnv: false,
      argsStyle: 'none',
      cwd: null,
      input: null,
      entrypoint: 'main.py',
    },
  })
})

describe('N11: only the schema of the primitive fills in defaults', () => {
  const schema = (properties: JsonObject): JsonObject => ({ config_schema: { type: 'object', properties } })

  test('so that a tool cannot take the environment', async () => {
    const sly = script(schema({ inherit_env: { default: true } }))
    const { config, effect } = await compile(sly, python, subprocess)
    expect(config).not.toHaveProperty('inherit_env')
    expect(effect).toMatchObject({ command: { inheritEnv: false } })
  })

  test('so that what a parent locked stays as it was', async () => {
    const sly = script(schema({ cwd: { default: '/etc' } }))
    const { config } = await compile(sly, runtime({ command: 'cat' }, { locked: ['cwd'] }), subprocess)
    expect(config).not.toHaveProperty('cwd')
  })

  test('and the rest of such a schema still holds', async () => {
    const strict = runtime({ command: 'cat' }, schema({ level: { type: 'integer', default: 1 } }))
    await expect(compile(script({ config: { level: 'high' } }), strict, subprocess)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      details: { tool: 'a_runtime', invalid: [{ name: 'level' }] },
    })
  })
})

test('P6: the defaults of a request', async () => {
  const { effect } = await compile(api({ url: 'https://example.com' }), httpClient)
  expect(effect).toMatchObject({
    kind: 'http_client',
    request: {
      method: 'GET',
      headers: [],
      auth: null,
      body: null,
      transform: null,
      timeoutMs: 30_000,
      retries: 0,
      retryDelayMs: 1000,
      retryableStatuses: [502, 503, 504, 429],
      maxResponseBytes: 10 * 1024 * 1024,
      maxRedirects: 5,
    },
  })
})

test('N11: a default is held under the ceiling of time like any other value', async () => {
  const limited = await compile(script(), runtime({ command: 'cat', timeout_max: 60 }), subprocess)
  expect(limited.effect).toMatchObject({ command: { timeoutMs: 60_000 } })
  const lowered = await compile(api({ url: 'https://example.com', timeout_max: 3 }), httpClient)
  expect(lowered.effect).toMatchObject({ request: { timeoutMs: 3000 } })
})

describe('C9: the file that is started', () => {
  const entrypoint = async (
    config: JsonObject,
    files: readonly ItemFile[],
    over: JsonObject = {},
  ): Promise<unknown> => {
    const { effect } = await compile(
      script({ config }, files),
      runtime({ command: 'cat', ...over }),
      subprocess,
    )
    return effect.kind === 'subprocess' ? effect.command.entrypoint : effect.kind
  }
  const [a, b] = [sampleFile('a.x', ''), sampleFile('lib/b.x', '')]

  test('is the one the config names, else main, else the only one', async () => {
    expect(await entrypoint({ entrypoint: 'lib/b.x' }, [a, b])).toBe('lib/b.x')
    expect(await entrypoint({}, [a, sampleFile('main.x', '')])).toBe('main.x')
    expect(await entrypoint({}, [b])).toBe('lib/b.x')
    expect(await entrypoint({}, [a, b])).toBeNull()
  })

  test('may be named by the runtime for all its scripts', async () => {
    expect(await entrypoint({}, [a, b], { entrypoint: 'a.x' })).toBe('a.x')
    expect(await entrypoint({ entrypoint: 'lib/b.x' }, [a, b], { entrypoint: 'a.x' })).toBe('lib/b.x')
  })

  test('is given to a container by its name there, and only so', async () => {
    const inside = script({ executor: 'docker_runtime', config: { image: 'alpine:3' } }, [
      sampleFile('main.sh', ''),
    ])
    const { effect } = await compile(inside, docker, subprocess)
    const sources = effect.kind === 'subprocess' ? effect.command.args.map(({ source }) => source) : []
    expect(sources.slice(-3)).toEqual(['{image}', '{interpreter}', '{entrypoint_name}'])
  })
})

describe('what a plan says of itself', () => {
  test('only scripts, apis and knowledge are run; the others have no effect of their own', async () => {
    expect((await compile(python, subprocess)).effect).toEqual({ kind: 'none' })
    expect((await compile(subprocess)).effect).toEqual({ kind: 'none' })
    expect((await compile(sampleItem({ tool_id: 'c', tool_type: 'composite' }))).effect).toEqual({
      kind: 'none',
    })
    expect((await compile(sampleItem({ tool_id: 'k', tool_type: 'knowledge' }))).effect).toEqual({
      kind: 'content',
    })
  })

  test('the secrets are those that any link declares', async () => {
    const child = script({ secrets: ['A', 'B'] })
    const plan = await compile(child, runtime({ command: 'cat' }, { secrets: ['B', 'C'] }), subprocess)
    expect(plan.secrets).toEqual(new Set(['A', 'B', 'C']))
  })

  test('T8: and those that stand where credentials do; elsewhere a name has to be declared', async () => {
    const env = { X: '${A}-${B:-b}', Y: '$${C}', Z: '{c}' }
    const child = script({ config: { env, args: ['${D}'], input_data: '${E}' } })
    expect((await compile(child, runtime({ command: 'cat' }), subprocess)).secrets).toEqual(
      new Set(['A', 'B']),
    )
  })

  test.each<[JsonObject, boolean]>([
    [{}, false],
    [{ mutates_state: true }, false],
    [{ mutates_state: false }, true],
    [{ idempotent: true }, true],
    [{ mutates_state: true, idempotent: true }, true],
    [{ config: { mutates_state: false } }, true],
  ])('N16: with %j it may be repeated: %s', async (more, isRepeatable) => {
    expect((await compile(script(more), python, subprocess)).isRepeatable).toBe(isRepeatable)
  })

  test('it counts as read-only only when the whole chain is shipped and says so', async () => {
    const hello = await shippedItem('hello_world')
    expect((await compile(hello, python, subprocess)).isReadOnly).toBe(true)
    expect((await compile(script({ mutates_state: false }), python, subprocess)).isReadOnly).toBe(false)
    const own = runtime({ command: 'cat' })
    expect((await compile(hello, own, subprocess)).isReadOnly).toBe(false)
  })

  test('AUD-03: a request is never read-only: what it sends has left the machine', async () => {
    const plan = await compile(await shippedItem('http_test'), httpClient)
    expect(plan).toMatchObject({ isReadOnly: false, isRepeatable: true })
  })

  test('R-05: content changes nothing, whatever its manifest leaves out', async () => {
    expect(await compile(await shippedItem('kiwi-overview'))).toMatchObject({
      isReadOnly: true,
      isRepeatable: true,
    })
    expect(await compile(sampleItem({ tool_id: 'notes', tool_type: 'knowledge' }))).toMatchObject({
      isReadOnly: false,
      isRepeatable: true,
    })
  })

  test('T8: parameters and outputs are checked by the schemas of the manifest', async () => {
    const manifest = {
      parameters: [{ name: 'n', type: 'integer', required: true }],
      outputs: { type: 'object' },
    }
    const plan = await compile(script(manifest), python, subprocess)
    expect(plan.checkParameters({})).toEqual({ missing: ['n'], invalid: [] })
    expect(plan.checkParameters({ n: 1 })).toBeNull()
    expect(plan.checkOutput?.('text')).toMatchObject({ invalid: [{ name: 'value' }] })
    expect((await compile(script(), python, subprocess)).checkOutput).toBeNull()
  })

  test('a schema that costs too much refuses the plan', async () => {
    const schema = { anyOf: Array.from({ length: 20_000 }, () => ({})) }
    await expect(compile(script({ input_schema: schema }), python, subprocess)).rejects.toMatchObject({
      code: 'SCHEMA_TOO_COSTLY',
      message: expect.stringContaining('the parameters of "a_script"'),
    })
  })
})

describe('the digest a grant is bound to', () => {
  const own = (command: string): Item => runtime({ command })

  test('changes with the leaf, its files and every executor that is not shipped', () => {
    const base = digestOf([script(), own('cat'), subprocess])
    const others = [
      [script({ description: 'Another' }), own('cat'), subprocess],
      [script({}, [sampleFile('main.py', 'print(2)')]), own('cat'), subprocess],
      [script({}, [sampleFile('main.py', 'print(1)', true)]), own('cat'), subprocess],
      [script(), own('head'), subprocess],
      [script({ tool_id: 'other_script' }), own('cat'), subprocess],
    ]
    const digests = new Set([base, ...others.map((items) => digestOf(items))])
    expect(digests.size).toBe(others.length + 1)
    expect(digestOf([script(), own('cat'), subprocess])).toBe(base)
  })

  test('does not change when a shipped executor does', () => {
    const shipped = (command: string): Item => ({ ...runtime({ command }), space: 'builtin' })
    expect(digestOf([script(), shipped('a'), subprocess])).toBe(
      digestOf([script(), shipped('b'), subprocess]),
    )
  })

  test('changes with a leaf that is shipped', () => {
    const shipped = (more: JsonObject): Item => ({ ...script(more), space: 'builtin' })
    expect(digestOf([shipped({})])).not.toBe(digestOf([shipped({ tags: ['new'] })]))
  })
})
