import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field, textField } from '../fixtures/field.ts'
import { isAlive } from '../fixtures/probe.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { CLI, kiwi } from './temp-server.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
})
afterAll(() => place.remove())

const launch = () => ({ command: process.execPath, args: [CLI], cwd: place.project, env: { ...place.env } })
const RUN = (item_id: string) => ({ item_type: 'tool', action: 'run', item_id, parameters: { name: 'Ada' } })

describe.each(['legacy', 'auto'] as const)('a client of the %s era', (era) => {
  let client: Client
  beforeAll(async () => {
    const negotiation = era === 'legacy' ? {} : { versionNegotiation: { mode: 'auto' as const } }
    client = new Client({ name: 'test', version: '1' }, { capabilities: {}, ...negotiation })
    await client.connect(new StdioClientTransport(launch()))
  })
  afterAll(() => client.close())

  test('S1: sees exactly four tools, with their hints', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['search', 'load', 'execute', 'help'])
    for (const { name, annotations } of tools) {
      expect(annotations).toEqual(
        name === 'execute' ? { destructiveHint: true, openWorldHint: true } : { readOnlyHint: true },
      )
    }
  })

  test('gets instructions that make sense alone', () => {
    expect(client.getInstructions()).toContain('search')
    expect(Buffer.byteLength(client.getInstructions() ?? '')).toBeLessThan(2048)
  })

  test.each(['hello_world', 'hello_bash', 'hello_node'])(
    'runs %s and gets the reply as data and as text',
    async (id) => {
      const result = await client.callTool({ name: 'execute', arguments: RUN(id) })
      expect(result.isError).toBe(false)
      expect(result.structuredContent).toMatchObject({ status: 'success', data: { output: 'Hello, Ada!\n' } })
      expect(JSON.parse(textField(result.content, 0, 'text'))).toEqual(result.structuredContent)
    },
  )

  test('S14: an error is a result that says so, with what to do next', async () => {
    const result = await client.callTool({
      name: 'execute',
      arguments: { ...RUN('hello_bash'), colour: 'red' },
    })
    expect(result.isError).toBe(true)
    expect(result.structuredContent).toMatchObject({
      error: { code: 'UNKNOWN_ARGUMENT', message: expect.stringContaining('"colour"') },
    })
  })

  test('a tool that is none of the four is misuse of the protocol', async () => {
    await expect(client.callTool({ name: 'hello_bash', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    })
  })
})

test('S1: a client of the first SDK sees the same four tools and runs one', async () => {
  const client = new ClientV1({ name: 'old', version: '1' })
  await client.connect(new StdioTransportV1(launch()))
  try {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['search', 'load', 'execute', 'help'])
    const result = await client.callTool({ name: 'execute', arguments: RUN('hello_bash') })
    expect(result['structuredContent']).toMatchObject({ status: 'success' })
  } finally {
    await client.close()
  }
})

test("S11: the project is the client's root when it declares one, else where the server was started", async () => {
  const root = join(place.folder, 'a root')
  const client = new Client(
    { name: 'rooted', version: '1' },
    { capabilities: { roots: { listChanged: true } } },
  )
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: pathToFileURL(root).href }] }))
  mkdirSync(join(root, '.ai/tools/where'), { recursive: true })
  writeFileSync(
    join(root, '.ai/tools/where/tool.yaml'),
    'tool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: x\n',
  )
  writeFileSync(join(root, '.ai/tools/where/main.sh'), 'printf %s "$KIWI_PROJECT_PATH"')
  await kiwi(place, ['trust', '--yes', '--project', root])
  await client.connect(new StdioClientTransport(launch()))
  try {
    const result = await client.callTool({
      name: 'execute',
      arguments: { item_type: 'tool', action: 'run', item_id: 'where' },
    })
    expect(result.structuredContent).toMatchObject({ data: { output: root } })
  } finally {
    await client.close()
  }
})

test('a message too large for a call, or for a line, is answered, and the connection goes on', async () => {
  const client = new Client({ name: 'large', version: '1' })
  await client.connect(new StdioClientTransport(launch()))
  const greet = (name: string): ReturnType<typeof client.callTool> =>
    client.callTool({
      name: 'execute',
      arguments: { item_type: 'tool', action: 'run', item_id: 'hello_bash', parameters: { name } },
    })
  try {
    const { structuredContent } = await greet('x'.repeat(5_000_000))
    expect(structuredContent).toMatchObject({ error: { code: 'MESSAGE_TOO_LARGE' } })
    await expect(greet('x'.repeat(12_000_000))).rejects.toMatchObject({ code: -32_600 })
    expect((await greet('Ada')).structuredContent).toMatchObject({ data: { output: 'Hello, Ada!\n' } })
  } finally {
    await client.close()
  }
})

test('S11: a call does not wait long for a root, and one that comes late is used from then on', async () => {
  const root = join(place.folder, 'a late root')
  mkdirSync(root)
  const client = new Client({ name: 'late', version: '1' }, { capabilities: { roots: {} } })
  let asked = 0
  const { promise: isTold, resolve: tell } = withResolvers()
  client.setRequestHandler('roots/list', async () => {
    asked += 1
    await isTold
    return { roots: [{ uri: pathToFileURL(root).href }] }
  })
  await client.connect(new StdioClientTransport(launch()))
  const create = async (item_id: string): Promise<unknown> => {
    const parameters = { manifest: { tool_type: 'bash', description: 'x' }, files: { 'main.sh': 'true' } }
    const args = { item_type: 'tool', action: 'create', item_id, parameters }
    const { structuredContent } = await client.callTool({ name: 'execute', arguments: args })
    return structuredContent
  }
  try {
    for (const id of ['early', 'still_early'])
      expect(await create(id)).toMatchObject({ data: { path: expect.stringContaining(`${place.project}/`) } })
    tell()
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(await create('late')).toMatchObject({ data: { path: expect.stringContaining(`${root}/`) } })
    expect(asked).toBe(1)
  } finally {
    await client.close()
  }
})

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}

describe('the process', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  }
  const line = (message: object): string => `${JSON.stringify(message)}\n`

  test('every line on standard output is a message of the protocol, whatever a tool prints', async () => {
    const child = spawn(process.execPath, [CLI], {
      cwd: place.project,
      env: { ...place.env, KIWI_LOG_LEVEL: 'debug' },
    })
    let out = ''
    child.stdout.on('data', (chunk) => (out += String(chunk)))
    child.stdin.write(line(initialize) + line({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    child.stdin.write(
      line({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'execute', arguments: RUN('hello_bash') },
      }),
    )
    child.stdin.write('this is not JSON\n')
    child.stdin.write(line({ jsonrpc: '2.0', id: 2, method: 'tools/list' }))
    for (let tries = 0; tries < 200 && !(out.includes('"id":1') && out.includes('"id":2')); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    child.stdin.end()
    await once(child, 'close')
    const lines = out.trimEnd().split('\n')
    expect(lines.length).toBeGreaterThanOrEqual(3)
    for (const each of lines) expect(JSON.parse(each)).toMatchObject({ jsonrpc: '2.0' })
  })

  test('HTTP-13, PAR-02, PAR-12: a line that HTTP would refuse is refused here too, and the connection goes on', async () => {
    const child = spawn(process.execPath, [CLI], { cwd: place.project, env: place.env })
    let out = ''
    child.stdout.on('data', (chunk) => (out += String(chunk)))
    const call = (args: string): string =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":${args}}}\n`
    child.stdin.write(line(initialize) + line({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    child.stdin.write(call('{"item_type":"tool","action":"run","item_id":"nope","item_id":"hello_bash"}'))
    child.stdin.write(call('['.repeat(100_000)))
    child.stdin.write('{"jsonrpc": \n')
    child.stdin.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]))
    child.stdin.write(`"${'x'.repeat(12 * 1024 * 1024)}"\n`)
    child.stdin.write(line({ jsonrpc: '2.0', id: 2, method: 'tools/list' }))
    for (let tries = 0; tries < 200 && !out.includes('"id":2'); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    child.stdin.end()
    await once(child, 'close')
    const answers = out
      .trimEnd()
      .split('\n')
      .map((each): unknown => JSON.parse(each))
    const refusals = answers.filter((answer) => field(answer, 'error') !== undefined)
    expect(refusals.map((answer) => [field(answer, 'id'), field(answer, 'error', 'code')])).toEqual([
      [1, -32_600],
      [null, -32_600],
      [null, -32_700],
      [null, -32_700],
      [null, -32_600],
    ])
    expect(answers).toContainEqual(expect.objectContaining({ id: 2, result: expect.anything() }))
  })

  test.each(['end of input', 'SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'R-16: %s ends it and the tool it runs within seconds',
    async (how) => {
      const child = spawn(process.execPath, [CLI], {
        cwd: place.project,
        env: place.env,
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      const mark = join(place.folder, `pid ${how}`)
      child.stdin.write(line(initialize) + line({ jsonrpc: '2.0', method: 'notifications/initialized' }))
      const create = {
        item_type: 'tool',
        action: 'create',
        item_id: `sleeper_${how.replaceAll(' ', '_')}`,
        parameters: {
          manifest: { tool_type: 'bash', description: 'x' },
          files: { 'main.sh': `sleep 300 & echo $! > '${mark}'; wait` },
        },
      }
      const call = (id: number, args: object): string =>
        line({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'execute', arguments: args } })
      child.stdin.write(call(1, create))
      for await (const chunk of child.stdout) if (String(chunk).includes('"id":1')) break
      child.stdin.write(call(2, { item_type: 'tool', action: 'run', item_id: create.item_id }))
      for (
        let tries = 0;
        tries < 200 && !(existsSync(mark) && readFileSync(mark, 'utf8').trim() !== '');
        tries++
      ) {
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
      const pid = Number(readFileSync(mark, 'utf8'))
      expect(isAlive(pid)).toBe(true)
      if (how === 'end of input') child.stdin.end()
      else child.kill(how)
      await once(child, 'exit')
      expect(isAlive(pid)).toBe(false)
    },
  )
})
