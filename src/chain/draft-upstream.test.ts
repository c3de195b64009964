import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field } from '../../test/fixtures/field.ts'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'

const SERVER = fileURLToPath(new URL('../../test/fixtures/upstream.mjs', import.meta.url))

let temp: TempChain
beforeAll(async () => {
  temp = await openTempChain({ environment: { TOKEN: 'canary-token' } })
  server('own', {})
})
afterAll(() => temp.close())

const server = (id: string, config: JsonObject, more: JsonObject = {}): void =>
  temp.tool(id, {
    tool_type: 'mcp_server',
    executor: 'subprocess',
    config: { transport: 'stdio', command: 'node', args: [SERVER], ...config },
    ...more,
  })
const tool = (id: string, name: string, config: JsonObject = {}, executor = 'own'): void =>
  temp.tool(id, {
    tool_type: 'mcp_tool',
    executor,
    config: { mcp_tool_name: name, ...config },
    input_schema: { type: 'object' },
  })
const output = async (id: string, parameters: JsonObject = {}): Promise<unknown> =>
  (await temp.run(id, parameters)).data['output']

describe('T1: a tool of an MCP server', () => {
  test('T1: is called by its name there, with its arguments, and nothing else is sent', async () => {
    tool('own.given', 'given')
    expect(await output('own.given', { a: [1, { b: null }] })).toEqual({
      name: 'given',
      arguments: { a: [1, { b: null }] },
    })
  })

  test('T1: without a name of its own it is called by its id behind the dot', async () => {
    temp.tool('own.echo', { tool_type: 'mcp_tool', executor: 'own', input_schema: { type: 'object' } })
    expect(await output('own.echo', { word: 'hi' })).toMatch(/^\d+ hi$/)
  })

  test.each([
    ['shape', { output: { rows: 2 } }],
    ['picture', { output: 'a\nb', content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] }],
    ['unsafe', { output: 'as text' }],
  ])('T1: what %s gives back becomes the result', async (name, data) => {
    tool(`own.${name}`, name)
    expect((await temp.run(`own.${name}`)).data).toEqual(data)
  })

  test('T1: what it reports as failed has failed, in its own words', async () => {
    tool('own.fails', 'fails')
    await expect(temp.run('own.fails')).rejects.toMatchObject({
      code: 'TOOL_FAILED',
      message: 'Cannot run "own.fails": it says "no such table"',
    })
  })

  test('T1: all tools of a server share one process, which knows nothing of a single call', async () => {
    tool('own.a', 'told')
    tool('own.b', 'told')
    const [one, other] = [await output('own.a', { x: 1 }), await output('own.b')]
    expect(Number(field(other, 'calls'))).toBe(Number(field(one, 'calls')) + 1)
    const env = field(one, 'env')
    expect(Object.keys(typeof env === 'object' && env !== null ? env : {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^KIWI_(?:PARAM|CALL)/)]),
    )
    expect(field(one, 'cwd')).toBe(realpathSync(temp.project))
  })

  test('T1: a call that takes too long ends by the time of the tool', async () => {
    tool('own.never', 'never', { timeout: 0.05 })
    await expect(temp.run('own.never')).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: 'Cannot use "own": it took longer than 0.05 s',
    })
  })
})

describe('a tool does not choose what its server is', () => {
  test('T1: command, arguments and variables of the tool change nothing', async () => {
    tool('own.sly', 'told', { args: ['-e', 'process.exit(9)'], env: { SLY: '1' }, command: 'false' })
    expect(field(await output('own.sly'), 'env', 'SLY')).toBeUndefined()
  })

  test('T1: another principal has a server of its own', async () => {
    tool('own.who', 'told')
    const plan = await temp.chain.resolver.current(parseItemRef('own.who'), temp.lookup)
    const draft = async (principal: string): Promise<unknown> =>
      (
        await temp.chain.draft(plan, {
          callId: 'c',
          principal,
          parameters: {},
          projectPath: temp.project,
          spaceRoot: null,
        })
      ).effect
    expect(field(await draft('ada'), 'key')).toBe(field(await draft('ada'), 'key'))
    expect(field(await draft('ada'), 'key')).not.toBe(field(await draft('bob'), 'key'))
  })
})

describe('what is not run', () => {
  test.each([
    ['is switched off', {}, { enabled: false }],
    ['is reached by another transport', { transport: 'streamable_http', url: 'https://example.com' }, {}],
  ])('T1: a tool whose server %s', async (_, config, more) => {
    server('idle', config, more)
    tool('idle.x', 'x', {}, 'idle')
    await expect(temp.draft('idle.x')).rejects.toMatchObject({
      code: 'UNKNOWN_ACTION',
      hint: 'A mcp_tool can be searched and loaded, not run',
    })
  })
})

describe('N1: a secret of a server', () => {
  test('N1: is granted to the server, and taken out of what it says and how it fails', async () => {
    server('safe', { env: { TOKEN: '${TOKEN}' } })
    tool('safe.told', 'told', {}, 'safe')
    await expect(temp.draft('safe.told')).rejects.toMatchObject({
      code: 'SECRET_NOT_GRANTED',
      details: { required: { tool: 'safe', names: ['TOKEN'] } },
    })
    const item = await temp.lookup.find(parseItemRef('safe'), 'mcp')
    if (item === null) throw new TypeError('it was just written')
    const hash = await temp.chain.digest([item], null)
    temp.grants.push({ tool: 'safe', hash, names: ['TOKEN'] })
    const said = await output('safe.told')
    expect(field(said, 'env', 'TOKEN')).not.toBe('canary-token')
    expect(JSON.stringify(said)).not.toContain('canary-token')
  })
})
