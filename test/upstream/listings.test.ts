import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/shared/json.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { field, listField } from '../fixtures/field.ts'
import { putFile } from '../fixtures/put-file.ts'
import type { ShiftingServer } from '../fixtures/shifting-server.ts'
import { serverManifest, shiftingServer, writeServers } from '../fixtures/shifting-server.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
afterEach(() => temp.close())

const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
const ECHO: JsonObject = { name: 'echo', description: 'Says it again', inputSchema }
const MORE: JsonObject = { name: 'more', description: 'Says more', inputSchema }

async function served(tools: readonly JsonObject[] = [ECHO], more: object = {}): Promise<ShiftingServer> {
  temp = await openTempKiwi()
  const server = shiftingServer(temp, 'acme', { tools })
  writeServers(temp, 'user', { acme: { ...server.entry, ...more } })
  return server
}
const loadServer = (): Promise<Reply> => temp.call('load', { item_type: 'mcp', item_id: 'acme' })
const namesOf = ({ data }: Reply): readonly unknown[] =>
  listField(data, 'tools').map((tool) => field(tool, 'name'))
const operations = async (): Promise<readonly string[]> =>
  (await temp.kiwi.store.records({ limit: 1000 }))
    .filter(({ kind }) => kind === 'decision')
    .map(({ operation, tool }) => `${operation} ${tool}`)
const endsOf = async (wanted: string): Promise<readonly string[]> =>
  (await temp.kiwi.store.records({ limit: 1000 }))
    .filter(({ kind, operation }) => kind === 'outcome' && operation === wanted)
    .map(({ status }) => status)

describe('what a server has is asked for', () => {
  test('S12 M7: before the first call of a tool nobody has searched for, as a call of its own', async () => {
    const server = await served()
    expect(await temp.run('acme.echo', { text: 'hi' })).toMatchObject({ data: { output: 'hi' } })
    expect(await temp.run('acme.echo', { text: 'again' })).toMatchObject({ data: { output: 'again' } })
    expect(server.starts()).toBe(1)
    const made = await operations()
    expect(made.filter((call) => call === 'mcp.list mcp_acme')).toHaveLength(1)
    expect((await temp.run('acme.other', {})).error).toMatchObject({
      code: 'NOT_FOUND',
      details: { server: 'acme', tool: 'other' },
    })
    expect(server.starts()).toBe(1)
  })

  test('S9: never for a dry run, which starts nothing', async () => {
    const server = await served()
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'acme.echo',
      dry_run: true,
    })
    expect(reply.error).toMatchObject({ code: 'NOT_FOUND' })
    expect(server.starts()).toBe(0)
  })

  test('M4: again when it says that it changed, before the next call', async () => {
    temp = await openTempKiwi()
    const server = shiftingServer(temp, 'acme', { tools: [ECHO], later: { calls: 2, tools: [ECHO, MORE] } })
    writeServers(temp, 'user', { acme: server.entry })
    expect(namesOf(await loadServer())).toEqual(['echo'])
    await temp.run('acme.echo', { text: '1' })
    await temp.run('acme.echo', { text: '2' })
    await expect.poll(async () => namesOf(await loadServer()), { timeout: 10_000 }).toEqual(['echo', 'more'])
    expect((await temp.run('acme.more', {})).error).toMatchObject({ code: 'QUARANTINED' })
    expect(await temp.run('acme.echo', { text: '3' })).toMatchObject({ data: { output: '3' } })
    expect(server.starts()).toBe(1)
  })

  test('M4: again when it says that it changed, by the next search, which finds what is new', async () => {
    temp = await openTempKiwi()
    const server = shiftingServer(temp, 'acme', { tools: [ECHO], later: { calls: 1, tools: [ECHO, MORE] } })
    writeServers(temp, 'user', { acme: server.entry })
    await temp.run('acme.echo', { text: '1' })
    // It is told a moment after the answer.
    await delay(500)
    const found = resultsOf(await temp.search('mcp:acme in:mcp')).map(({ id }) => id)
    expect(found).toEqual(['acme.echo', 'acme.more'])
    expect(server.starts()).toBe(1)
  })

  test('M4: again when it is published, and one that cannot be asked is published all the same', async () => {
    temp = await openTempKiwi({ kind: 'person' })
    const server = shiftingServer(temp, 'acme', { tools: [ECHO] })
    const write = (config: object): void => {
      const manifest = { ...serverManifest(server.entry), tool_id: 'mcp_acme', config }
      putFile(join(temp.folder, 'user/tools/mcp_acme.json'), JSON.stringify(manifest))
    }
    const publish = (version: string): Promise<Reply> =>
      temp.call('execute', {
        item_type: 'mcp',
        action: 'publish',
        item_id: 'acme',
        parameters: { version },
      })
    write(server.entry)
    expect(namesOf(await loadServer())).toEqual(['echo'])
    server.say({ tools: [ECHO, MORE] })
    expect(namesOf(await loadServer())).toEqual(['echo'])
    expect(await publish('1.0.0')).toMatchObject({ status: 'success', data: { tools: 2 } })
    expect(namesOf(await loadServer())).toEqual(['echo', 'more'])
    write({ command: process.execPath, args: ['-e', 'process.exit(3)'] })
    expect(await publish('1.1.0')).toMatchObject({
      status: 'success',
      metadata: { warnings: expect.arrayContaining([expect.stringContaining('could not be listed')]) },
    })
  })

  test('M4: again when what is known is as old as the server says it may be', async () => {
    await served()
    temp.write(
      'tools/mcp_quick.yaml',
      JSON.stringify({
        tool_id: 'mcp_quick',
        tool_type: 'mcp_server',
        executor: 'subprocess',
        version: '1.0.0',
        description: 'says what it has anew each time',
        config: { ...shiftingServer(temp, 'quick', { tools: [ECHO] }).entry, schema_cache_ttl: 0 },
      }),
    )
    for (const item_id of ['quick', 'quick', 'acme', 'acme'])
      await temp.call('load', { item_type: 'mcp', item_id })
    const made = await operations()
    expect(made.filter((call) => call === 'mcp.list mcp_quick')).toHaveLength(2)
    expect(made.filter((call) => call === 'mcp.list mcp_acme')).toHaveLength(1)
  })

  test('M4: once, however many ask at the same time', async () => {
    const server = await served()
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, at) => temp.run('acme.echo', { text: `${at}` })),
    )
    expect(replies.map(({ data }) => field(data, 'output'))).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
    expect((await operations()).filter((call) => call.startsWith('mcp.list'))).toHaveLength(1)
    expect(server.starts()).toBe(1)
  })
})

describe('M3 M5 M7: one whose start takes long, and whose first caller cancels', () => {
  const RUN = { item_type: 'tool', action: 'run', item_id: 'acme.echo', parameters: { text: 'hi' } }
  const CANCELLED = { status: 'error', error: { code: 'CANCELLED' } }
  const slowlyServed = async (): Promise<ShiftingServer> => {
    const server = await served()
    server.say({ tools: [ECHO], startMs: 1500 })
    return server
  }

  test('M3: is used by the others all the same, of this session and of another, as by one that joins and leaves', async () => {
    const server = await slowlyServed()
    const [first, joined] = [new AbortController(), new AbortController()]
    const cancelled = [first, joined].map(({ signal }) => temp.call('execute', RUN, signal))
    const other = { principal: 'tester', session: 'session-2', kind: 'agent' } as const
    const others = [
      temp.call('execute', RUN),
      loadServer(),
      temp.kiwi.call('execute', RUN, { ...other, defaultProject: () => temp.project }),
    ]
    await expect.poll(() => server.starts()).toBe(1)
    const began = performance.now()
    first.abort()
    joined.abort()
    expect(await Promise.all(cancelled)).toMatchObject([CANCELLED, CANCELLED])
    // Nobody who has cancelled waits for the start.
    expect(performance.now() - began).toBeLessThan(1000)
    expect(await Promise.all(others)).toMatchObject([
      { status: 'success', data: { output: 'hi' } },
      { status: 'success', data: { from_cache: false, tools: [{ name: 'echo' }] } },
      { status: 'success', data: { output: 'hi' } },
    ])
    expect(server.starts()).toBe(1)
    expect(server.calls()).toEqual(['hi', 'hi'])
    expect(await endsOf('mcp.list')).toEqual(['success'])
    expect((await endsOf('execute.run')).toSorted()).toEqual(['cancelled', 'cancelled', 'success', 'success'])
  })

  test('M7: is found by the next search, and has not failed', async () => {
    const server = await slowlyServed()
    const gone = new AbortController()
    const only = temp.call('execute', RUN, gone.signal)
    await expect.poll(() => server.starts()).toBe(1)
    gone.abort()
    expect(await only).toMatchObject(CANCELLED)
    const reply = await temp.search('mcp:acme echo')
    expect(resultsOf(reply).map(({ id }) => id)).toEqual(['acme.echo'])
    expect(reply.metadata).not.toHaveProperty('warnings')
    expect(server.starts()).toBe(1)
  })

  test('M7: is not waited for when Kiwi closes and nobody else wants it', async () => {
    const server = await slowlyServed()
    server.say({ tools: [ECHO], startMs: 20_000 })
    const gone = new AbortController()
    const only = temp.call('execute', RUN, gone.signal)
    await expect.poll(() => server.starts()).toBe(1)
    gone.abort()
    expect(await only).toMatchObject(CANCELLED)
    const began = performance.now()
    await temp.kiwi.close()
    expect(performance.now() - began).toBeLessThan(2500)
  })
})
