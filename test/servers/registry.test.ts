import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field } from '../fixtures/field.ts'
import { writeServerTool } from '../fixtures/server-tool.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

const SERVER = fileURLToPath(new URL('../fixtures/upstream.mjs', import.meta.url))

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())
beforeEach(() => {
  user('')
  project('')
})

const user = (text: string): void => {
  mkdirSync(join(temp.config.userSpace, 'config'), { recursive: true })
  writeFileSync(join(temp.config.userSpace, 'config', 'mcp_registry.yaml'), text)
}
const project = (text: string): string => temp.write('config/mcp_registry.yaml', text)
const server = (name: string): Promise<Reply> => temp.load(name, { item_type: 'mcp' })
const config = async (name: string): Promise<unknown> =>
  field((await server(name)).data, 'metadata', 'config')

describe('M1: servers of a file', () => {
  test('M1: are items that are found, loaded and run, by the next call after the file was saved', async () => {
    user(`mcps:\n  own: {command: node, args: ["${SERVER}"], description: An uncommon purpose}\n`)
    expect(resultsOf(await temp.search('uncommon purpose', { limit: 1 }))[0]).toMatchObject({
      id: 'mcp_own',
      item_type: 'mcp',
      source: 'user',
    })
    expect((await server('own')).data).toMatchObject({
      name: 'mcp_own',
      tool_type: 'mcp_server',
      path: expect.stringMatching(/config\/mcp_registry\.yaml#own$/),
      trust: { name: 'person' },
    })
    writeServerTool(temp, 'own.echo', 'mcp_own', 'echo')
    expect((await temp.run('own.echo', { word: 'hi' })).data).toMatchObject({
      output: expect.stringMatching(/ hi$/),
    })
    user(`mcps:\n  other: {command: node}\n`)
    expect(await server('own')).toMatchObject({ error: { code: 'NOT_FOUND' } })
    expect((await server('other')).data).toMatchObject({ name: 'mcp_other' })
    expect((await temp.run('own.echo')).error).toMatchObject({ code: 'EXECUTOR_MISSING' })
  })

  test('M1: the project overrides the user key by key, and may only switch off', async () => {
    user(`mcps:\n  a: {command: node, args: [x], timeout: 7}\n  b: {command: node, args: ["${SERVER}"]}\n`)
    project('mcps:\n  a: {timeout: 9}\n  b: {enabled: false}\n')
    expect((await server('a')).data).toMatchObject({
      source: 'project',
      metadata: { config: { command: 'node', args: ['x'], timeout: 9 } },
    })
    writeServerTool(temp, 'b.echo', 'mcp_b', 'echo')
    expect((await temp.run('b.echo')).error).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: 'Cannot run "b.echo": the server "mcp_b" is switched off',
    })
    user('mcps:\n  a: {command: other, args: [y]}\n')
    expect(await config('a')).toMatchObject({ command: 'other', args: ['y'], timeout: 9 })
  })

  test('M1: a name of a shipped server without a command switches that on', async () => {
    expect((await server('supabase')).data).toMatchObject({ source: 'builtin', metadata: { enabled: false } })
    user('mcps: {supabase: {}, slack: {timeout: 9}}')
    const { data } = await server('supabase')
    expect(data).toMatchObject({
      source: 'user',
      metadata: { config: { command: 'npx', env: { SUPABASE_ACCESS_TOKEN: '${SUPABASE_ACCESS_TOKEN}' } } },
    })
    expect(field(data, 'metadata', 'enabled')).toBeUndefined()
    expect(await config('slack')).toMatchObject({ command: 'npx', timeout: 9 })
  })

  test('M1: allowed paths go to the filesystem server, and to the sandbox of every server', async () => {
    user(
      'mcps:\n  filesystem: {allowed_paths: ["${PROJECT_PATH}", "~/notes"]}\n  plain: {command: x, allowed_paths: [/a]}\n',
    )
    const { data } = await server('mcp_filesystem')
    expect(field(data, 'metadata', 'config', 'args')).toEqual([
      '-y',
      expect.stringContaining('server-filesystem'),
      '${PROJECT_PATH}',
      '~/notes',
    ])
    expect(field(data, 'metadata', 'sandbox')).toEqual({
      level: 'off',
      write: ['${PROJECT_PATH}', '~/notes'],
    })
    const { data: plain } = await server('plain')
    expect(plain).toMatchObject({ metadata: { sandbox: { write: ['/a'] }, config: { args: [] } } })
  })

  test('M1: a list that is a link is not followed, and told so', async () => {
    const path = project('mcps: {}\n')
    renameSync(path, `${path}.kept`)
    symlinkSync(`${path}.kept`, path)
    const { metadata } = await temp.search('anything')
    expect(metadata.warnings?.join('\n')).toContain(`${path}:1:1": links are not followed here`)
    rmSync(path)
  })

  test('M2: an address of a websocket needs no type', async () => {
    project('mcps:\n  live: {url: "wss://x.example/mcp"}\n')
    expect((await server('live')).data).toMatchObject({ metadata: { config: { transport: 'websocket' } } })
  })

  test('M1: a fault is told with its place, and the others still count', async () => {
    const path = project('mcps:\n  good: {command: node}\n  bad: {comand: node}\n  empty: {}\n')
    const { metadata } = await temp.search('anything')
    expect(metadata.warnings?.join('\n')).toContain(`${path}:3:9`)
    expect(await server('bad')).toMatchObject({
      error: {
        code: 'INVALID_CONFIG',
        message: `Cannot use "${path}:3:9": "bad" has no key "comand": "command" is probably meant`,
      },
    })
    expect((await server('empty')).error?.message).toBe(
      `Cannot use "${path}:4:3": "empty" has neither "command" nor "url", and no server of this name is shipped`,
    )
    expect((await server('good')).data).toMatchObject({ name: 'mcp_good' })
  })
})

describe('M1: no value is shown', () => {
  test('M1: not by load, search or an error; names are', async () => {
    project(
      'mcps:\n  a: {url: "https://127.0.0.1:1/x", headers: {X-Key: canary-1, Y: "Bearer ${TOKEN}"}, auth: {type: bearer, token: canary-2}}\n  b: {command: node, env: {KEY: canary-3}}\n',
    )
    writeServerTool(temp, 'a.x', 'mcp_a', 'x')
    const seen = [
      await server('a'),
      await server('b'),
      await temp.search('a b server'),
      await temp.run('a.x'),
      await temp.call('execute', { item_type: 'tool', action: 'run', item_id: 'a.x', dry_run: true }),
    ]
    expect(JSON.stringify(seen)).not.toContain('canary')
    expect(await config('a')).toMatchObject({
      headers: { 'X-Key': '[hidden]', Y: 'Bearer ${TOKEN}' },
      auth: { type: 'bearer', token: '[hidden]' },
    })
  })
})

describe('M1: only a person changes the file', () => {
  test('FS-10: no tool writes it, and no action changes an entry', async () => {
    project('mcps:\n  a: {command: node}\n')
    const write = await temp.run('filesystem.write', { path: '.ai/config/mcp_registry.yaml', content: 'x' })
    expect(write.error).toMatchObject({ code: 'PERMISSION_DENIED' })
    for (const action of ['update', 'delete', 'publish', 'sign']) {
      const parameters = { confirm: true, description: 'x' }
      const reply = await temp.call('execute', { item_type: 'mcp', action, item_id: 'mcp_a', parameters })
      expect([action, reply.error?.code]).toEqual([action, 'INVALID_PARAMETERS'])
    }
    const copy = await temp.load('a', { item_type: 'mcp', destination: 'user' })
    expect(copy.error?.hint).toContain('kiwi add a')
  })

  test('N17: what an untrusted project lists is found and not started', async () => {
    const strange = await openTempKiwi({ isTrusted: false })
    try {
      strange.write('config/mcp_registry.yaml', `mcps:\n  s: {command: node, args: ["${SERVER}"]}\n`)
      expect((await strange.load('s', { item_type: 'mcp' })).data).toMatchObject({ name: 'mcp_s' })
      strange.write(
        'tools/s.echo.yaml',
        'tool_id: s.echo\ntool_type: mcp_tool\nexecutor: mcp_s\nversion: 1.0.0\ndescription: e\n',
      )
      expect((await strange.run('s.echo')).error).toMatchObject({ code: 'UNTRUSTED' })
    } finally {
      await strange.close()
    }
  })
})
