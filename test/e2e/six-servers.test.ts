import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field, listField, textField } from '../fixtures/field.ts'
import type { LoopbackServer } from '../fixtures/loopback-server.ts'
import { openLoopbackServer, reply } from '../fixtures/loopback-server.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { stdioClient } from '../fixtures/stdio-client.ts'

let place: Place
let web: LoopbackServer
let client: Client

/** The file that a package is started by. */
function entryOf(name: string): string {
  const manifest = join(import.meta.dirname, '../../node_modules', name, 'package.json')
  const [bin] = Object.values(Object(JSON.parse(readFileSync(manifest, 'utf8')).bin))
  return join(dirname(manifest), String(bin))
}

beforeAll(async () => {
  place = makePlace()
  web = await openLoopbackServer((request) =>
    reply(request, 200, JSON.stringify([{ id: 'p1', name: 'first project' }]), {
      'content-type': 'application/json',
    }),
  )
  const official = (name: string): string => entryOf(`@modelcontextprotocol/server-${name}`)
  const [notes, memory] = [join(place.folder, 'notes'), join(place.folder, 'memory.json')]
  mkdirSync(notes)
  writeFileSync(join(notes, 'a.txt'), 'kept in a file')
  const mcps = {
    everything: { command: process.execPath, args: [official('everything'), 'stdio', place.folder] },
    filesystem: { command: process.execPath, args: [official('filesystem')], allowed_paths: [notes] },
    memory: { command: process.execPath, args: [official('memory')], env: { MEMORY_FILE_PATH: memory } },
    thinking: { command: process.execPath, args: [official('sequential-thinking')] },
    github: { command: process.execPath, args: [official('github')] },
    supabase: {
      command: process.execPath,
      args: [
        entryOf('@supabase/mcp-server-supabase'),
        '--access-token=none',
        `--api-url=${web.url}`,
        '--features=account,database',
      ],
    },
  }
  mkdirSync(join(place.folder, 'user/config'), { recursive: true })
  // JSON is YAML.
  writeFileSync(join(place.folder, 'user/config/mcp_registry.yaml'), JSON.stringify({ mcps }))
  ;({ client } = await stdioClient(place))
}, 120_000)
afterAll(async () => {
  await client.close()
  await web.close()
  place.remove()
})

const ask = async (name: string, args: Record<string, unknown>): Promise<unknown> =>
  (await client.callTool({ name, arguments: args }, { timeout: 60_000 })).structuredContent
const run = (id: string, parameters: object = {}): Promise<unknown> =>
  ask('execute', { item_type: 'tool', action: 'run', item_id: id, parameters })

/** What each is asked for, by which name, and what comes of it. Without a network GitHub can only say so. */
const SERVERS = [
  {
    name: 'everything',
    query: 'echo',
    id: 'everything.echo',
    given: () => ({ message: 'hello' }),
    said: 'hello',
  },
  {
    name: 'mcp_filesystem',
    query: 'read text file',
    id: 'mcp_filesystem.read_text_file',
    given: () => ({ path: join(place.folder, 'notes/a.txt') }),
    said: 'kept in a file',
  },
  { name: 'memory', query: 'knowledge graph', id: 'memory.read_graph', given: () => ({}), said: 'entities' },
  {
    name: 'thinking',
    query: 'sequential thinking',
    id: 'thinking.sequentialthinking',
    given: () => ({ thought: 'first', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }),
    said: 'thoughtNumber',
  },
  {
    name: 'github',
    query: 'search repositories',
    id: 'github.search_repositories',
    given: () => ({ query: 'kiwi' }),
    said: '',
  },
  {
    name: 'supabase',
    query: 'list projects',
    id: 'supabase.list_projects',
    given: () => ({}),
    said: 'first project',
  },
]

describe('six real servers in one registry', () => {
  test('S6, S12: each is listed once asked for', async () => {
    for (const { name } of SERVERS) {
      const loaded = await ask('load', { item_type: 'mcp', item_id: name })
      expect([name, field(loaded, 'error')]).toEqual([name, null])
    }
  }, 120_000)

  test.each(SERVERS)(
    'S6, S7, S12: of $name "$query" is found, loaded and called',
    async ({ name, query, id, given, said }) => {
      const found = await ask('search', { query: `mcp:${name} ${query}` })
      expect(listField(found, 'data', 'results').map((result) => textField(result, 'id'))).toContain(id)
      const loaded = await ask('load', { item_type: 'tool', item_id: id })
      expect(loaded).toMatchObject({ status: 'success', data: { name: id, parameters: { type: 'object' } } })
      const ran = await run(id, given())
      if (name === 'github' && field(ran, 'status') === 'error') {
        expect(ran).toMatchObject({ error: { code: expect.stringMatching(/^(?:TOOL_FAILED|TIMEOUT)$/) } })
        return
      }
      expect([field(ran, 'error'), JSON.stringify(field(ran, 'data'))]).toEqual([
        null,
        expect.stringContaining(said),
      ])
    },
    120_000,
  )

  test('M5, B11: an upstream killed between two calls costs at most one of them', async () => {
    for (const word of ['one', 'two']) {
      expect(await run('everything.echo', { message: word })).toMatchObject({ status: 'success' })
      const [pid] = pidsWith(place.folder)
      if (pid === undefined) throw new Error('no upstream runs')
      process.kill(pid, 'SIGKILL')
      await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 10_000, interval: 5 }).toBe(false)
      const first = await run('everything.echo', { message: 'again' })
      const second =
        field(first, 'status') === 'success' ? first : await run('everything.echo', { message: 'again' })
      expect(second).toMatchObject({ status: 'success', error: null })
      expect(pidsWith(place.folder)).not.toContain(pid)
    }
  }, 60_000)
})

/** Programs of this test whose arguments hold the text, the one that was started by Kiwi and not its watchdog. */
function pidsWith(text: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        return program === process.execPath && args.includes(text)
      } catch {
        return false
      }
    })
    .map(Number)
}
