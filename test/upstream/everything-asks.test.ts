import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TempServer } from '../e2e/temp-server.ts'
import { startServer } from '../e2e/temp-server.ts'
import { textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'

const SERVER = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')

let place: Place
let server: TempServer
const opened: Client[] = []
beforeAll(async () => {
  place = makePlace()
  const config = join(place.folder, 'user/config')
  mkdirSync(config, { recursive: true })
  writeFileSync(
    join(config, 'mcp_registry.yaml'),
    `mcps:\n  everything: {command: "${process.execPath}", args: ["${SERVER}"], timeout: 60}\n`,
  )
  writeFileSync(join(config, 'agent_harness.yaml'), 'mode: direct\n')
  server = await startServer(place)
}, 60_000)
afterAll(async () => {
  await Promise.all(opened.map((client) => client.close()))
  await server.stop()
  place.remove()
})

async function open(capabilities: object): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { Authorization: `Bearer ${server.token}` } },
    }),
  )
  opened.push(client)
  return client
}

const asks = async (client: Client): Promise<unknown> => {
  const item_id = 'everything.trigger-elicitation-request'
  const given = { item_type: 'tool', action: 'run', item_id, parameters: {}, project_path: place.project }
  return (await client.callTool({ name: 'execute', arguments: given })).structuredContent
}

test('X2, INJ-08: the form of server-everything, which warns of giving a pin, is filled in', async () => {
  const client = await open({ elicitation: { form: {} } })
  client.setRequestHandler('elicitation/create', () => ({
    action: 'accept',
    content: { name: 'Kim', check: true, integer: 7 },
  }))
  const reply = await asks(client)
  expect(reply).toMatchObject({ status: 'success', error: null })
  expect(textField(reply, 'data', 'output')).toContain('Kim')
})

test('X2: a client that shows no forms is told that, and nothing of what the form holds', async () => {
  const reply = JSON.stringify(await asks(await open({})))
  expect(reply).toContain('the client cannot show forms')
  expect(reply).not.toContain('credential')
})
