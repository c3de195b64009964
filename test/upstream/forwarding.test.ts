import { Client, LOG_LEVEL_META_KEY, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TempServer } from '../e2e/temp-server.ts'
import { CLI, startServer } from '../e2e/temp-server.ts'
import { field } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makeTalkingPlace } from '../fixtures/talking-place.ts'

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} }
const ROOTS = [{ uri: 'file:///tmp', name: 'here' }]
const SAMPLED = { role: 'assistant' as const, content: { type: 'text' as const, text: 'hello' }, model: 'm' }

/** A client, and what it was asked and told. */
interface Talker {
  readonly asked: { readonly method: string; readonly params: unknown }[]
  readonly logged: unknown[]
  run(tool: string, options?: object): Promise<unknown>
  setLevel(): Promise<unknown>
  close(): Promise<unknown>
}

let place: Place
let server: TempServer
const opened: Talker[] = []
beforeAll(async () => {
  place = await makeTalkingPlace()
  server = await startServer(place)
}, 60_000)
afterAll(async () => {
  await Promise.all(opened.map((talker) => talker.close()))
  await server.stop()
  place.remove()
})

const runOf = (tool: string): { name: string; arguments: Record<string, unknown> } => ({
  name: 'execute',
  arguments: { item_type: 'tool', action: 'run', item_id: tool, parameters: {}, project_path: place.project },
})
const child = (): { command: string; args: string[]; cwd: string; env: Record<string, string> } => ({
  command: process.execPath,
  args: [CLI],
  cwd: place.project,
  env: { ...place.env },
})
const viaHttp = (): StreamableHTTPClientTransport =>
  new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers: { Authorization: `Bearer ${server.token}` } },
  })

async function open(
  era: 'legacy' | 'modern',
  way: 'stdio' | 'http',
  capabilities: object = CAPABILITIES,
): Promise<Talker> {
  const asked: Talker['asked'] = []
  const logged: unknown[] = []
  let meta = {}
  const negotiation = era === 'modern' ? { versionNegotiation: { mode: 'auto' as const } } : {}
  const client = new Client({ name: 'test', version: '1' }, { capabilities, ...negotiation })
  if ('elicitation' in capabilities)
    client.setRequestHandler('elicitation/create', ({ method, params }) => {
      asked.push({ method, params })
      return params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { colour: 'red' } }
    })
  if ('sampling' in capabilities)
    client.setRequestHandler('sampling/createMessage', ({ method, params }) => {
      asked.push({ method, params })
      return SAMPLED
    })
  if ('roots' in capabilities) client.setRequestHandler('roots/list', () => ({ roots: ROOTS }))
  client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params))
  await client.connect(way === 'stdio' ? new StdioClientTransport(child()) : viaHttp())
  const talker: Talker = {
    asked,
    logged,
    run: async (tool, options) =>
      (await client.callTool({ ...runOf(tool), ...meta }, options)).structuredContent,
    async setLevel() {
      if (era === 'modern') meta = { _meta: { [LOG_LEVEL_META_KEY]: 'info' } }
      else await client.request({ method: 'logging/setLevel', params: { level: 'info' } })
    },
    close: () => client.close(),
  }
  opened.push(talker)
  return talker
}

/** A client as most of them are today. */
async function openFirst(): Promise<Talker> {
  const asked: Talker['asked'] = []
  const logged: unknown[] = []
  const client = new FirstClient({ name: 'test', version: '1' }, { capabilities: CAPABILITIES })
  client.setRequestHandler(ElicitRequestSchema, ({ method, params }) => {
    asked.push({ method, params })
    return params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { colour: 'red' } }
  })
  client.setRequestHandler(CreateMessageRequestSchema, ({ method, params }) => {
    asked.push({ method, params })
    return SAMPLED
  })
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: ROOTS }))
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params))
  await client.connect(new FirstTransport(child()))
  const talker: Talker = {
    asked,
    logged,
    run: async (tool, options) => (await client.callTool(runOf(tool), undefined, options)).structuredContent,
    setLevel: () => client.setLoggingLevel('info'),
    close: () => client.close(),
  }
  opened.push(talker)
  return talker
}

const CLIENTS = [
  ['an older client on stdio', () => open('legacy', 'stdio')],
  ['an older client over HTTP', () => open('legacy', 'http')],
  ['a newer client on stdio', () => open('modern', 'stdio')],
  ['a newer client over HTTP', () => open('modern', 'http')],
  ['a client of the first SDK', openFirst],
] as const

describe.each(CLIENTS)('X2: %s', (_, connect) => {
  let talker: Talker
  beforeAll(async () => {
    talker = await connect()
  }, 60_000)

  test('X2: opens an address that a call needs first', async () => {
    expect(await talker.run('old.address_first')).toMatchObject({
      error: {
        code: 'TOOL_FAILED',
        message: 'Cannot call "old.address_first": a person has to open "pay.example.com" first',
        hint: expect.stringContaining('send the call again once they are done'),
      },
    })
    expect(talker.asked.at(-1)?.params).toMatchObject({
      mode: 'url',
      url: 'https://pay.example.com/x',
      message: 'old wants you to open pay.example.com: Pay',
    })
  })

  describe.each(['old', 'new'])('and the upstream %s', (upstream) => {
    test('X2: fills in a form that says who asks', async () => {
      expect(await talker.run(`${upstream}.form`)).toMatchObject({
        status: 'success',
        data: { output: { action: 'accept', content: { colour: 'red' } } },
      })
      expect(talker.asked.at(-1)).toMatchObject({
        method: 'elicitation/create',
        params: {
          message: `${upstream} asks: Which colour?`,
          requestedSchema: { properties: { colour: { type: 'string' } } },
        },
      })
    })

    test('X2, INJ-08: opens an address whose host is shown', async () => {
      expect(await talker.run(`${upstream}.url`)).toMatchObject({ data: { output: { action: 'accept' } } })
      expect(talker.asked.at(-1)?.params).toMatchObject({
        mode: 'url',
        url: 'https://pay.example.com/x',
        message: `${upstream} wants you to open pay.example.com: Pay`,
      })
    })

    test('X2, INJ-09: samples where that is granted, without the context of others', async () => {
      expect(await talker.run(`${upstream}.sample`)).toMatchObject({ data: { output: SAMPLED } })
      const { params } = talker.asked.at(-1) ?? {}
      expect(params).toMatchObject({ maxTokens: 10 })
      expect(field(params, 'includeContext')).toBeUndefined()
    })

    test('X2: samples with the tools that the upstream brings along', async () => {
      expect(await talker.run(`${upstream}.sample_tools`)).toMatchObject({ data: { output: SAMPLED } })
      expect(talker.asked.at(-1)?.params).toMatchObject({ tools: [{ name: 'add' }] })
    })

    test('X2: lists roots, and answers several questions at once and several after each other', async () => {
      expect(await talker.run(`${upstream}.roots`)).toMatchObject({ data: { output: { roots: ROOTS } } })
      expect(await talker.run(`${upstream}.two`)).toMatchObject({
        data: { output: { a: { action: 'accept' }, b: { roots: ROOTS } } },
      })
      // Every round has a token of its own.
      const thrice = await talker.run(`${upstream}.thrice`, { onprogress: () => {} })
      expect(thrice).toMatchObject({ data: { output: { a: { action: 'accept' }, c: { action: 'accept' } } } })
    })

    test('X2: hears of progress by its own token, with the numbers as they were sent', async () => {
      const heard: unknown[] = []
      const ran = await talker.run(`${upstream}.counts`, {
        onprogress: (step: unknown) => void heard.push(step),
      })
      expect(ran).toMatchObject({ data: { output: 'counted' } })
      expect(heard).toEqual([
        { progress: 1, total: 4, message: 'step 1' },
        { progress: 2.5, total: 4, message: 'step 2.5' },
        { progress: 4, total: 4, message: 'step 4' },
      ])
    })

    test('X2: that gives up on a call ends it at the upstream', async () => {
      const before = Number(field(await talker.run(`${upstream}.told`), 'data', 'output', 'cancelled'))
      const ending = new AbortController()
      const cut = talker.run(`${upstream}.slow`, { signal: ending.signal }).catch(() => 'cut off')
      setTimeout(() => ending.abort(), 500)
      expect(await cut).toBe('cut off')
      await expect
        .poll(async () => field(await talker.run(`${upstream}.told`), 'data', 'output', 'cancelled'), {
          timeout: 20_000,
        })
        .toBe(before + 1)
    })
  })

  test('X2: hears the log from the level on that it set, and nothing before', async () => {
    await talker.run('old.counts')
    expect(talker.logged).toEqual([])
    await talker.setLevel()
    await talker.run('old.counts')
    await expect.poll(() => talker.logged.length, { timeout: 10_000 }).toBe(2)
    expect(talker.logged).toMatchObject([
      { level: 'warning', logger: 'old/steps', data: { step: 2.5 } },
      { level: 'warning', logger: 'old/steps', data: { step: 4 } },
    ])
  })
})
