import { afterEach, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '../../src/shared/json.ts'
import { field } from '../fixtures/field.ts'
import { shiftingServer, writeServerFile } from '../fixtures/shifting-server.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const search: JsonObject = {
  name: 'search_issues',
  description: 'Finds issues anywhere',
  inputSchema: {
    type: 'object',
    properties: { owner: { type: 'string' }, query: { type: 'string' }, limit: { type: 'number' } },
    required: ['owner', 'query'],
  },
}
const remove: JsonObject = { name: 'delete_issue', description: 'Deletes', inputSchema: { type: 'object' } }

const OVERRIDES: JsonObject = {
  exclude: ['delete_*'],
  overrides: {
    search_issues: {
      name: 'find',
      description: 'Finds issues of ours',
      arguments: { owner: { fixed: 'acme' }, limit: { default: 5 } },
    },
  },
}

function start(overrides: JsonObject = OVERRIDES): void {
  writeServerFile(temp, 'hub', shiftingServer(temp, 'hub', { tools: [search, remove] }), overrides)
}

test('X10: a fixed argument is absent from the schema and present in the call, and no caller changes it', async () => {
  start()
  const { data } = await temp.load('hub.find')
  expect(field(data, 'description')).toBe('Finds issues of ours')
  expect(field(data, 'parameters')).toMatchObject({ required: ['query'] })
  expect(Object.keys(Object(field(data, 'parameters', 'properties')))).toEqual(['query', 'limit'])
  for (const more of [{}, { owner: 'evil' }]) {
    const reply = await temp.run('hub.find', { query: 'a', ...more })
    expect(JSON.parse(String(field(reply.data, 'output')))).toEqual({ owner: 'acme', query: 'a', limit: 5 })
  }
})

test('X10: what is judged and recorded is what goes out', async () => {
  start()
  const reply = await temp.run('hub.find', { query: 'a', owner: 'evil' })
  const records = await temp.kiwi.store.records({ limit: 10, call_id: reply.metadata.call_id })
  const decision = records.find(({ kind }) => kind === 'decision')
  expect(decision?.body['parameters']).toEqual({ owner: 'acme', query: 'a', limit: 5 })
})

test('X10: a renamed tool is found by its new name alone, an excluded one not at all', async () => {
  start()
  await temp.call('load', { item_type: 'mcp', item_id: 'hub' })
  expect(resultsOf(await temp.search('mcp:hub')).map(({ id }) => id)).toEqual(
    expect.arrayContaining(['hub.find']),
  )
  const all = JSON.stringify([
    await temp.search('mcp:hub'),
    field((await temp.call('load', { item_type: 'mcp', item_id: 'hub' })).data, 'tools'),
  ])
  expect(all).not.toMatch(/delete_issue|anywhere/)
  expect((await temp.run('hub.search_issues', { query: 'a' })).error?.code).toBe('NOT_FOUND')
  expect((await temp.run('hub.delete_issue')).error?.code).toBe('NOT_FOUND')
})

test('X10: an agent does not get round them with a tool of its own on the same server', async () => {
  start()
  const file = { tool_type: 'mcp_tool', executor: 'mcp_hub', description: 'mine' }
  const properties = { owner: { type: 'string' }, query: { type: 'string' } }
  await temp.create('mine', {
    ...file,
    config: { mcp_tool_name: 'search_issues' },
    input_schema: { type: 'object', properties },
  })
  const reply = await temp.run('mine', { owner: 'evil', query: 'a' })
  expect(JSON.parse(String(field(reply.data, 'output')))).toMatchObject({ owner: 'acme' })
  expect(reply.metadata.warnings).toContain(
    '"owner" is a person\'s to set: what was given for it is not used',
  )
  const fitting = await temp.run('mine', { owner: 'acme', query: 'a' })
  expect(JSON.stringify(fitting.metadata.warnings ?? [])).not.toContain('to set')
  await temp.create('gone', {
    ...file,
    config: { mcp_tool_name: 'delete_issue' },
    input_schema: { type: 'object' },
  })
  expect((await temp.run('gone')).error).toMatchObject({
    code: 'PERMISSION_DENIED',
    details: { layer: 'server mcp_hub' },
  })
})

test('X10: what names a tool or an argument that is not there is said, and what cannot be read is refused', async () => {
  start({ overrides: { serach: { hide: true }, search_issues: { arguments: { ower: { fixed: 1 } } } } })
  const { metadata } = await temp.call('load', { item_type: 'mcp', item_id: 'hub' })
  expect(metadata.warnings).toEqual(
    expect.arrayContaining([
      'tools.overrides of "mcp_hub": there is no tool "serach"',
      'tools.overrides of "mcp_hub": "search_issues" has no argument "ower"',
    ]),
  )
  start({ overrides: { search_issues: { hidden: true } } })
  const refused = await temp.run('hub.search_issues', { query: 'a', owner: 'b' })
  expect(refused.error).toMatchObject({ code: 'INVALID_CONFIG', message: expect.stringContaining('hidden') })
})
