import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { JsonObject } from '../../src/shared/json.ts'
import { field, listField, textField } from '../fixtures/field.ts'
import { writeServers } from '../fixtures/shifting-server.ts'
import { wholeAnswer } from '../fixtures/whole-answer.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

const MODULES = fileURLToPath(new URL('../../node_modules/', import.meta.url))

interface RealServer {
  readonly package: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly tools: number
  readonly protocol: string
  /** Words, and the tool they should find. */
  readonly words: readonly [string, string]
  /** A call that reaches nothing, and a part of what it gives back. */
  readonly call?: readonly [string, JsonObject, string]
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kiwi-real-')))
const thought = { thought: 'one', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }

const SERVERS: Readonly<Record<string, RealServer>> = {
  everything: {
    package: '@modelcontextprotocol/server-everything',
    // Four of them only for clients that can be asked something.
    tools: 17,
    protocol: '2025-11-25',
    words: ['echo the input', 'everything.echo'],
    call: ['everything.echo', { message: 'hi' }, 'Echo: hi'],
  },
  filesystem: {
    package: '@modelcontextprotocol/server-filesystem',
    args: [folder],
    tools: 14,
    protocol: '2025-11-25',
    words: ['directory tree', 'mcp_filesystem.directory_tree'],
    call: ['mcp_filesystem.list_allowed_directories', {}, folder],
  },
  memory: {
    package: '@modelcontextprotocol/server-memory',
    env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') },
    tools: 9,
    protocol: '2025-11-25',
    words: ['knowledge graph relations', 'memory.create_relations'],
    call: ['memory.read_graph', {}, 'entities'],
  },
  'sequential-thinking': {
    package: '@modelcontextprotocol/server-sequential-thinking',
    tools: 1,
    protocol: '2025-11-25',
    words: ['thinking', 'sequential-thinking.sequentialthinking'],
    call: ['sequential-thinking.sequentialthinking', thought, 'thoughtNumber'],
  },
  github: {
    package: '@modelcontextprotocol/server-github',
    tools: 26,
    protocol: '2024-11-05',
    words: ['create pull request', 'github.create_pull_request'],
  },
  gitlab: {
    package: '@modelcontextprotocol/server-gitlab',
    env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'none' },
    tools: 9,
    protocol: '2024-11-05',
    words: ['merge request', 'gitlab.create_merge_request'],
  },
  supabase: {
    package: '@supabase/mcp-server-supabase',
    args: [
      '--access-token=none',
      '--api-url=http://127.0.0.1:9',
      '--features=account,database,debugging,development,functions,branching,storage',
    ],
    tools: 31,
    protocol: '2026-07-28',
    words: ['apply migration', 'supabase.apply_migration'],
  },
  notion: {
    package: '@notionhq/notion-mcp-server',
    env: { NOTION_TOKEN: 'none' },
    tools: 24,
    protocol: '2025-11-25',
    words: ['search by title', 'notion.API-post-search'],
  },
}

function entryOf({ package: name, args = [], env = {} }: RealServer): JsonObject {
  const { bin }: { bin: Record<string, string> } = JSON.parse(
    readFileSync(join(MODULES, name, 'package.json'), 'utf8'),
  )
  const program = join(MODULES, name, Object.values(bin)[0] ?? '')
  return { command: process.execPath, args: [program, ...args], env, startup_timeout: 30 }
}

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi({ kind: 'person' })
  const entries = Object.entries(SERVERS).map(([name, server]) => [name, entryOf(server)] as const)
  writeServers(temp, 'user', Object.fromEntries(entries))
})
afterAll(async () => {
  await temp.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.each(Object.entries(SERVERS))('%s', (name, { tools, protocol, words, call }) => {
  test(
    'S6 S7 M4: is loaded whole, each of its tools with a schema that arguments are checked by and an example it accepts',
    { timeout: 60_000 },
    async () => {
      const reply = await temp.call('load', { item_type: 'mcp', item_id: `mcp_${name}` })
      expect(Buffer.byteLength(JSON.stringify(reply.data))).toBeLessThan(40 * 1024)
      const data = await wholeAnswer(reply, temp)
      expect(data).toMatchObject({ protocol })
      const listed = listField(data, 'tools')
      expect(listed).toHaveLength(tools)
      expect(listed.filter((tool) => field(tool, 'mark') !== undefined)).toEqual([])
      for (const tool of listed) {
        const item_id = `${textField(data, 'mcp')}.${textField(tool, 'name')}`
        const bare = await temp.call('execute', { item_type: 'tool', action: 'run', item_id, dry_run: true })
        expect([item_id, bare.error?.code ?? bare.status]).toEqual([
          item_id,
          expect.stringMatching(/^(?:dry_run|INVALID_PARAMETERS)$/),
        ])
        const shown = await temp.load(item_id)
        const example = field(shown.data, 'call_example')
        const tried = await temp.call('execute', { ...Object(example), dry_run: true })
        expect([item_id, example, tried.error?.message ?? tried.status]).toEqual([
          item_id,
          example,
          'dry_run',
        ])
        expect(field(shown.data, 'parameters')).toEqual(field(tool, 'inputSchema'))
      }
    },
  )

  test('S4 M7: is found by what its tools do', async () => {
    const [query, found] = words
    expect(resultsOf(await temp.search(`in:mcp ${query}`)).map(({ id }) => id)).toContain(found)
    const own = resultsOf(await temp.search(`mcp:mcp_${name} in:mcp`, { limit: 100 }))
    expect(own).toHaveLength(tools)
  })

  test.runIf(call !== undefined)('S12: is called', async () => {
    const [id, parameters, part] = call ?? ['', {}, '']
    const reply = await temp.run(id, parameters)
    expect(reply).toMatchObject({ status: 'success' })
    expect(JSON.stringify(reply.data)).toContain(part)
  })
})

test('S3: ten results over all of them take at most 1,600 bytes, and the first is called as it is', async () => {
  const client = {
    principal: 'tester',
    session: 'agent',
    kind: 'agent',
    defaultProject: () => Promise.resolve(temp.project),
  } as const
  const queries = [
    'create file repository',
    'search',
    'list all projects',
    'issue comment',
    'read graph page',
  ]
  for (const query of queries) {
    const { data } = await temp.kiwi.call('search', { query }, client)
    const results = listField(data, 'results')
    expect([query, results.length]).toEqual([query, 10])
    expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThanOrEqual(1600)
    for (const result of results) {
      expect(textField(result, 'description').length).toBeGreaterThan(15)
      const call = field(result, 'call') ?? {
        ...Object(field(data, 'call_format')),
        item_id: field(result, 'id'),
      }
      const tried = await temp.kiwi.call('execute', { ...Object(call), dry_run: true }, client)
      const isReady = field(result, 'call') !== undefined
      const missing = listOf(field(tried.error?.details, 'missing'))
      // Where it is not written out, the line of parameters names all that must be given.
      const named = JSON.stringify(field(result, 'parameters') ?? '')
      expect([call, tried.error?.message ?? 'ok', isReady && missing.length > 0]).toEqual([
        call,
        expect.any(String),
        false,
      ])
      for (const name of missing) expect([call, named]).toEqual([call, expect.stringContaining(String(name))])
    }
  }
  const { data } = await temp.kiwi.call('search', { query: 'echo the input', limit: 10 }, client)
  const first = Object(field(data, 'results', 0, 'call'))
  const reply = await temp.kiwi.call('execute', { ...first, parameters: { message: 'hi' } }, client)
  expect(reply).toMatchObject({ status: 'success', data: { output: 'Echo: hi' } })
  await vi.waitFor(
    async () =>
      expect(await temp.kiwi.store.uses()).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ item_id: 'everything.echo', words: ['echo', 'input'] }),
        ]),
      ),
    { timeout: 5000 },
  )
})

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

test(
  'M7: six servers at once are searched for the first time, and what is not listed in time is found a moment later',
  { timeout: 60_000 },
  async () => {
    const other = await openTempKiwi()
    try {
      const six = ['everything', 'filesystem', 'memory', 'sequential-thinking', 'github', 'notion']
      const entries = Object.entries(SERVERS).filter(([name]) => six.includes(name))
      writeServers(
        other,
        'user',
        Object.fromEntries(entries.map(([name, server]) => [name, entryOf(server)] as const)),
      )
      await vi.waitFor(
        async () => {
          const { data, metadata } = await other.search('in:mcp', { limit: 1 })
          expect(metadata.warnings).toBe(undefined)
          expect(field(data, 'total')).toBe(17 + 14 + 9 + 1 + 26 + 24)
        },
        { timeout: 45_000, interval: 500 },
      )
    } finally {
      await other.close()
    }
  },
)
