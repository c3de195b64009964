import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TempServer } from '../e2e/temp-server.ts'
import { startServer } from '../e2e/temp-server.ts'
import { field, textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makeTalkingPlace } from '../fixtures/talking-place.ts'

let place: Place
let server: TempServer
const opened: Client[] = []
beforeAll(async () => {
  place = await makeTalkingPlace()
  mkdirSync(join(place.project, '.ai/directives'), { recursive: true })
  writeFileSync(
    join(place.project, '.ai/directives/samples.md'),
    `# Samples

\`\`\`xml
<directive name="samples" version="1.0.0">
  <metadata>
    <description>Lets one server sample</description>
    <permissions>
      <execute resource="mcp" name="shy"/>
      <execute resource="sampling" name="shy"/>
    </permissions>
  </metadata>
  <process><step name="one"><action>Call shy.sample</action></step></process>
</directive>
\`\`\`
`,
  )
  server = await startServer(place)
}, 60_000)
afterAll(async () => {
  await Promise.all(opened.map((client) => client.close()))
  await server.stop()
  place.remove()
})

type Era = 'legacy' | 'modern'

async function open(era: Era, capabilities: object, options: object = {}): Promise<Client> {
  const negotiation = era === 'modern' ? { versionNegotiation: { mode: 'auto' as const } } : {}
  const client = new Client({ name: 'test', version: '1' }, { capabilities, ...negotiation, ...options })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { Authorization: `Bearer ${server.token}` } },
    }),
  )
  opened.push(client)
  return client
}

const runOf = (tool: string, more: object = {}): { name: string; arguments: Record<string, unknown> } => ({
  name: 'execute',
  arguments: {
    item_type: 'tool',
    action: 'run',
    item_id: tool,
    parameters: {},
    project_path: place.project,
    ...more,
  },
})
const run = async (client: Client, tool: string, more: object = {}): Promise<unknown> =>
  (await client.callTool(runOf(tool, more))).structuredContent

const ABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

/** A client that would answer everything, and counts. */
async function openAble(era: Era): Promise<{ readonly client: Client; readonly asked: unknown[] }> {
  const client = await open(era, ABLE)
  const asked: unknown[] = []
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params)
    return { action: 'accept', content: { colour: 'red' } }
  })
  client.setRequestHandler('sampling/createMessage', ({ params }) => {
    asked.push(params)
    return { role: 'assistant', content: { type: 'text', text: 'hello' }, model: 'm' }
  })
  return { client, asked }
}

describe.each<Era>(['legacy', 'modern'])('X2: a %s client', (era) => {
  test.each([
    ['form', 'elicitation/create'],
    ['sample', 'sampling/createMessage'],
    ['roots', 'roots/list'],
  ])(
    'X2: that cannot be asked for %s: the older upstream hears an error, and the reply says so',
    async (tool, method) => {
      const client = await open(era, {})
      const reply = await run(client, `old.${tool}`)
      expect(reply).toMatchObject({
        status: 'error',
        error: {
          code: 'TOOL_FAILED',
          message: expect.stringContaining(`-32601`),
          hint: expect.stringContaining('asked_in_vain'),
          details: { asked_in_vain: [expect.stringContaining(`Cannot ask the client for "${method}"`)] },
        },
        data: { output: expect.stringContaining('Cannot ask the client') },
      })
    },
  )

  test.each(['form', 'sample', 'roots'])(
    'X2: that cannot be asked for %s: the newer upstream is told so before, and says what it lacks',
    async (tool) => {
      const reply = await run(await open(era, {}), `new.${tool}`)
      expect(reply).toMatchObject({ status: 'error', error: { code: 'TOOL_FAILED' } })
      expect(textField(reply, 'error', 'message')).toContain('capabilit')
    },
  )

  test.each(['old', 'new'])(
    'INJ-08: a form of %s that asks for a credential is shown to nobody',
    async (upstream) => {
      const { client, asked } = await openAble(era)
      const reply = await run(client, `${upstream}.password`)
      expect(JSON.stringify(reply)).toContain('asks for a credential')
      expect(JSON.stringify(reply)).toContain('apiKey')
      expect(JSON.stringify(await run(client, `${upstream}.script`))).toContain('none that can be opened')
      expect(asked).toEqual([])
    },
  )

  test.each(['shy', 'coy'])('INJ-09: %s does not sample where nobody granted it', async (upstream) => {
    const { client, asked } = await openAble(era)
    const reply = await run(client, `${upstream}.sample`)
    expect(reply).toMatchObject({ status: 'error' })
    expect(JSON.stringify(reply)).toContain('sampling is granted by')
    expect(asked).toEqual([])
  })

  test('INJ-09: a directive grants it to its run, and to nothing else', async () => {
    const { client, asked } = await openAble(era)
    const begun = await client.callTool({
      name: 'execute',
      arguments: { item_type: 'directive', action: 'run', item_id: 'samples', project_path: place.project },
    })
    const run_id = textField(begun.structuredContent, 'data', 'run_id')
    expect(await run(client, 'shy.sample', { run_id })).toMatchObject({ error: null, status: 'success' })
    expect(asked).toHaveLength(1)
    expect(await run(client, 'shy.sample')).toMatchObject({ status: 'error' })
    expect(asked).toHaveLength(1)
  })

  test.each(['old', 'new'])('X2: what %s asks without end is ended', async (upstream) => {
    const { client, asked } = await openAble(era)
    expect(await run(client, `${upstream}.endless`)).toMatchObject({
      status: 'error',
      error: { code: 'TOOL_FAILED' },
    })
    expect(asked.length).toBeLessThanOrEqual(32)
  })
})

test('X2: an upstream that takes its question back takes it back from the client', async () => {
  const client = await open('legacy', ABLE)
  let takenBack = false
  client.setRequestHandler(
    'elicitation/create',
    (_, { mcpReq }) =>
      new Promise((resolve) => {
        mcpReq.signal.addEventListener('abort', () => {
          takenBack = true
          resolve({ action: 'cancel' })
        })
      }),
  )
  expect(await run(client, 'old.takes_back')).toMatchObject({ status: 'error' })
  await expect.poll(() => takenBack, { timeout: 10_000 }).toBe(true)
})

test.each<Era>(['legacy', 'modern'])(
  'X2: the time a person takes is none of the upstream, for a %s client',
  async (era) => {
    const client = await open(era, ABLE)
    client.setRequestHandler('elicitation/create', async () => {
      // Longer than the server may take for a call.
      await delay(4500)
      return { action: 'accept', content: { colour: 'late' } }
    })
    for (const upstream of ['shy', 'coy'])
      expect(await run(client, `${upstream}.form`)).toMatchObject({
        status: 'success',
        data: { output: { content: { colour: 'late' } } },
      })
    expect(await run(client, 'shy.slow')).toMatchObject({ error: { code: 'TIMEOUT' } })
  },
  60_000,
)

test('X2: a client hears that an address is done with', async () => {
  const client = await open('legacy', ABLE)
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept' }))
  const done: unknown[] = []
  client.setNotificationHandler('notifications/elicitation/complete', ({ params }) => void done.push(params))
  expect(await run(client, 'old.url')).toMatchObject({ status: 'success' })
  await expect.poll(() => done, { timeout: 10_000 }).toMatchObject([{ elicitationId: 'e1' }])
})

describe('X2: the handle of a call that waits', () => {
  /** As a client sends it that looks after the rounds by itself. */
  async function ask(tool: string): Promise<{
    readonly first: unknown
    readonly again: (more: object, other?: object) => Promise<unknown>
  }> {
    const client = await open('modern', ABLE, { inputRequired: { autoFulfill: false } })
    const send = (params: object): Promise<unknown> =>
      client
        .callTool({ ...runOf(tool), ...params }, { allowInputRequired: true })
        .catch((error: unknown) => ({ code: field(error, 'code') }))
    return { first: await send({}), again: (more, other = {}) => send({ ...other, ...more }) }
  }
  const ANSWER = { action: 'accept', content: { colour: 'red' } }
  const INVALID = { code: -32_602 }

  test('X2: leads to it once, whatever else is asked of the same upstream', async () => {
    const { first, again } = await ask('old.form')
    expect(first).toMatchObject({ resultType: 'input_required' })
    const requestState = textField(first, 'requestState')
    const [key = ''] = Object.keys(Object(field(first, 'inputRequests')))
    const done = await again({ requestState, inputResponses: { [key]: ANSWER } })
    expect(field(done, 'structuredContent')).toMatchObject({ status: 'success', data: { output: ANSWER } })
    expect(await again({ requestState, inputResponses: { [key]: ANSWER } })).toEqual(INVALID)
  })

  test('X2: that was tampered with, is unknown, or comes with another request is refused, and the call waits on', async () => {
    const { first, again } = await ask('old.form')
    const requestState = textField(first, 'requestState')
    const [key = ''] = Object.keys(Object(field(first, 'inputRequests')))
    const inputResponses = { [key]: ANSWER }
    const at = Math.floor(requestState.length / 2)
    const flipped =
      requestState.slice(0, at) + (requestState[at] === 'A' ? 'B' : 'A') + requestState.slice(at + 1)
    expect(await again({ requestState: flipped, inputResponses })).toEqual(INVALID)
    expect(await again({ requestState: 'x', inputResponses })).toEqual(INVALID)
    expect(await again({ inputResponses })).toEqual(INVALID)
    expect(await again({ requestState, inputResponses }, runOf('old.told'))).toEqual(INVALID)
    const done = await again({ requestState, inputResponses })
    expect(field(done, 'structuredContent')).toMatchObject({ status: 'success', data: { output: ANSWER } })
  })

  test('X2: an answer to another question is none, and what was not answered is asked again', async () => {
    const { first, again } = await ask('new.form')
    const requestState = textField(first, 'requestState')
    const second = await again({ requestState, inputResponses: { 'upstream-99': ANSWER } })
    expect(second).toMatchObject({
      resultType: 'input_required',
      inputRequests: field(first, 'inputRequests'),
    })
    const [key = ''] = Object.keys(Object(field(first, 'inputRequests')))
    const state = textField(second, 'requestState')
    const done = await again({ requestState: state, inputResponses: { [key]: ANSWER } })
    expect(field(done, 'structuredContent')).toMatchObject({ data: { output: ANSWER } })
  })
})
