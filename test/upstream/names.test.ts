import { afterEach, expect, test } from 'vitest'
import type { JsonObject } from '../../src/shared/json.ts'
import { shiftingServer, writeServers } from '../fixtures/shifting-server.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'
import { trustProject } from './as-person.ts'

let temp: TempKiwi
afterEach(() => temp.close())

const tool = (name: string): JsonObject => ({
  name,
  description: `does ${name}`,
  inputSchema: { type: 'object' },
})

async function served(servers: Readonly<Record<string, readonly string[]>>): Promise<void> {
  temp = await openTempKiwi()
  const entries = Object.entries(servers).map(
    ([name, tools]) => [name, shiftingServer(temp, name, { tools: tools.map(tool) }).entry] as const,
  )
  writeServers(temp, 'user', Object.fromEntries(entries))
  for (const name of Object.keys(servers)) await temp.call('load', { item_type: 'mcp', item_id: name })
}
const meant = async (id: string): Promise<unknown> => {
  const { metadata, error } = await temp.run(id)
  return metadata.item_id ?? error?.code
}

test('M6: a tool of a server is named with a dot, in other spellings of the server, and with an underscore', async () => {
  await served({ acme: ['echo', 'a.b', 'c_d'] })
  for (const id of ['acme.echo', 'mcp_acme.echo', 'acme_mcp.echo', 'acme_echo', 'mcp_acme_echo'])
    expect([id, await meant(id)]).toEqual([id, 'acme.echo'])
  expect(await meant('acme.a.b')).toBe('acme.a.b')
  expect(await meant('acme_c_d')).toBe('acme.c_d')
  for (const id of ['echo', 'acme', 'acme.', 'acme_', 'other.echo', 'Acme.echo'])
    expect([id, await meant(id)]).not.toEqual([id, 'acme.echo'])
})

test.each(['acme_mcp', 'mcp_acme', 'acme'])(
  'M6, R4: a server that somebody calls %s is found, shown and called as acme, in any spelling',
  async (name) => {
    await served({ [name]: ['echo'] })
    for (const id of ['acme.echo', 'mcp_acme.echo', 'acme_mcp.echo', 'acme_echo'])
      expect([id, await meant(id)]).toEqual([id, 'acme.echo'])
    for (const spelled of ['acme', 'mcp_acme', 'acme_mcp']) {
      const ids = resultsOf(await temp.search(`mcp:${spelled} in:mcp`)).map(({ id }) => id)
      expect([spelled, ids]).toEqual([spelled, ['acme.echo']])
      const { error } = await temp.call('load', { item_type: 'mcp', item_id: spelled })
      expect([spelled, error]).toEqual([spelled, null])
    }
  },
)

test('M6, R4: a server in a file of its own is the same in every spelling', async () => {
  temp = await openTempKiwi()
  const { entry } = shiftingServer(temp, 'acme', { tools: [tool('echo')] })
  const config = JSON.stringify({ transport: 'stdio', ...entry })
  temp.write(
    'tools/acme_mcp.yaml',
    `tool_id: acme_mcp\ntool_type: mcp_server\nexecutor: subprocess\nversion: 1.0.0\ndescription: mine\nconfig: ${config}\n`,
  )
  await trustProject(temp)
  for (const spelled of ['acme', 'acme_mcp', 'mcp_acme']) {
    const ids = resultsOf(await temp.search(`mcp:${spelled} in:mcp`)).map(({ id }) => id)
    expect([spelled, ids]).toEqual([spelled, ['acme.echo']])
    expect([spelled, await meant(`${spelled}.echo`)]).toEqual([spelled, 'acme.echo'])
  }
})

test('POI-10: what two servers have is named by its server, and what could be either is refused', async () => {
  await served({ a: ['search', 'b_find'], a_b: ['search', 'find'] })
  expect(await meant('search')).toBe('NOT_FOUND')
  expect([await meant('a.search'), await meant('a_b.search')]).toEqual(['a.search', 'a_b.search'])
  expect(await meant('a_b_find')).toBe('AMBIGUOUS_ID')
  expect([await meant('a.b_find'), await meant('a_b.find')]).toEqual(['a.b_find', 'a_b.find'])
})

test('M6 POI-12: a server with a reserved name is reached by its whole id only, and ours are never its', async () => {
  await served({ filesystem: ['read', 'odd'], shell: ['run'], git: ['status'] })
  expect(await meant('mcp_filesystem.read')).toBe('mcp_filesystem.read')
  expect(await meant('mcp_filesystem.odd')).toBe('mcp_filesystem.odd')
  expect(await meant('filesystem.odd')).toBe('NOT_FOUND')
  expect(await meant('mcp_shell.run')).toBe('mcp_shell.run')
  const found = resultsOf(await temp.search('mcp:filesystem', { limit: 50 }))
  expect(found.filter(({ id }) => !/^filesystem(?:\.|$)/.test(id))).toEqual([])
  expect(resultsOf(await temp.search('mcp:mcp_filesystem in:mcp')).map(({ id }) => id)).toEqual([
    'mcp_filesystem.odd',
    'mcp_filesystem.read',
  ])
})

test('M6: a file of that name comes before what the server lists', async () => {
  await served({ acme: ['echo'] })
  temp.write(
    'tools/acme.echo.yaml',
    'tool_id: acme.echo\ntool_type: mcp_tool\nexecutor: mcp_acme\nversion: 3.0.0\ndescription: mine\nconfig: {mcp_tool_name: echo}\n',
  )
  expect(await temp.load('acme.echo')).toMatchObject({ data: { version: '3.0.0', source: 'project' } })
  expect(await temp.load('acme.echo', { source: 'mcp' })).toMatchObject({ data: { source: 'mcp' } })
  const [found] = resultsOf(await temp.search('acme echo', { limit: 3 }))
  expect(found).toMatchObject({ id: 'acme.echo', source: 'project' })
})

test('M6: what a server lists is no item of ours to change', async () => {
  await served({ acme: ['echo'] })
  for (const action of ['update', 'publish', 'sign', 'delete']) {
    const parameters =
      action === 'update' ? { manifest: { description: 'x' } } : action === 'delete' ? { confirm: true } : {}
    const { error } = await temp.call('execute', {
      item_type: 'tool',
      action,
      item_id: 'acme.echo',
      parameters,
    })
    expect([action, error?.code, error?.hint]).toEqual([
      action,
      'INVALID_PARAMETERS',
      expect.stringContaining('discover'),
    ])
  }
})
