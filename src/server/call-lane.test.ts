import { PassThrough } from 'node:stream'
import { ProtocolError, Server } from '@modelcontextprotocol/server'
import { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { CallLane, Respond } from './call-lane.ts'
import { laneOf, offerLane } from './call-lane.ts'
import { lineTransport } from './line-transport.ts'

let client: Client
let taken: unknown[]
let lane: CallLane | null

/** Handlers by the name of the tool. */
const TOOLS: Readonly<Record<string, Respond>> = {
  echo: async ({ arguments: given }) => ({ content: [], structuredContent: given }),
  refused: () => Promise.reject(new ProtocolError(-32_602, 'no such thing', { why: 'x' })),
  broken: () => Promise.reject(new Error('out of order')),
  tells: async (_, { mcpReq }) => {
    const { _meta: { progressToken = 0 } = {} } = mcpReq
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
    return { content: [] }
  },
  asks: async (_, { mcpReq }) => {
    const { roots } = await mcpReq.send({ method: 'roots/list' }, { timeout: 5000 })
    return { content: [], structuredContent: { roots } }
  },
  waits: (_, { mcpReq }) =>
    new Promise((_resolve, reject) => {
      mcpReq.signal.addEventListener('abort', () => {
        taken.push('aborted')
        reject(new Error('aborted'))
      })
    }),
}

beforeEach(async () => {
  taken = []
  const server = new Server({ name: 'x', version: '1' }, { capabilities: { tools: {} } })
  const respond: Respond = (params, ctx) => (TOOLS[params.name] ?? TOOLS['refused'])?.(params, ctx) ?? never()
  server.setRequestHandler('tools/call', () => Promise.reject(new Error('the SDK was asked')))
  offerLane(server, respond)
  lane = laneOf(server)
  const [up, down] = [new PassThrough(), new PassThrough()]
  const shortcut = (message: unknown, answer: (message: object | null) => void): boolean => {
    const isTaken = lane?.take(message, answer) ?? false
    if (isTaken) taken.push(message)
    return isTaken
  }
  await server.connect(lineTransport(up, down, shortcut))
  client = new Client({ name: 'c', version: '1' }, { capabilities: { roots: {} } })
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///a' }] }))
  await client.connect(lineTransport(down, up, () => false))
})
afterEach(() => client.close())

const never = (): never => {
  throw new Error('no tool')
}

test('a call is answered without the SDK, and everything before it by the SDK', async () => {
  expect(taken).toEqual([])
  const result = await client.callTool({ name: 'echo', arguments: { a: [1, 'é'] } })
  expect(result.structuredContent).toEqual({ a: [1, 'é'] })
  expect(taken).toMatchObject([{ method: 'tools/call' }])
})

test('errors of the protocol keep code and data; others are internal', async () => {
  await expect(client.callTool({ name: 'refused' })).rejects.toMatchObject({
    code: -32_602,
    data: { why: 'x' },
  })
  await expect(client.callTool({ name: 'broken' })).rejects.toMatchObject({ code: -32_603 })
})

test('X2: within a call the client is told and asked', async () => {
  const heard: unknown[] = []
  await client.callTool({ name: 'tells' }, { onprogress: (progress) => heard.push(progress) })
  expect(heard).toEqual([{ progress: 1 }])
  const { structuredContent } = await client.callTool({ name: 'asks' })
  expect(structuredContent).toEqual({ roots: [{ uri: 'file:///a' }] })
})

test('X2: a call that is cancelled ends, and is not answered', async () => {
  const controller = new AbortController()
  const waiting = client.callTool({ name: 'waits' }, { signal: controller.signal })
  await vi.waitFor(() => expect(taken).toHaveLength(1))
  controller.abort()
  await expect(waiting).rejects.toThrow()
  await vi.waitFor(() => expect(taken).toContain('aborted'))
})

test('what has another form is left to the SDK, which says what is wrong with it', () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } }
  const odd = [
    null,
    { ...call, jsonrpc: '1.0' },
    { ...call, id: null },
    { ...call, id: 1.5 },
    { ...call, method: 'tools/list' },
    { ...call, params: undefined },
    { ...call, params: { name: 5 } },
    { ...call, params: { name: 'echo', arguments: [] } },
    { ...call, params: { name: 'echo', _meta: 5 } },
    { ...call, params: { name: 'echo', _meta: { progressToken: {} } } },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } },
    { jsonrpc: '2.0', method: 'notifications/cancelled' },
  ]
  expect(odd.map((message) => lane?.take(message, never))).toEqual(odd.map(() => false))
})

test('nothing is taken before a version is agreed on, nor of a server that offers no lane', () => {
  const server = new Server({ name: 'x', version: '1' }, { capabilities: { tools: {} } })
  expect(laneOf(server)).toBeNull()
  offerLane(server, () => Promise.resolve({}))
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } }
  expect(laneOf(server)?.take(call, never)).toBe(false)
})

test('closing it ends every call that runs', async () => {
  const waiting = client.callTool({ name: 'waits' }, { timeout: 60_000 })
  const failing = expect(waiting).rejects.toThrow()
  await vi.waitFor(() => expect(taken).toHaveLength(1))
  lane?.close()
  await vi.waitFor(() => expect(taken).toContain('aborted'))
  await client.close()
  await failing
})
