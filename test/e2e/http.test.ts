import { statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import type { TempServer } from './temp-server.ts'
import { kiwi, startServer } from './temp-server.ts'

let place: Place
let server: TempServer
beforeAll(async () => {
  place = makePlace()
  server = await startServer(place)
})
afterAll(async () => {
  await server.stop()
  place.remove()
})

const RUN = (item_id: string) => ({ item_type: 'tool', action: 'run', item_id, parameters: { name: 'Ada' } })
const withToken = () => ({ requestInit: { headers: { Authorization: `Bearer ${server.token}` } } })

describe.each(['legacy', 'auto'] as const)('a client of the %s era', (era) => {
  let client: Client
  beforeAll(async () => {
    const negotiation = era === 'legacy' ? {} : { versionNegotiation: { mode: 'auto' as const } }
    client = new Client({ name: 'test', version: '1' }, { capabilities: {}, ...negotiation })
    await client.connect(new StreamableHTTPClientTransport(new URL(server.url), withToken()))
  })
  afterAll(() => client.close())

  test('S1, X3: sees exactly four tools', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['search', 'load', 'execute', 'help'])
  })

  test.each(['hello_world', 'hello_bash', 'hello_node'])('runs %s', async (id) => {
    const result = await client.callTool({ name: 'execute', arguments: RUN(id) })
    expect(result.structuredContent).toMatchObject({ status: 'success', data: { output: 'Hello, Ada!\n' } })
  })

  test('many calls at once each get their own answer', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`)
    const results = await Promise.all(
      names.map((name) =>
        client.callTool({ name: 'execute', arguments: { ...RUN('hello_bash'), parameters: { name } } }),
      ),
    )
    expect(results.map(({ structuredContent }) => field(structuredContent, 'data', 'output'))).toEqual(
      names.map((name) => `Hello, ${name}!\n`),
    )
  })
})

test('a client of the first SDK works over HTTP', async () => {
  const client = new ClientV1({ name: 'old', version: '1' })
  await client.connect(new HttpTransportV1(new URL(server.url), withToken()))
  const { tools } = await client.listTools()
  expect(tools).toHaveLength(4)
  await client.close()
})

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
}
const HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
const post = (
  body: string | Uint8Array<ArrayBuffer> | object,
  headers: Record<string, string> = {},
  path = '',
): Promise<Response> =>
  fetch(server.url + path, {
    method: 'POST',
    headers: { ...HEADERS, Authorization: `Bearer ${server.token}`, ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  })

describe('the guards', () => {
  test('HTTP-02: without a token: 401 with the challenge; the token is in a file only its owner can read', async () => {
    const response = await fetch(server.url, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify(INITIALIZE),
    })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toContain('Bearer')
    expect(statSync(join(place.folder, 'user/kiwi.token')).mode & 0o777).toBe(0o600)
  })

  test('HTTP-04: wrong, empty, shorter, longer and misplaced tokens get the same answer', async () => {
    const answers = await Promise.all(
      [
        'Bearer',
        'Bearer ',
        'Bearer x',
        `Bearer ${server.token}x`,
        `Bearer ${server.token.slice(1)}`,
        `Basic ${server.token}`,
        server.token,
      ].map(async (Authorization) => {
        const response = await post(INITIALIZE, { Authorization })
        return [response.status, await response.text()]
      }),
    )
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]?.[0]).toBe(401)
  })

  test('HTTP-01: a foreign Origin is refused, a local one is not', async () => {
    expect((await post(INITIALIZE, { Origin: 'http://evil.example.com' })).status).toBe(403)
    expect((await post(INITIALIZE, { Origin: 'null' })).status).toBe(403)
    expect((await post(INITIALIZE, { Origin: 'http://localhost:3000' })).status).toBe(200)
  })

  /** A request as bytes, for what `fetch` would not send. */
  const raw = (head: string): Promise<string> =>
    new Promise((resolve) => {
      const { hostname, port } = new URL(server.url)
      const socket = connect(Number(port), hostname, () => {
        socket.end(`${head}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`)
      })
      let text = ''
      socket.on('data', (chunk) => (text += String(chunk))).on('close', () => resolve(text))
    })

  test('HTTP-01, CVE-2025-66414: a foreign Host is refused before anything else', async () => {
    expect(await raw('POST /mcp HTTP/1.1\r\nHost: evil.example.com')).toMatch(/^HTTP\/1\.1 403/)
  })

  test.each(['//', '///', '//mcp', '/\\', 'http://', '*', '/mcp/', '/MCP', '/x/../mcp'])(
    'HTTP-11: nothing is at %s',
    async (target) => {
      expect(await raw(`POST ${target} HTTP/1.1\r\nHost: localhost`)).toMatch(/^HTTP\/1\.1 404/)
    },
  )

  test.each(['PUT', 'OPTIONS', 'PATCH', 'HEAD'])('%s is 405, with the methods there are', async (method) => {
    const ask = (headers: Record<string, string>): Promise<Response> => fetch(server.url, { method, headers })
    const response = await ask({ Authorization: `Bearer ${server.token}` })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('GET, POST, DELETE')
    expect((await ask({})).status).toBe(401)
  })

  test('it listens on loopback only', () => {
    expect(new URL(server.url).hostname).toBe('127.0.0.1')
  })

  test('another content type is 415, another path 404, broken JSON 400', async () => {
    for (const type of [
      'text/plain',
      'application/json-patch+json',
      'application/json5',
      'application/json x',
    ])
      expect((await post(INITIALIZE, { 'Content-Type': type })).status).toBe(415)
    for (const type of ['application/json', 'application/json;charset=utf-8', 'Application/JSON ; x=y'])
      expect((await post(INITIALIZE, { 'Content-Type': type })).status).toBe(200)
    expect((await post(INITIALIZE, {}, '/../other')).status).toBe(404)
    expect((await post('{"jsonrpc": ')).status).toBe(400)
  })

  test('a body over 4 MiB is 413, and the next request is served', async () => {
    const big = JSON.stringify({ ...INITIALIZE, params: { x: 'y'.repeat(5 * 1024 * 1024) } })
    expect((await post(big)).status).toBe(413)
    expect((await post(INITIALIZE)).status).toBe(200)
  })

  test('PAR-02: a body nested 100 000 deep is refused before it is parsed', async () => {
    const response = await post(
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
    )
    expect(response.status).toBe(400)
  })

  test('PAR-12: a body that is not UTF-8 is refused, not mended', async () => {
    const bytes = Buffer.from(JSON.stringify({ ...INITIALIZE, id: 'a\u00FF' }), 'latin1')
    const response = await post(new Uint8Array(bytes))
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('-32700')
  })

  test('HTTP-13: a key given twice is refused, in any spelling, and methods are case-sensitive', async () => {
    expect((await post('{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}')).status).toBe(
      400,
    )
    expect(
      (await post('{"jsonrpc":"2.0","id":1,"method":"tools/list","\\u006dethod":"tools/call"}')).status,
    ).toBe(400)
    const session = (await post(INITIALIZE)).headers.get('mcp-session-id') ?? ''
    const answer = await post({ jsonrpc: '2.0', id: 2, method: 'Tools/List' }, { 'Mcp-Session-Id': session })
    expect(await answer.text()).toContain('-32601')
  })

  test('HTTP-11: malformed requests are answered and the server lives', async () => {
    const session = (await post(INITIALIZE)).headers.get('mcp-session-id') ?? ''
    for (const body of [
      { id: 1, method: 'x' },
      { jsonrpc: '2.0', id: null, method: 7 },
      { jsonrpc: '2.0', id: {}, method: 'x' },
      [],
      'null',
      '7',
    ]) {
      const response = await post(body, { 'Mcp-Session-Id': session })
      expect(response.status).toBeGreaterThanOrEqual(400)
      expect(response.status).toBeLessThan(500)
    }
    expect((await post(INITIALIZE)).status).toBe(200)
  })

  test('HTTP-12: in the newer era headers and body must agree', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
    }
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'help', arguments: {}, _meta: meta },
    }
    const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'help' }
    expect((await post(call, headers)).status).toBe(200)
    const crossed = await post(call, { ...headers, 'Mcp-Name': 'execute' })
    expect(crossed.status).toBe(400)
    expect(await crossed.text()).toContain('-32020')
  })

  test('a session that is not known is 404, and one that is missing 400', async () => {
    expect(
      (await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'Mcp-Session-Id': 'nobody' })).status,
    ).toBe(404)
    expect((await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(400)
  })
})

test('HTTP-16: a client that goes away takes its call with it, and the record says so', async () => {
  const client = new Client(
    { name: 'leaver', version: '1' },
    { capabilities: {}, versionNegotiation: { mode: 'auto' } },
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url), withToken()))
  const parameters = {
    manifest: { tool_type: 'bash', description: 'x' },
    files: { 'main.sh': '#!/bin/bash\nsleep 300' },
  }
  await client.callTool({
    name: 'execute',
    arguments: { item_type: 'tool', action: 'create', item_id: 'long', parameters },
  })
  const leave = new AbortController()
  const call = client.callTool(
    { name: 'execute', arguments: { item_type: 'tool', action: 'run', item_id: 'long' } },
    { signal: leave.signal },
  )
  setTimeout(() => leave.abort(), 500)
  await expect(call).rejects.toThrow()
  let records = ''
  for (let tries = 0; tries < 20 && !records.includes('cancelled'); tries++) {
    records = (await kiwi(place, ['audit', '--tool', 'long', '--json'])).stdout
  }
  expect(records).toContain('"status":"cancelled"')
  await client.close()
})

describe('starting', () => {
  test('HTTP-02: --no-auth is explicit', async () => {
    const open = await startServer(place, ['--no-auth'])
    try {
      const response = await fetch(open.url, {
        method: 'POST',
        headers: HEADERS,
        body: JSON.stringify(INITIALIZE),
      })
      expect(response.status).toBe(200)
    } finally {
      await open.stop()
    }
  })

  test('a port that is taken is said, with what to do and its exit code', async () => {
    const { port } = new URL(server.url)
    const { code, stderr } = await kiwi(place, ['serve', '--port', port])
    expect(code).toBe(6)
    expect(stderr).toContain('PORT_IN_USE')
    expect(stderr).toContain('--port')
  })

  test('two servers share one store: what one makes the other runs', async () => {
    const second = await startServer(place)
    const clients = await Promise.all(
      [server, second].map(async ({ url }) => {
        const client = new Client({ name: 'pair', version: '1' })
        await client.connect(new StreamableHTTPClientTransport(new URL(url), withToken()))
        return client
      }),
    )
    try {
      const [one, two] = clients
      const parameters = {
        manifest: { tool_type: 'bash', description: 'x' },
        files: { 'main.sh': '#!/bin/bash\necho from the other side' },
        location: 'registry',
      }
      await one?.callTool({
        name: 'execute',
        arguments: { item_type: 'tool', action: 'create', item_id: 'common', parameters },
      })
      const result = await two?.callTool({
        name: 'execute',
        arguments: { item_type: 'tool', action: 'run', item_id: 'common' },
      })
      expect(result?.structuredContent).toMatchObject({ data: { output: 'from the other side\n' } })
    } finally {
      await Promise.all(clients.map((client) => client.close()))
      await second.stop()
    }
  })
})
