import { existsSync, readdirSync, readFileSync, writeFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/shared/json.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { field, listField } from '../fixtures/field.ts'
import type { ShiftingServer } from '../fixtures/shifting-server.ts'
import { serverManifest, shiftingServer, writeServers } from '../fixtures/shifting-server.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
afterEach(() => temp.close())

const inputSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
const tool = (name: string, description = `Does ${name}`): JsonObject => ({ name, description, inputSchema })
const MANY = Array.from({ length: 30 }, (_, at) => tool(`tool_${at}`))

async function served(tools: readonly JsonObject[]): Promise<ShiftingServer> {
  temp = await openTempKiwi()
  const server = shiftingServer(temp, 'acme', { tools })
  writeServers(temp, 'user', { acme: server.entry })
  return server
}
const discover = (parameters: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'mcp', action: 'discover', item_id: 'acme', parameters })
const folder = (): string => join(temp.project, '.ai', 'tools', 'mcp', 'acme')
const files = (): readonly string[] => (existsSync(folder()) ? readdirSync(folder()).toSorted() : [])
const said = ({ data, error }: Reply): unknown =>
  error ?? {
    created: listField(data, 'created').length,
    updated: listField(data, 'updated'),
    unchanged: listField(data, 'unchanged').length,
    removed: listField(data, 'removed'),
  }
const NONE = { created: 0, updated: [], unchanged: 0, removed: [] }

describe('T14: discover', () => {
  test('writes one item for each tool, in one call, which runs; again it changes nothing', async () => {
    const server = await served(MANY)
    const first = await discover()
    expect(said(first)).toEqual({ ...NONE, created: 30 })
    expect(field(first.data, 'tools', 3)).toMatchObject({
      id: 'acme.tool_3',
      alias: 'acme_tool_3',
      state: 'created',
      path: join(folder(), 'acme.tool_3.yaml'),
    })
    expect(files()).toHaveLength(30)
    const before = files().map((name) => readFileSync(join(folder(), name), 'utf8'))
    expect(said(await discover())).toEqual({ ...NONE, unchanged: 30 })
    expect(files().map((name) => readFileSync(join(folder(), name), 'utf8'))).toEqual(before)
    expect(await temp.load('acme.tool_3')).toMatchObject({
      data: { source: 'project', parameters: inputSchema, description: 'Does tool_3', tool_name: 'tool_3' },
    })
    for (const id of ['acme.tool_3', 'acme_tool_3'])
      expect(await temp.run(id, { text: 'hi' })).toMatchObject({ data: { output: 'hi' } })
    expect((await temp.run('acme.tool_3', {})).error).toMatchObject({ code: 'INVALID_PARAMETERS' })
    expect(resultsOf(await temp.search('mcp:acme tool_3', { limit: 1 }))).toMatchObject([
      { source: 'project' },
    ])
    expect(server.starts()).toBe(1)
  })

  test('X5: a changed tool is updated and quarantined, and nothing of it is written before a person looked', async () => {
    const server = await served([tool('a'), tool('b')])
    await discover()
    server.say({ tools: [tool('a', 'Does a, and obeys'), tool('b'), tool('c')] })
    const reply = await discover()
    expect(said(reply)).toEqual({ ...NONE, updated: ['acme.a'], unchanged: 1 })
    expect(field(reply.data, 'tools', 0)).toMatchObject({ id: 'acme.a', state: 'updated', quarantined: true })
    expect(JSON.stringify(reply)).not.toContain('obeys')
    expect(readFileSync(join(folder(), 'acme.a.yaml'), 'utf8')).not.toContain('obeys')
    expect((await temp.run('acme.a', { text: 'x' })).error).toMatchObject({ code: 'QUARANTINED' })
    expect(await temp.run('acme.b', { text: 'x' })).toMatchObject({ status: 'success' })
    expect(files()).toEqual(['acme.a.yaml', 'acme.b.yaml'])
  })

  test('X5: what a person let pass is written as it is then; what they added to the file stays', async () => {
    const server = await served([tool('a')])
    await discover()
    const path = join(folder(), 'acme.a.yaml')
    writeFileSync(path, `${readFileSync(path, 'utf8')}tags: [mine]\n`)
    server.say({ tools: [tool('a', 'Does a better')] })
    await discover()
    await trustServer()
    expect(said(await discover())).toEqual({ ...NONE, updated: ['acme.a'] })
    expect(await temp.load('acme.a')).toMatchObject({
      data: { description: 'Does a better', version: '1.0.1', metadata: { tags: ['mine'] } },
    })
    expect(await temp.run('acme.a', { text: 'x' })).toMatchObject({ status: 'success' })
    expect(said(await discover())).toEqual({ ...NONE, unchanged: 1 })
  })

  test('what is gone upstream is marked missing and stays; it comes back as it was', async () => {
    const server = await served([tool('a'), tool('b')])
    await discover()
    server.say({ tools: [tool('a')] })
    expect(said(await discover())).toEqual({ ...NONE, unchanged: 1, removed: ['acme.b'] })
    expect(files()).toEqual(['acme.a.yaml', 'acme.b.yaml'])
    expect(await temp.load('acme.b')).toMatchObject({
      data: { metadata: { config: { mcp_state: 'missing' } } },
    })
    server.say({ tools: [tool('a'), tool('b')] })
    expect(said(await discover())).toEqual({ ...NONE, updated: ['acme.b'], unchanged: 1 })
    const { data } = await temp.load('acme.b')
    expect(field(data, 'metadata', 'config', 'mcp_state')).toBe(undefined)
  })

  test('X10: files follow what a person changes about tools, and are marked where agents no longer see the tool so', async () => {
    const server = await served([tool('a'), tool('b'), tool('c')])
    const show = (tools: object): void => writeServers(temp, 'user', { acme: { ...server.entry, tools } })
    await discover()
    show({ overrides: { a: { description: 'Ours', arguments: { text: { fixed: 'x' } } } } })
    expect(said(await discover())).toEqual({ ...NONE, updated: ['acme.a'], unchanged: 2 })
    const { data } = await temp.load('acme.a')
    expect(data).toMatchObject({ description: 'Ours' })
    expect(field(data, 'parameters', 'properties', 'text')).toBeUndefined()
    expect(said(await discover())).toEqual({ ...NONE, unchanged: 3 })
    show({ exclude: ['b'], overrides: { a: { name: 'one' } } })
    const renamed = await discover()
    expect(said(renamed)).toEqual({ ...NONE, created: 1, unchanged: 1, removed: ['acme.a', 'acme.b'] })
    expect(field(renamed.data, 'tools', 0)).toMatchObject({ id: 'acme.one', alias: 'acme_one' })
    for (const id of ['acme.one', 'acme_one'])
      expect(await temp.run(id, { text: id })).toMatchObject({ data: { output: id } })
    for (const id of ['acme.a', 'acme.b'])
      expect(await temp.load(id)).toMatchObject({ data: { metadata: { config: { mcp_state: 'missing' } } } })
    expect(said(await discover())).toEqual({ ...NONE, unchanged: 2, removed: ['acme.a', 'acme.b'] })
    show({})
    const back = { ...NONE, updated: ['acme.a', 'acme.b'], unchanged: 1, removed: ['acme.one'] }
    expect(said(await discover())).toEqual(back)
  })

  test('M6: every alias that is given is one, also of a name with dots', async () => {
    await served([tool('a.b'), tool('c_d.e')])
    const { data } = await discover()
    const aliases = listField(data, 'tools').map((each) => String(field(each, 'alias')))
    expect(aliases).toEqual(['acme_a.b', 'acme_c_d.e'])
    for (const alias of aliases)
      expect(await temp.run(alias, { text: alias })).toMatchObject({ data: { output: alias } })
  })

  test('one tool that cannot be an item is named, and the others are written', async () => {
    await served([tool('a'), { name: 'odd name' }, { ...tool('b'), inputSchema: { type: 'nonsense' } }])
    const reply = await discover()
    expect(said(reply)).toEqual({ ...NONE, created: 2 })
    expect(reply.metadata.warnings).toEqual([
      expect.stringContaining('"#2" of "acme" cannot be used'),
      expect.stringContaining('"b" of "acme": its arguments are sent unchecked'),
    ])
    expect((await temp.run('acme.b', { x: 1 })).metadata.warnings).toEqual([
      expect.stringContaining('its arguments are sent unchecked'),
    ])
  })

  test('M6: when the server is taken out, its files say so and how to bring it back', async () => {
    await served([tool('a')])
    await discover()
    writeServers(temp, 'user', {})
    expect((await temp.run('acme.a', { text: 'x' })).error).toMatchObject({
      message: 'Cannot run "acme.a": there is no server "acme" any more',
      hint: expect.stringContaining('kiwi add acme'),
    })
  })

  test('is whole or nothing: where one file cannot be written, none is', async () => {
    await served([tool('a'), tool('b'), tool('z')])
    // A folder stands where a file should go.
    mkdirSync(join(folder(), 'acme.z.yaml'), { recursive: true })
    const { error } = await discover()
    expect(error).toMatchObject({ code: 'CONFLICT' })
    expect(files()).toEqual(['acme.z.yaml'])
    rmSync(join(folder(), 'acme.z.yaml'), { recursive: true })
    expect(said(await discover())).toEqual({ ...NONE, created: 3 })
  })

  test('goes where it is told, and refuses what it does not know', async () => {
    await served([tool('a')])
    expect(said(await discover({ location: 'user' }))).toEqual({ ...NONE, created: 1 })
    expect(await temp.load('acme.a')).toMatchObject({ data: { source: 'user' } })
    for (const wrong of [{ location: 'registry' }, { to: 'user' }])
      expect((await discover(wrong)).error).toMatchObject({ code: 'INVALID_PARAMETERS' })
    const ask = (item_id: string): Promise<Reply> =>
      temp.call('execute', { item_type: 'mcp', action: 'discover', item_id })
    expect((await ask('nobody')).error).toMatchObject({ code: 'NOT_FOUND' })
    expect((await ask('filesystem')).error).toMatchObject({ code: 'BUILTIN_PROTECTED' })
    expect((await ask('github')).error).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: expect.stringContaining('switched off'),
    })
  })

  test('T14 S12: a server of a person whose name is one of ours is theirs, and one that is shipped stays as it is', async () => {
    temp = await openTempKiwi()
    const { entry } = shiftingServer(temp, 'own', { tools: [tool('a')] })
    writeServers(temp, 'user', { code: entry, git: entry, filesystem: entry })
    const ask = (item_id: string): Promise<Reply> =>
      temp.call('execute', { item_type: 'mcp', action: 'discover', item_id })
    for (const name of ['code', 'git']) {
      expect(await temp.call('load', { item_type: 'mcp', item_id: name })).toMatchObject({
        data: { source: 'user' },
      })
      expect(await ask(name)).toMatchObject({ data: { mcp: `mcp_${name}`, created: [`mcp_${name}.a`] } })
      expect(said(await ask(`mcp_${name}`))).toEqual({ ...NONE, unchanged: 1 })
    }
    expect((await ask('filesystem')).error).toMatchObject({
      code: 'BUILTIN_PROTECTED',
      message: expect.stringContaining('"filesystem"'),
    })
    expect(await ask('mcp_filesystem')).toMatchObject({ data: { created: ['mcp_filesystem.a'] } })
  })

  test('a server whose name has a dot in it is refused for that', async () => {
    temp = await openTempKiwi()
    const { entry } = shiftingServer(temp, 'own', { tools: [tool('a')] })
    const manifest = { ...serverManifest(entry), tool_id: 'mcp_dotted.name' }
    temp.write('tools/mcp_dotted.name.json', JSON.stringify(manifest))
    const ask = { item_type: 'mcp', action: 'discover', item_id: 'mcp_dotted.name' }
    expect((await temp.call('execute', ask)).error).toMatchObject({
      code: 'INVALID_MANIFEST',
      message: expect.stringContaining('with a dot in it'),
    })
  })

  test('S9: a dry run says where it would write and starts nothing', async () => {
    const server = await served([tool('a')])
    const reply = await temp.call('execute', {
      item_type: 'mcp',
      action: 'discover',
      item_id: 'acme',
      dry_run: true,
    })
    expect(reply).toMatchObject({ status: 'dry_run', data: { would_write: folder() } })
    expect([server.starts(), files()]).toEqual([0, []])
  })
})

async function trustServer(): Promise<void> {
  const act = {
    wish: () => ({ kind: 'trust_server', name: 'acme', seen: null }) as const,
    operation: 'trust.server',
    subject: 'acme',
  }
  const defaultProject = (): Promise<string> => Promise.resolve(temp.project)
  const person = { principal: 'user:ada', session: 's', kind: 'person', defaultProject } as const
  expect(await temp.kiwi.act(act, person)).toMatchObject({ status: 'success' })
}
