import { afterEach, describe, expect, test, vi } from 'vitest'
import type { JsonObject } from '../../src/shared/json.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { field, listField } from '../fixtures/field.ts'
import { wholeAnswer } from '../fixtures/whole-answer.ts'
import type { ShiftingServer } from '../fixtures/shifting-server.ts'
import { shiftingServer, writeServers } from '../fixtures/shifting-server.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
afterEach(() => temp.close())

const say = {
  type: 'object',
  properties: { text: { type: 'string', description: 'the words' } },
  required: ['text'],
}
const ECHO: JsonObject = { name: 'echo', description: 'Says the words again', inputSchema: say }
const SHOUT: JsonObject = {
  name: 'shout',
  title: 'Shout',
  description: 'Says the words in capitals',
  inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', ...say },
  outputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
  _meta: { 'x/y': [1] },
}

async function served(
  tools: readonly JsonObject[] = [ECHO, SHOUT],
  more: object = {},
): Promise<ShiftingServer> {
  temp = await openTempKiwi()
  const server = shiftingServer(temp, 'acme', { tools })
  writeServers(temp, 'user', { acme: { ...server.entry, description: 'Says words', ...more } })
  return server
}
const idsOf = (reply: Reply): readonly string[] => resultsOf(reply).map(({ id }) => id)
const warningsOf = ({ metadata }: Reply): readonly string[] => metadata.warnings ?? []
const loadServer = (more: object = {}): Promise<Reply> =>
  temp.call('load', { item_type: 'mcp', item_id: 'acme', ...more })
/** Until a server that is asked in the background has answered. */
const listed = (query: string): Promise<Reply> =>
  vi.waitFor(async () => {
    const reply = await temp.search(query)
    expect(warningsOf(reply)).toEqual([])
    return reply
  }, PATIENT)
const PATIENT = { timeout: 20_000, interval: 100 }

describe('search', () => {
  test('M7 S4: the first search waits for what was never listed, and finds it', async () => {
    const server = await served()
    const first = await temp.search('mcp:acme words')
    expect(warningsOf(first)).toEqual([])
    expect(idsOf(first)).toEqual(expect.arrayContaining(['mcp_acme', 'acme.echo', 'acme.shout']))
    expect(idsOf(await temp.search('capitals'))[0]).toBe('acme.shout')
    expect(idsOf(await temp.search('', { source: 'mcp', limit: 100 }))).toEqual(
      expect.arrayContaining(['mcp_acme', 'acme.echo', 'acme.shout']),
    )
    expect(idsOf(await temp.search('words', { server: 'acme' }))).toEqual(
      idsOf(await temp.search('mcp:acme words')),
    )
    expect(idsOf(await temp.search('', { server: 'acme' }))).toEqual(idsOf(await temp.search('mcp:acme')))
    expect(warningsOf(await temp.search('words', { server: 'nope' }))).toHaveLength(1)
    expect(idsOf(await temp.search('mcp:*', { limit: 100 }))).toEqual(
      expect.arrayContaining(['acme.echo', 'filesystem.read']),
    )
    expect(idsOf(await temp.search('in:mcp'))).toEqual(['acme.echo', 'acme.shout'])
    expect(server.starts()).toBe(1)
  })

  test('M7: a slow server is waited for a bounded time, together with the others, and listed before the end', async () => {
    const server = await served()
    const [program = '', file = ''] = server.entry.args
    const late = `setTimeout(() => import(${JSON.stringify(program)}), 4000)`
    const slow = { command: process.execPath, args: ['-e', late, 'x', file], startup_timeout: 30 }
    writeServers(temp, 'user', { acme: server.entry, slow })
    const reply = await temp.search('in:mcp words')
    expect(idsOf(reply).toSorted()).toEqual(['acme.echo', 'acme.shout'])
    expect(warningsOf(reply)).toEqual([expect.stringMatching(/"slow" is left out: it was never listed/)])
    // Nobody waits for it a second time.
    const again = await temp.search('words')
    expect(warningsOf(again)).toEqual([expect.stringMatching(/^left out: "slow"; search mcp:\* says why/)])
    expect(again.metadata.duration_ms).toBeLessThan(reply.metadata.duration_ms)
    // Nor need a session hear it again.
    expect(warningsOf(await temp.search('other words'))).toEqual([])
    await temp.kiwi.close()
    const other = await openTempKiwi({ beside: temp })
    expect(idsOf(await other.search('mcp:slow in:mcp')).toSorted()).toEqual(['slow.echo', 'slow.shout'])
    await other.close()
    expect(server.starts()).toBe(2)
  })

  test('M7: nobody waits where only documents or files of their own are meant', async () => {
    const server = await served()
    await temp.search('words', { item_type: 'knowledge' })
    await temp.search('local:* words')
    expect(server.starts()).toBe(0)
  })

  test('N17: servers of a project that nobody trusts are not started, and the search says what is missing', async () => {
    temp = await openTempKiwi({ isTrusted: false })
    const server = shiftingServer(temp, 'acme', { tools: [ECHO] })
    writeServers(temp, 'project', { acme: server.entry })
    expect(warningsOf(await temp.search('mcp:acme words'))).toEqual([expect.stringMatching(/trust/)])
    expect(server.starts()).toBe(0)
    await temp.kiwi.trust(temp.project, false, {
      principal: 'user:me',
      session: 's',
      kind: 'person',
      defaultProject: () => Promise.resolve(temp.project),
    })
    expect(idsOf(await temp.search('mcp:acme words'))).toContain('acme.echo')
  })

  test('S4: a server that is not there is said, with the one that may be meant', async () => {
    await served()
    expect(warningsOf(await temp.search('mcp:acne words'))).toEqual([
      'there is no server "acne" here: did you mean acme?',
    ])
    expect(warningsOf(await temp.search('mcp:nope words'))).toEqual([
      'there is no server "nope" here: search mcp:* shows those there are',
    ])
    expect(warningsOf(await temp.search('mcp:filesystem read'))).toEqual([])
  })

  test('S3: a tool of a server carries which one it is and what it takes, if that is not long', async () => {
    const long = { ...say, description: 'x'.repeat(3000) }
    await served([ECHO, { name: 'long', description: 'Long words', inputSchema: long }])
    const [echo, other] = resultsOf(await listed('in:mcp words')).toSorted((a, b) => (a.id < b.id ? -1 : 1))
    expect(echo).toMatchObject({
      id: 'acme.echo',
      source: 'mcp',
      tool_type: 'mcp_tool',
      mcp: 'acme',
      tool_name: 'echo',
      parameters: say,
      call: { item_type: 'tool', action: 'run', item_id: 'acme.echo', parameters: { text: '<text>' } },
    })
    expect(other).toMatchObject({ id: 'acme.long', parameters: expect.stringContaining('load "acme.long"') })
  })

  test('S4: a server that cannot be reached is left out and named, and the others are found', async () => {
    const server = await served()
    const broken = { command: process.execPath, args: ['-e', 'process.exit(3)'], startup_timeout: 5 }
    writeServers(temp, 'user', { acme: server.entry, broken })
    const reply = await vi.waitFor(async () => {
      const found = await temp.search('in:mcp')
      expect(warningsOf(found)).toEqual([expect.stringContaining('"broken" is left out')])
      return found
    }, PATIENT)
    expect(idsOf(reply)).toEqual(['acme.echo', 'acme.shout'])
  })

  test('M4: another process within the hour searches and loads with no server started', async () => {
    const server = await served()
    await listed('in:mcp')
    const other = await openTempKiwi({ beside: temp })
    expect(idsOf(await other.search('in:mcp words'))).toEqual(
      expect.arrayContaining(['acme.echo', 'acme.shout']),
    )
    expect(await other.call('load', { item_type: 'mcp', item_id: 'acme' })).toMatchObject({
      data: { from_cache: true, tools: [ECHO, SHOUT] },
    })
    expect(await other.load('acme.echo')).toMatchObject({ status: 'success' })
    await other.close()
    expect(server.starts()).toBe(1)
  })

  test('M7: what fits far less than the best of them is not found by its words', async () => {
    const words = (count: number): string => Array.from({ length: count }, (_, at) => `word${at}`).join(' ')
    const tools = Array.from({ length: 8 }, (_, at) => ({
      name: `other_${at}`,
      description: 'Knows nothing of it',
    }))
    await served([
      { name: 'invoice', description: 'Sends an invoice' },
      ...tools,
      {
        name: 'x',
        description: words(400),
        inputSchema: { type: 'object', properties: { a: { description: `${words(200)} invoice` } } },
      },
    ])
    await listed('in:mcp')
    expect(idsOf(await temp.search('in:mcp invoice'))).toEqual(['acme.invoice'])
  })

  test('X10: what a person renames or hides is found, shown and called so', async () => {
    const tools = {
      exclude: ['shout'],
      overrides: { echo: { name: 'repeat', arguments: { text: { fixed: 'always' } } } },
    }
    await served([ECHO, SHOUT], { tools })
    expect(idsOf(await listed('in:mcp'))).toEqual(['acme.repeat'])
    expect(await temp.run('acme.repeat', {})).toMatchObject({ data: { output: 'always' } })
    for (const gone of ['acme.echo', 'acme.shout'])
      expect((await temp.run(gone, { text: 'x' })).error).toMatchObject({ code: 'NOT_FOUND' })
    expect(field((await loadServer()).data, 'tools', 0)).toMatchObject({ name: 'repeat' })
  })
})

describe('load', () => {
  test('S7: of a server shows its tools as they were sent, and whether it was asked for it', async () => {
    const server = await served()
    const fresh = await loadServer()
    expect(fresh).toMatchObject({ data: { mcp: 'acme', from_cache: false } })
    expect(listField(fresh.data, 'tools')).toEqual([ECHO, SHOUT])
    expect(Date.parse(String(field(fresh.data, 'fetched_at')))).toBeGreaterThan(0)
    const again = await loadServer()
    expect(again).toMatchObject({ data: { from_cache: true, tools: [ECHO, SHOUT] } })
    expect(field(again.data, 'fetched_at')).toBe(field(fresh.data, 'fetched_at'))
    expect(server.starts()).toBe(1)
  })

  test('S7: of a server with much to say the names stand in the reply, and all of it as it was sent in what is kept', async () => {
    const tools = Array.from({ length: 30 }, (_, at) => ({
      ...SHOUT,
      name: `shout_${at}`,
      description: `Number ${at}\n${'Says words. '.repeat(300)}`,
    }))
    await served(tools)
    const reply = await loadServer()
    expect(reply).toMatchObject({ data: { truncated: true, mcp: 'acme', rest: { call: 'load' } } })
    expect(Buffer.byteLength(JSON.stringify(reply.data))).toBeLessThan(16 * 1024)
    expect(field(reply.data, 'tools', 7)).toEqual({ name: 'shout_7', description: 'Number 7' })
    expect(listField(await wholeAnswer(reply, temp), 'tools')).toEqual(tools)
  })

  test('S6: of a tool says what else the server said of it, and its schema once', async () => {
    const marked = { ...say, properties: { canary: { type: 'string' } }, required: [] }
    await served([ECHO, { ...SHOUT, inputSchema: marked }])
    const { data } = await temp.load('acme.shout')
    const { title, outputSchema, annotations, _meta } = SHOUT
    expect(field(data, 'metadata')).toMatchObject({ title, outputSchema, annotations, _meta })
    expect(field(data, 'parameters')).toEqual(marked)
    expect(JSON.stringify(data).split('canary')).toHaveLength(2)
  })

  test('S6: of a tool has its schema as it was sent, and an example that runs as given', async () => {
    await served()
    const { data } = await temp.load('acme.shout')
    expect(data).toMatchObject({ name: 'acme.shout', source: 'mcp', mcp: 'acme', tool_name: 'shout' })
    expect(field(data, 'parameters')).toEqual(SHOUT['inputSchema'])
    const example = field(data, 'call_example')
    expect(example).toMatchObject({
      item_type: 'tool',
      item_id: 'acme.shout',
      parameters: { text: '<text>' },
    })
    expect(await temp.call('execute', example)).toMatchObject({ data: { output: '<text>' } })
    expect((await temp.load('acme.nothing')).error).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('the server "acme" has no tool "nothing"'),
    })
  })

  test('S7: a server that cannot be asked is shown without its tools, and says why', async () => {
    await served()
    writeServers(temp, 'user', { acme: { command: process.execPath, args: ['-e', 'process.exit(3)'] } })
    const reply = await loadServer()
    expect(reply).toMatchObject({
      status: 'success',
      data: { tools: [], fetched_at: null, from_cache: false },
    })
    expect(warningsOf(reply)).toEqual(expect.arrayContaining([expect.stringContaining('could not be asked')]))
  })

  test('M4: one odd definition does not lose the others, and what is too costly is said at its use', async () => {
    const bomb: Record<string, unknown> = { type: 'object', $defs: {} }
    const defs: Record<string, unknown> = {}
    for (let at = 0; at < 24; at++) {
      const next = { $ref: `#/$defs/d${at + 1}` }
      defs[`d${at}`] = { anyOf: [next, next] }
    }
    const schema: JsonObject = JSON.parse(
      JSON.stringify({
        ...bomb,
        $defs: { ...defs, d24: { type: 'string' } },
        properties: { x: { $ref: '#/$defs/d0' } },
      }),
    )
    const polluted: JsonObject = JSON.parse('{"name": "polluted", "inputSchema": {"__proto__": {"a": 1}}}')
    await served([
      { name: 'no spaces' },
      { name: 'bomb', inputSchema: schema },
      polluted,
      { inputSchema: {} },
      ECHO,
    ])
    const reply = await loadServer()
    expect(warningsOf(reply).filter((warning) => warning.includes('cannot be used'))).toHaveLength(3)
    expect(await temp.run('acme.echo', { text: 'hi' })).toMatchObject({ data: { output: 'hi' } })
    expect((await temp.run('acme.bomb', {})).error).toMatchObject({
      code: 'SCHEMA_TOO_COSTLY',
      hint: expect.stringContaining('only its author can change that'),
    })
    const [bombFound] = resultsOf(await temp.search('mcp:acme bomb'))
    expect(bombFound).toMatchObject({ call: null, warning: expect.stringContaining('it cannot be called') })
    expect((await temp.run('acme.polluted', {})).error).toMatchObject({ code: 'NOT_FOUND' })
  })

  test('M4: a tool whose schema cannot be read is marked, and called with its arguments unchecked', async () => {
    const odd = { type: 'object', properties: { text: { type: 'frobnicate' } } }
    await served([ECHO, { ...ECHO, name: 'odd', inputSchema: odd }])
    const mark = expect.stringMatching(/^its arguments are sent unchecked: its schema cannot be read/)
    const [found] = resultsOf(await temp.search('mcp:acme odd'))
    expect(found).toMatchObject({ id: 'acme.odd', warning: mark, call: { item_id: 'acme.odd' } })
    const loaded = await temp.load('acme.odd')
    expect(warningsOf(loaded)).toEqual([mark])
    const server = await loadServer()
    expect(field(server.data, 'tools', 1)).toMatchObject({ name: 'odd', mark })
    const ran = await temp.run('acme.odd', { text: 'hi' })
    expect(ran).toMatchObject({ data: { output: 'hi' } })
    expect(warningsOf(ran)).toEqual(expect.arrayContaining([mark]))
  })
})
