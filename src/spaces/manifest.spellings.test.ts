import { describe, expect, test } from 'vitest'
import { ItemName } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Manifest } from './manifest.ts'
import { readManifest } from './manifest.ts'
import type { Origin } from './normalise-manifest.ts'

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

describe('spellings', () => {
  test.each([
    ['python', 'script', 'python_runtime'],
    ['bash', 'script', 'bash_runtime'],
    ['node', 'script', 'node_runtime'],
    ['docker', 'script', 'docker_runtime'],
  ])('R1: type %s is a %s on %s', (alias, type, executor) => {
    expect(read({ tool_type: alias, executor: null })).toMatchObject({ tool_type: type, executor })
    expect(read({ tool_type: alias, executor: 'my_runtime' })).toMatchObject({
      tool_type: type,
      executor: 'my_runtime',
    })
  })

  test('R1: type mcp is an mcp_tool on the server it names', () => {
    expect(read({ tool_type: 'mcp', executor: null, config: { mcp_server: 'notion' } })).toMatchObject({
      tool_type: 'mcp_tool',
      executor: 'mcp_notion',
    })
  })

  test.each([
    ['api', 'http_client'],
    ['directive', 'llm_runtime'],
    ['thread', 'llm_runtime'],
    ['script', null],
    ['composite', null],
  ])('an %s that names no executor has %s', (type, executor) => {
    expect(read({ tool_type: type, executor: null }).executor).toBe(executor)
  })

  test.each<readonly [string, JsonObject, Partial<Manifest>]>([
    ['R38: executor_id', { executor: null, executor_id: 'x' }, { executor: ItemName.parse('x') }],
    ['R38: executor_config', { executor_config: { a: 1 } }, { config: { a: 1 } }],
    ['R38: config wins', { config: { a: 1 }, executor_config: { a: 2 } }, { config: { a: 1 } }],
    [
      'R38: mcp_tool',
      { tool_type: 'mcp_tool', config: { mcp_tool: 'x' } },
      { config: { mcp_tool_name: 'x' } },
    ],
    [
      'R38: tool_name',
      { tool_type: 'mcp_tool', config: { tool_name: 'x' } },
      { config: { mcp_tool_name: 'x' } },
    ],
    [
      'R38: mcp_tool_name wins',
      { tool_type: 'mcp_tool', config: { mcp_tool: 'x', mcp_tool_name: 'y' } },
      { config: { mcp_tool_name: 'y' } },
    ],
    [
      'R38: response_path',
      { tool_type: 'api', executor: 'http_client', config: { response_path: '$.a' } },
      { config: { response_transform: '$.a' } },
    ],
    [
      'R44: timeout_default',
      { tool_type: 'runtime', config: { timeout_default: 5 } },
      { config: { timeout: 5 } },
    ],
    [
      'R44: timeout wins',
      { tool_type: 'runtime', config: { timeout_default: 5, timeout: 6 } },
      { config: { timeout: 6 } },
    ],
    [
      'R44: shell',
      { tool_type: 'runtime', config: { shell: '/bin/sh' } },
      { config: { command: '/bin/sh' } },
    ],
    [
      'R14: retry',
      { config: { retry: { max_attempts: 3, backoff: 0.5 } } },
      { config: { retries: 2, retry_delay: 0.5 } },
    ],
    ['R14: retries win', { config: { retry: { max_attempts: 3 }, retries: 7 } }, { config: { retries: 7 } }],
    ['R37: config.mutates_state', { config: { mutates_state: true } }, { mutates_state: true }],
    [
      'R37: mutates_state wins',
      { mutates_state: false, config: { mutates_state: true } },
      { mutates_state: false },
    ],
    ['required_secrets', { required_secrets: ['A'] }, { secrets: ['A'] }],
    ['tags in one text', { tags: 'a, b ,c' }, { tags: ['a', 'b', 'c'] }],
  ])('%s', (_, given, expected) => {
    const { tool_type, executor } = given
    const plain = read(tool_type === undefined ? {} : { tool_type, executor: executor ?? 'bash_runtime' })
    expect(read(given)).toEqual({ ...plain, ...expected, config: expected.config ?? read(given).config })
    expect(warningsOf(given)).toEqual([])
  })

  test('a spelling means what it says in tools of another type', () => {
    const config = { tool_name: 'x', shell: 'fish', timeout_default: 5, response_path: '$' }
    expect(read({ config }).config).toEqual(config)
  })

  test('parameters may be the properties of a JSON Schema', () => {
    expect(read({ parameters: { a: { type: 'integer', minimum: 1 }, b: {} } }).parameters).toEqual([
      { name: 'a', type: 'integer', required: false, minimum: 1 },
      { name: 'b', type: 'string', required: false },
    ])
  })
})

describe('T8, R38: spellings of another system', () => {
  test.each<readonly [string, JsonObject, object]>([
    [
      'a path id of a runtime',
      { executor_id: 'rye/core/runtimes/python_script_runtime' },
      { executor: 'python_runtime' },
    ],
    ['a newer path id', { executor_id: 'tool:rye/core/runtimes/node/node' }, { executor: 'node_runtime' }],
    [
      'a path id of a primitive',
      { tool_type: 'runtime', executor_id: 'rye/core/primitives/subprocess' },
      { executor: 'subprocess' },
    ],
    [
      'variables under env_config',
      { config: { env: { A: 'own' } }, env_config: { env: { A: 'theirs', B: 'b' } } },
      { config: { env: { A: 'own', B: 'b' } } },
    ],
    [
      'a schema of parameters under config_schema',
      { config_schema: { type: 'object', properties: { a: { type: 'string' } } } },
      { parameters: [], input_schema: { type: 'object', properties: { a: { type: 'string' } } } },
    ],
    [
      'a schema under parameters',
      { parameters: { type: 'object', properties: { a: {} }, required: ['a'] } },
      { parameters: [], input_schema: { type: 'object', properties: { a: {} }, required: ['a'] } },
    ],
    ['secrets as one text', { required_secrets: 'A, B' }, { secrets: ['A', 'B'] }],
    [
      'a tool of a server behind a runtime',
      {
        tool_type: 'python',
        executor_id: 'rye/core/runtimes/mcp_http_runtime',
        config: { server: 'x', tool_name: 't' },
      },
      { tool_type: 'mcp_tool', executor: 'mcp_x', config: { mcp_tool_name: 't' } },
    ],
  ])('%s', (_, given, manifest) => {
    expect(read({ tool_id: 'a', tool_type: 'script', executor: null, ...given })).toMatchObject(manifest)
  })

  test('a server file by its place', () => {
    const { manifest } = readManifest(
      { config: { transport: 'http', url: 'https://x.test' } },
      { stem: 'x', category: 'mcp/servers' },
    )
    expect(manifest).toMatchObject({ tool_id: 'mcp_x', tool_type: 'mcp_server', executor: 'http_client' })
  })

  test('keys that are kept without a use are no surprise, and a category of its own is', () => {
    const raw = { tool_id: 'a', tool_type: 'bash', version: '1.0.0', description: 'd' }
    const kept = { anchor: {}, verify_deps: {}, required_caps: [], cache: {}, author: 'x' }
    expect(readManifest({ ...raw, ...kept }, NOWHERE).warnings).toEqual([])
    expect(readManifest({ ...raw, category: 'web' }, { stem: 'a', category: 'mail' })).toMatchObject({
      manifest: { category: 'mail' },
      warnings: ['"category" says "web", but its folder is "mail", which counts'],
    })
  })
})
