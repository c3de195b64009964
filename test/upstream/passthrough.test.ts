import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { TempServer } from '../e2e/temp-server.ts'
import { kiwi, startServer } from '../e2e/temp-server.ts'
import { field } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { overStdio } from '../fixtures/stdio-client.ts'
import { makeTalkingPlace } from '../fixtures/talking-place.ts'

type Era = 'legacy' | 'modern'
const UPSTREAMS = ['old', 'new'] as const
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

let place: Place
const servers = new Map<string, TempServer>()
const clients: Client[] = []
const asked: unknown[] = []

beforeAll(async () => {
  place = await makeTalkingPlace()
  for (const name of UPSTREAMS) servers.set(name, await startServer(place, ['--passthrough', name]))
}, 60_000)
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await Promise.all([...servers.values()].map((server) => server.stop()))
  place.remove()
})

async function connect(upstream: string, era: Era, way: 'stdio' | 'http'): Promise<Client> {
  const negotiation = era === 'modern' ? { versionNegotiation: { mode: 'auto' as const } } : {}
  const client = new Client({ name: 'test', version: '1' }, { capabilities: CAPABILITIES, ...negotiation })
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params)
    return { action: 'accept', content: { colour: 'red' } }
  })
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'hello' },
    model: 'm',
  }))
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///tmp' }] }))
  const { url = '', token = '' } = servers.get(upstream) ?? {}
  await client.connect(
    way === 'stdio'
      ? overStdio(place, ['stdio', '--passthrough', upstream])
      : new StreamableHTTPClientTransport(new URL(url), {
          requestInit: { headers: { Authorization: `Bearer ${token}` } },
        }),
  )
  clients.push(client)
  return client
}

const WAYS = [
  ['an older client over HTTP', 'legacy', 'http'],
  ['a newer client over HTTP', 'modern', 'http'],
  ['an older client on stdio', 'legacy', 'stdio'],
  ['a newer client on stdio', 'modern', 'stdio'],
] as const

describe.each(WAYS)('X2: %s', (_, era, way) => {
  describe.each(UPSTREAMS)('that sees the server %s whole', (upstream) => {
    let client: Client
    beforeAll(async () => {
      client = await connect(upstream, era, way)
    }, 60_000)
    const call = (name: string, options?: object): Promise<unknown> =>
      client.callTool({ name, arguments: {} }, options)

    test('X2: has its tools, under the names it gave them', async () => {
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['form', 'counts', 'told']))
      expect(client.getServerVersion()).toMatchObject({ name: 'talking' })
    })

    test('X2: is asked in its own era, and the result is as the server gave it', async () => {
      expect(await call('form')).toMatchObject({
        structuredContent: { action: 'accept', content: { colour: 'red' } },
      })
      expect(asked.at(-1)).toMatchObject({ message: `${upstream} asks: Which colour?` })
      expect(await call('sample')).toMatchObject({ structuredContent: { content: { text: 'hello' } } })
      expect(await call('roots')).toMatchObject({ structuredContent: { roots: [{ uri: 'file:///tmp' }] } })
    })

    test('X2: is asked again and again, where the server wants to know more', async () => {
      const answer = { action: 'accept', content: { colour: 'red' } }
      expect(await call('thrice')).toMatchObject({ structuredContent: { a: answer, b: answer, c: answer } })
    })

    test('X2: hears of progress', async () => {
      const heard: unknown[] = []
      await call('counts', { onprogress: (progress: unknown) => heard.push(field(progress, 'message')) })
      expect(heard).toEqual(['step 1', 'step 2.5', 'step 4'])
    })

    test('X2: hears the log from the level on that it set', async () => {
      const heard: unknown[] = []
      client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.level))
      const level = { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } }
      if (era === 'legacy') await client.setLoggingLevel('debug')
      await client.callTool({ name: 'counts', arguments: {}, ...(era === 'legacy' ? {} : level) })
      expect(heard).toEqual(['debug', 'warning', 'warning'])
    })

    test('X2: hears of changes of the resources it asked for, and of no others', async () => {
      const heard: unknown[] = []
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
        heard.push(params.uri)
      })
      if (era === 'modern') await client.listen({ resourceSubscriptions: ['test://a'] })
      else await client.subscribeResource({ uri: 'test://a' })
      // Nothing says when a server has heard who listens.
      await vi.waitFor(
        async () => {
          await call('touches')
          expect(heard).toContain('test://a')
        },
        { timeout: 20_000, interval: 300 },
      )
      expect(heard).not.toContain('test://b')
      if (era === 'modern') return
      expect(await client.unsubscribeResource({ uri: 'test://a' })).toEqual({})
      expect(await client.setLoggingLevel('warning')).toEqual({})
    })

    test('X2, M5: goes on hearing of changes when the server was lost and is back', async () => {
      const heard: unknown[] = []
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
        heard.push(params.uri)
      })
      if (era === 'modern') await client.listen({ resourceSubscriptions: ['test://b'] })
      else await client.subscribeResource({ uri: 'test://b' })
      await vi.waitFor(() => touched(heard), { timeout: 20_000, interval: 300 })
      const first = await pid()
      process.kill(first, 'SIGKILL')
      await vi.waitFor(async () => expect([0, first]).not.toContain(await pid()), {
        timeout: 20_000,
        interval: 300,
      })
      // What it missed meanwhile it is told once, and then hears what is new.
      await vi.waitFor(() => expect(heard.length).toBeGreaterThan(1), { timeout: 20_000, interval: 100 })
      heard.length = 0
      await vi.waitFor(() => touched(heard), { timeout: 20_000, interval: 300 })
      if (era === 'legacy') await client.unsubscribeResource({ uri: 'test://b' })
    })
    // The same call again and again would come before a person.
    const at = (): { at: number } => ({ at: performance.now() })
    const pid = async (): Promise<number> =>
      Number(field(await client.callTool({ name: 'pid', arguments: at() }), 'structuredContent', 'pid') ?? 0)
    const touched = async (heard: readonly unknown[]): Promise<void> => {
      await client.callTool({ name: 'touches', arguments: at() })
      expect(heard).toContain('test://b')
    }

    test('INJ-09: is not asked for a credential', async () => {
      const before = asked.length
      await call('password').catch(() => undefined)
      expect(asked.length).toBe(before)
    })

    test('X2: is told of a tool that there is none', async () => {
      await expect(call('nothing')).rejects.toMatchObject({ code: -32_602 })
    })
  })
})

test('M6: every request stands in the journal, by its method, and no tool was called outside of it', async () => {
  const { stdout } = await kiwi(place, ['audit', '--json', '--limit', '500'])
  const text = stdout
  for (const operation of ['mcp.describe', 'mcp.tools/list', 'mcp.tools/call'])
    expect(text).toContain(operation)
  expect(text).toContain('old.form')
  expect(text).toContain('new.form')
})

test('a server that nobody knows is said at once', async () => {
  const { code, stdout } = await kiwi(place, ['serve', '--passthrough', 'nobody', '--json'])
  expect(code).not.toBe(0)
  expect(stdout).toContain('NOT_FOUND')
})
