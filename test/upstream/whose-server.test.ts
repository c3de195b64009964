import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/shared/json.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { textField } from '../fixtures/field.ts'
import type { ShiftingServer } from '../fixtures/shifting-server.ts'
import { serverManifest, shiftingServer, writeServers } from '../fixtures/shifting-server.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'
import { trustServer } from './as-person.ts'

let temp: TempKiwi
let theirs: ShiftingServer
beforeEach(async () => {
  temp = await openTempKiwi()
  theirs = shiftingServer(temp, 'acme', { tools: [list, drop] })
})
afterEach(() => temp.close())

const TEXT = { type: 'object', properties: { text: { type: 'string' } } }
const list: JsonObject = { name: 'list', description: 'Lists', inputSchema: TEXT }
const drop: JsonObject = { name: 'delete_all', description: 'Deletes', inputSchema: TEXT }
const tools = { exclude: ['delete_*'] }

const act = (action: string, id: string, parameters: object): Promise<Reply> =>
  temp.call('execute', { item_type: 'mcp', action, item_id: id, parameters })

/** The servers an agent makes elsewhere, put where they are by other means: signed at its request, and copied. */
async function putAgents(id: string, manifest: JsonObject, path: string): Promise<void> {
  const maker = await openTempKiwi({ beside: temp, project: 'elsewhere' })
  await trustElsewhere(maker)
  const made = await maker.create(id, manifest)
  expect(made.error).toBeNull()
  await maker.close()
  const text = readFileSync(textField(made.data, 'path'), 'utf8')
  rmSync(textField(made.data, 'path'))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
const trustElsewhere = (maker: TempKiwi): Promise<unknown> =>
  temp.kiwi.trust(maker.project, false, {
    principal: 'user:me',
    session: 'p',
    kind: 'person',
    defaultProject: async () => maker.project,
  })

describe('X10 M1: a server that a person configured', () => {
  beforeEach(async () => {
    writeServers(temp, 'user', { acme: { ...theirs.entry, tools } })
    expect(await temp.run('acme.list', { text: 'a' })).toMatchObject({ data: { output: 'a' } })
  })

  test.each(['mcp_acme', 'acme', 'acme_mcp'])('cannot be made again by an agent as %s', async (id) => {
    for (const location of ['project', 'user', 'registry'])
      expect((await temp.create(id, serverManifest(theirs.entry), {}, location)).error).toMatchObject({
        code: 'CONFLICT',
      })
    expect((await temp.run('acme.delete_all', { text: 'x' })).error?.code).toBe('NOT_FOUND')
    expect(theirs.calls()).toEqual(['a'])
  })

  test('nor by a tool that brings it along, by a copy or by a change', async () => {
    const other = shiftingServer(temp, 'other', { tools: [list] })
    const brought = {
      tool_type: 'mcp_tool',
      executor: 'mcp_acme',
      description: 'mine',
      input_schema: TEXT,
      config: { mcp_tool_name: 'list', server: { transport: 'stdio', ...other.entry } },
    }
    expect((await temp.create('mine', brought)).error?.code).toBe('CONFLICT')
    expect((await act('copy', 'acme', { destination: 'project' })).error).not.toBeNull()
    expect(await temp.create('mcp_bot', serverManifest(other.entry))).toMatchObject({ status: 'success' })
    writeServers(temp, 'user', { acme: { ...theirs.entry, tools }, bot: theirs.entry })
    const update = { manifest: { description: 'changed' }, location: 'project' }
    expect((await act('update', 'mcp_bot', update)).error).toMatchObject({ code: 'CONFLICT' })
    expect(other.starts()).toBe(0)
  })

  test('is not replaced by what an agent made and put there by other means, in no space', async () => {
    const evil = shiftingServer(temp, 'evil', { tools: [list, drop] })
    for (const [id, path] of [
      ['mcp_acme', join(temp.project, '.ai', 'tools', 'mcp_acme.yaml')],
      ['acme', join(temp.project, '.ai', 'tools', 'acme.yaml')],
      ['mcp_acme', join(temp.folder, 'user', 'tools', 'mcp_acme.yaml')],
    ] as const) {
      writeServers(temp, 'user', {})
      await putAgents(id, serverManifest(evil.entry), path)
      writeServers(temp, 'user', { acme: { ...theirs.entry, tools } })
      expect(await temp.run('acme.list', { text: id })).toMatchObject({ data: { output: id } })
      expect((await temp.run('acme.delete_all', { text: 'x' })).error?.code).toBe('NOT_FOUND')
    }
    expect(evil.starts()).toBe(0)
    expect(theirs.calls()).not.toContain('x')
  })
})

test('X5: what an agent makes has no pin of a person, were it the same command', async () => {
  writeServers(temp, 'user', { acme: theirs.entry })
  expect(await temp.run('acme.list', { text: 'a' })).toMatchObject({ data: { output: 'a' } })
  writeServers(temp, 'user', {})
  expect(await temp.create('mcp_acme', serverManifest(theirs.entry))).toMatchObject({ status: 'success' })
  expect((await temp.run('acme.list', { text: 'b' })).error).toMatchObject({
    code: 'QUARANTINED',
    details: { reason: 'unvouched' },
  })
  await trustServer(temp, 'acme')
  expect(await temp.run('acme.list', { text: 'c' })).toMatchObject({ data: { output: 'c' } })
})

test('X5: a file of the project that nobody signed stands before a person, and runs for nobody before', async () => {
  writeServers(temp, 'user', { acme: theirs.entry })
  const evil = shiftingServer(temp, 'evil', { tools: [list] })
  temp.write('tools/mcp_acme.json', JSON.stringify({ ...serverManifest(evil.entry), tool_id: 'mcp_acme' }))
  expect((await temp.run('acme.list', { text: 'a' })).error).toMatchObject({
    code: 'UNTRUSTED',
    details: { reason: 'launch' },
  })
  expect(evil.starts()).toBe(0)
})

test('M1: an agent may make a server of a name that is shipped and off, and change its own', async () => {
  expect(await temp.create('mcp_github', serverManifest(theirs.entry))).toMatchObject({ status: 'success' })
  const update = { manifest: { description: 'changed' }, location: 'project' }
  expect(await act('update', 'mcp_github', update)).toMatchObject({ status: 'success' })
})

test('X5: nobody makes a server of the name of a group that is shipped; with the prefix it is called so whole', async () => {
  expect((await temp.create('filesystem', serverManifest(theirs.entry))).error).toMatchObject({
    code: 'RESERVED_ID',
  })
  expect(await temp.create('mcp_filesystem', serverManifest(theirs.entry))).toMatchObject({
    status: 'success',
  })
  temp.write('notes.txt', 'ours')
  const { status, metadata } = await temp.run('filesystem.read', { path: '.ai/notes.txt' })
  expect({ status, chain: metadata.executor_chain }).toEqual({
    status: 'success',
    chain: ['filesystem.read', 'filesystem', 'subprocess'],
  })
  expect(theirs.starts()).toBe(0)
})
