import { createRequire } from 'node:module'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeFixturePlace } from '../conformance/fixture-place.ts'
import type { TempServer } from '../e2e/temp-server.ts'
import { startServer } from '../e2e/temp-server.ts'
import { textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'

const EVERYTHING = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
)

let place: Place
let server: TempServer
const opened: Client[] = []
beforeAll(async () => {
  place = await makeFixturePlace()
  const config = join(place.folder, 'user/config')
  mkdirSync(config, { recursive: true })
  // One that is closed as soon as nobody waits for an answer.
  const mcps = { everything: { command: process.execPath, args: [EVERYTHING], keep_alive: 0 } }
  writeFileSync(join(config, 'mcp_registry.yaml'), JSON.stringify({ mcps }))
  server = await startServer(place)
}, 60_000)
afterAll(async () => {
  await Promise.all(opened.map((client) => client.close()))
  await server.stop()
  place.remove()
})

/** A client that answers every form with this. */
async function open(content: Record<string, string | boolean> | null): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: content === null ? {} : { elicitation: { form: {} } } },
  )
  if (content !== null) client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content }))
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { Authorization: `Bearer ${server.token}` } },
    }),
  )
  opened.push(client)
  return client
}

async function run(
  client: Client,
  item_id: string,
  parameters: object,
  options: object = {},
): Promise<unknown> {
  const given = { item_type: 'tool', action: 'run', item_id, parameters, project_path: place.project }
  const call = client.callTool({ name: 'execute', arguments: given }, { timeout: 60_000, ...options })
  return (await call).structuredContent
}

describe('X2: tools that are nothing but tasks are called like all others', () => {
  test('X2: of a server of the older era, which asks meanwhile and says how far it is', async () => {
    const client = await open({ interpretation: 'historical' })
    const heard: unknown[] = []
    const reply = await run(
      client,
      'everything.simulate-research-query',
      { topic: 'kiwi', ambiguous: true },
      { onprogress: (progress: { message?: string }) => heard.push(progress.message) },
    )
    expect(reply).toMatchObject({ status: 'success', error: null })
    expect(textField(reply, 'data', 'output')).toContain('Research Report: kiwi (historical)')
    expect(heard).not.toEqual([])
  }, 60_000)

  test('X2: of a server of the newer era', async () => {
    const client = await open({ confirm: true, name: 'Kim' })
    for (const [tool, parameters, said] of [
      ['slow_compute', { seconds: 0.1, label: 'it' }, 'Computed it'],
      ['confirm_delete', { filename: 'a.txt' }, 'Answered: {"action":"accept"'],
      ['multi_input', {}, 'Answered: first second'],
      ['test_tool_with_task', {}, 'Hello, Kim!'],
    ] as const) {
      const reply = await run(client, `fixture.${tool}`, parameters)
      expect([tool, reply]).toMatchObject([tool, { status: 'success', error: null }])
      expect(textField(reply, 'data', 'output')).toContain(said)
    }
  }, 60_000)

  test('X2: what they fail with is told as of any other tool', async () => {
    const client = await open(null)
    expect(await run(client, 'fixture.failing_job', {})).toMatchObject({
      error: {
        code: 'TOOL_FAILED',
        message: 'Cannot run "fixture.failing_job": it says "It did not work out"',
      },
    })
    expect(await run(client, 'fixture.protocol_error_job', {})).toMatchObject({
      error: {
        code: 'TOOL_FAILED',
        message: 'Cannot call "fixture.protocol_error_job": it says "A fault of the protocol"',
      },
    })
    const unasked = await run(client, 'fixture.confirm_delete', { filename: 'a.txt' })
    expect(textField(unasked, 'data', 'output')).toContain('"action":"cancel"')
  }, 60_000)
})
