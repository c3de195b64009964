import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeFixturePlace } from '../conformance/fixture-place.ts'
import type { TempServer } from '../e2e/temp-server.ts'
import { kiwi, startServer } from '../e2e/temp-server.ts'
import { field } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'

const SECRET_STATE = 'test_input_required_result_request_state'
const ASKED = ['test_simple_text', SECRET_STATE]
const RULES = [
  '{ op: tool, match: { server: fixture, tool: greet }, effect: deny }',
  '{ op: tool, match: { server: fixture, tool: resources/read }, effect: deny }',
  ...ASKED.map((tool) => `{ op: tool, match: { server: fixture, tool: ${tool} }, effect: ask }`),
]

let place: Place
let server: TempServer
const clients: Client[] = []
beforeAll(async () => {
  place = await makeFixturePlace(RULES)
  server = await startServer(place, ['--no-auth', '--passthrough', 'fixture'])
}, 60_000)
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await server.stop()
  place.remove()
})

/** A client whose person answers every form; null: it shows none. */
async function connect(era: 'legacy' | 'modern', forms: unknown[] | null): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: forms === null ? {} : { elicitation: { form: {} } },
      ...(era === 'modern' ? { versionNegotiation: { mode: 'auto' as const } } : {}),
    },
  )
  if (forms !== null)
    client.setRequestHandler('elicitation/create', ({ params }) => {
      forms.push(params.message)
      return { action: 'accept', content: { decision: 'once', ok: true } }
    })
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url)))
  clients.push(client)
  return client
}

describe.each(['legacy', 'modern'] as const)('a client of the %s era', (era) => {
  test('M6: is not shown a tool that it may not call, and calling it is refused', async () => {
    const client = await connect(era, null)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('slow_compute')
    expect(tools.map(({ name }) => name)).not.toContain('greet')
    const refused = await client.callTool({ name: 'greet', arguments: { name: 'Ada' } })
    expect(refused).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'PERMISSION_DENIED' } },
    })
  })

  test('M6: a method is denied by its name, as a tool is', async () => {
    const client = await connect(era, null)
    const { resources } = await client.listResources()
    expect(resources.length).toBeGreaterThan(0)
    await expect(client.readResource({ uri: 'test://static-text' })).rejects.toMatchObject({
      code: -32_000,
      data: { code: 'PERMISSION_DENIED' },
    })
  })

  test('S12: arguments are held against the schema, with the name of what is wrong', async () => {
    const client = await connect(era, null)
    const refused = await client.callTool({ name: 'slow_compute', arguments: { seconds: 'long' } })
    expect(refused).toMatchObject({
      isError: true,
      structuredContent: {
        error: { code: 'INVALID_PARAMETERS', details: { invalid: [{ name: 'seconds' }] } },
      },
    })
    expect(field(refused, 'content', 0, 'text')).toMatch(/seconds[^]*tools\/list shows the schema$/)
    expect(field(refused, 'structuredContent', 'error', 'fix')).toBeUndefined()
  })

  test('X2: a tool that is not there is an error of the protocol, and what is said can be done there', async () => {
    const client = await connect(era, null)
    await expect(client.callTool({ name: 'slow_computer', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringMatching(/slow_computer[^]*Did you mean slow_compute/),
    })
    await expect(client.callTool({ name: 'zzzzzzzz', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringMatching(/tools\/list says which tools there are$/),
    })
  })

  test('X2: what the server refuses with keeps its code and its words', async () => {
    const client = await connect(era, null)
    await expect(client.getPrompt({ name: 'nobody' })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('nobody'),
    })
  })

  test('H5: what a rule asks about is asked in the client, and then made', async () => {
    const forms: unknown[] = []
    const client = await connect(era, forms)
    const result = await client.callTool({ name: 'test_simple_text', arguments: {} })
    expect(field(result, 'content', 0, 'text')).toBe('This is a simple text response for testing.')
    expect(forms).toEqual([expect.stringContaining('fixture.test_simple_text')])
  })

  test('H5: who can show no form is told how a person answers', async () => {
    const client = await connect(era, null)
    const result = await client.callTool({ name: 'test_simple_text', arguments: {} })
    expect(result).toMatchObject({ isError: true, structuredContent: { status: 'approval_required' } })
    expect(field(result, 'content', 0, 'text')).toContain('kiwi approve')
  })

  test('X2: a question of ours and the sealed state of the server do not get into each other', async () => {
    const forms: unknown[] = []
    const client = await connect(era, forms)
    const result = await client.callTool({ name: SECRET_STATE, arguments: {} })
    expect(field(result, 'content', 0, 'text')).toBe('state-ok')
    expect(forms.some((form) => String(form).includes('fixture asks: Please confirm'))).toBe(true)
  })
})

test('M6: what was refused is on record', async () => {
  const { stdout } = await kiwi(place, ['audit', '--json', '--limit', '500'])
  expect(stdout).toContain('"mcp.resources/read"')
  expect(stdout).toContain('PERMISSION_DENIED')
})
