import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoreFolder } from '../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../test/fixtures/store-folder.ts'
import { sampleQuery, sampleVersion, SHIPPED } from '../../test/fixtures/store-samples.ts'
import { systemClock } from '../shared/clock.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { NewVersion, SpaceName, Store } from '../store/store.ts'
import { openFileSpace } from './file-space.ts'
import type { Item } from './item.ts'
import type { Lookup } from './lookup.ts'
import { openLookup } from './lookup.ts'
import { notFound } from './not-found.ts'
import { MOST_SHELVED } from './shelf.ts'

let place: StoreFolder
let store: Store
let lookup: Lookup
let updates: { space: string; put: readonly string[]; drop: readonly string[] }[]
let queries: (readonly string[])[]
let shelved: ReadonlyMap<string, Item | null>
/** Runs once, after the next rows were read and before they are handed on. */
let meanwhile: () => Promise<unknown>

beforeEach(async () => {
  place = await makeStoreFolder()
  const real = await place.open()
  updates = []
  queries = []
  meanwhile = async () => undefined
  // The real store, with a note of what is asked of it.
  store = {
    ...real,
    registry: {
      ...real.registry,
      nodes: async (ids) => {
        queries.push(ids)
        const nodes = await real.registry.nodes(ids)
        const work = meanwhile
        meanwhile = async () => undefined
        await work()
        return nodes
      },
    },
    index: {
      ...real.index,
      update: (space, entries, drop) => {
        updates.push({ space: space.space, put: entries.map(({ item_id }) => item_id), drop })
        return real.index.update(space, entries, drop)
      },
    },
  }
  await store.registry.seed(
    [...SHIPPED, server('mcp_github')].map((item) => ({ ...item, manifest: manifestOf(item) })),
    'd1',
  )
  lookup = open()
})
afterEach(() => place.dispose())

const server = (tool_id: string): NewVersion =>
  sampleVersion({ tool_id, tool_type: 'mcp_server', executor_id: 'subprocess' })

const manifestOf = ({ tool_id, tool_type, executor_id, version }: NewVersion) => ({
  tool_id,
  tool_type,
  executor: executor_id,
  version,
  description: 'd',
})

function open(): Lookup {
  const items = new Map<string, Item | null>()
  shelved = items
  let generation = store.generation()
  const freshen = (): number => {
    if (store.generation() !== generation) items.clear()
    generation = store.generation()
    return generation
  }
  const spaces = [
    openFileSpace(
      { space: 'project', root: join(place.folder, 'project'), within: place.folder },
      systemClock,
    ),
    openFileSpace({ space: 'user', root: join(place.folder, 'user'), within: null }, systemClock),
  ]
  return openLookup(place.folder, spaces, {
    store,
    items,
    listings: new Map(),
    listed: new Map(),
    reserved: () => store.registry.reserved(),
    isVouched: async () => true,
    freshen,
  })
}

let time = 1_700_000_000
function put(path: string, version = '1.0.0', more = ''): string {
  const at = join(place.folder, path)
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(
    at,
    `tool_type: script\nexecutor: python_runtime\nversion: ${version}\ndescription: d\n${more}`,
  )
  time += 1
  utimesSync(at, time, time)
  return at
}

const publish = (given: Partial<NewVersion>): Promise<unknown> => {
  const version = sampleVersion(given)
  return store.registry.publish({ ...version, manifest: manifestOf(version) })
}

async function find(id: string, itemType: ItemType = 'tool', source?: SpaceName): Promise<string | null> {
  lookup.freshen(true)
  const item = await lookup.find(parseItemRef(id), itemType, source)
  return item === null ? null : `${item.space} ${item.id}@${item.manifest.version}`
}

describe('L1: the order of finding', () => {
  test('project, user, registry: the nearer wins, and each can be asked alone', async () => {
    await publish({ tool_id: 'a', version: '3.0.0' })
    expect(await find('a')).toBe('registry a@3.0.0')
    put('user/tools/a.yaml', '2.0.0')
    expect(await find('a')).toBe('user a@2.0.0')
    put('project/tools/a.yaml', '1.0.0')
    expect(await find('a')).toBe('project a@1.0.0')
    expect(await find('a', 'tool', 'user')).toBe('user a@2.0.0')
    expect(await find('a', 'tool', 'registry')).toBe('registry a@3.0.0')
    expect(await find('a', 'tool', 'builtin')).toBe(null)
    expect(await find('b')).toBe(null)
  })

  test('what is shipped and not reserved can be overridden by files', async () => {
    expect(await find('git_checkpoint')).toBe('builtin git_checkpoint@1.0.0')
    put('user/tools/git_checkpoint.yaml', '5.0.0')
    expect(await find('git_checkpoint')).toBe('user git_checkpoint@5.0.0')
    expect(await find('git_checkpoint', 'tool', 'builtin')).toBe('builtin git_checkpoint@1.0.0')
  })

  test('T6: a reserved id always means the shipped tool', async () => {
    put('project/tools/subprocess.yaml', '9.0.0')
    put('user/tools/python_runtime/tool.yaml', '9.0.0')
    expect(await find('subprocess')).toBe('builtin subprocess@1.0.0')
    expect(await find('python_runtime')).toBe('builtin python_runtime@1.0.0')
    expect(await find('subprocess', 'tool', 'project')).toBe(null)
  })

  test('T6: nor can a file of another name declare a reserved id', async () => {
    put('project/tools/harmless.yaml', '9.0.0', 'tool_id: subprocess\n')
    expect(await find('harmless')).toBe(null)
    expect(await find('subprocess')).toBe('builtin subprocess@1.0.0')
  })

  test('L1: a category is part of the question in every space', async () => {
    put('project/tools/web/a.yaml', '1.0.0')
    await publish({ tool_id: 'b', category: 'web' })
    expect(await find('web/a')).toBe('project a@1.0.0')
    expect(await find('other/a')).toBe(null)
    expect(await find('web/b')).toBe('registry b@1.0.0')
    expect(await find('other/b')).toBe(null)
  })

  test('a broken file nearby is an error, not a way to the one behind it', async () => {
    await publish({ tool_id: 'a' })
    put('project/tools/a.yaml', '1.0.0', 'tags: [')
    await expect(find('a')).rejects.toMatchObject({ code: 'PARSE_ERROR' })
  })
})

describe('T10: versions', () => {
  beforeEach(async () => {
    for (const version of ['1.0.0', '1.2.0', '2.0.0']) await publish({ tool_id: 'a', version })
    put('project/tools/a.yaml', '1.5.0')
  })

  test.each([
    ['a', 'project a@1.5.0'],
    ['a@1.5.0', 'project a@1.5.0'],
    ['a@^1', 'registry a@1.2.0'],
    ['a@~1.2', 'registry a@1.2.0'],
    ['a@1.0.0', 'registry a@1.0.0'],
    ['a@^2', 'registry a@2.0.0'],
    ['a@<1.1', 'registry a@1.0.0'],
    ['a@3', null],
  ])('%s is %s', async (id, expected) => {
    expect(await find(id)).toBe(expected)
  })

  test('a range that is none is said to be none', async () => {
    await expect(find('a@latest-please')).rejects.toMatchObject({ code: 'INVALID_PARAMETERS' })
  })
})

describe('S2, R4: the type that is asked for', () => {
  test.each([
    ['mcp_github', 'builtin mcp_github@1.0.0'],
    ['github', 'builtin mcp_github@1.0.0'],
    ['github_mcp', 'builtin mcp_github@1.0.0'],
    ['gitlab', null],
    ['subprocess', null],
    ['g'.repeat(128), null],
  ])('the server %s is %s', async (id, expected) => {
    expect(await find(id, 'mcp')).toBe(expected)
  })

  test('a script of the name of a server does not stand in its way', async () => {
    put('project/tools/github.yaml')
    expect(await find('github', 'mcp')).toBe('builtin mcp_github@1.0.0')
    expect(await find('github', 'tool')).toBe('project github@1.0.0')
    expect(await find('github_mcp', 'tool')).toBe(null)
  })

  test('a tool is whatever has an id; a directive is only a directive', async () => {
    expect(await find('git_checkpoint', 'tool')).toBe('builtin git_checkpoint@1.0.0')
    expect(await find('git_checkpoint', 'directive')).toBe('builtin git_checkpoint@1.0.0')
    expect(await find('git_checkpoint', 'knowledge')).toBe(null)
    put('project/tools/a.yaml')
    expect(await find('a', 'directive')).toBe(null)
  })
})

describe('C1, C2: what is known of the store', () => {
  test('is read once, with the executors, and a missing id is remembered as missing', async () => {
    await lookup.prefetch(['python_runtime', 'nobody'])
    expect(queries).toEqual([['python_runtime', 'nobody']])
    expect(await find('python_runtime')).toBe('builtin python_runtime@1.0.0')
    expect(await find('subprocess')).toBe('builtin subprocess@1.0.0')
    expect(await find('nobody')).toBe(null)
    await lookup.prefetch(['subprocess', 'nobody'])
    expect(queries.length).toBe(1)
  })

  test('is bounded: names that lead nowhere do not pile up', async () => {
    const names = Array.from({ length: MOST_SHELVED + 500 }, (_, n) => `nobody${n}`)
    await lookup.prefetch(['subprocess'])
    for (let at = 0; at < names.length; at += 500) await lookup.prefetch(names.slice(at, at + 500))
    expect(shelved.size).toBeLessThanOrEqual(MOST_SHELVED)
    expect(shelved.has(names.at(-1) ?? '')).toBe(true)
    expect(await find('subprocess')).toBe('builtin subprocess@1.0.0')
  })

  test('is read again when the registry changed, here or in another process', async () => {
    expect(await find('a')).toBe(null)
    const { generation } = lookup
    const other = await place.open()
    const version = sampleVersion({ tool_id: 'a' })
    await other.registry.publish({ ...version, manifest: manifestOf(version) })
    expect(await find('a')).toBe('registry a@1.0.0')
    expect(lookup.generation).toBeGreaterThan(generation)
  })

  test('rows that were read while the registry changed are read once more', async () => {
    meanwhile = () => publish({ tool_id: 'a', version: '2.0.0' })
    expect(await find('a')).toBe('registry a@2.0.0')
    expect(queries).toEqual([['a'], ['a']])
  })

  test('the generation grows with the files, and stays when nothing changed', async () => {
    lookup.freshen(true)
    const { generation } = lookup
    lookup.freshen(true)
    expect(lookup.generation).toBe(generation)
    put('user/tools/a.yaml')
    lookup.freshen(true)
    expect(lookup.generation).toBe(generation + 1)
  })

  test('an item of the store is current; one of a file only while the file is', async () => {
    const path = put('project/tools/a.yaml')
    lookup.freshen(true)
    const [stored, own] = [
      await lookup.find(parseItemRef('subprocess'), 'tool'),
      await lookup.find(parseItemRef('a'), 'tool'),
    ]
    if (stored === null || own === null) throw new Error('not found')
    expect([lookup.isCurrent(stored), lookup.isCurrent(own)]).toEqual([true, true])
    rmSync(path)
    expect([lookup.isCurrent(stored), lookup.isCurrent(own)]).toEqual([true, false])
  })

  test('an item of the store is whole: marks, text and files', async () => {
    const files = [{ path: 'main.py', content: Buffer.from('x'), isExecutable: false }]
    await publish({ tool_id: 'a', files, manifest_yaml: '# text' })
    lookup.freshen(true)
    const item = await lookup.find(parseItemRef('a'), 'tool')
    expect(item).toMatchObject({
      space: 'registry',
      path: null,
      text: '# text',
      isReserved: false,
      raw: { tool_id: 'a' },
    })
    expect((await item?.files())?.map(({ path }) => path)).toEqual(['main.py'])
    expect(await lookup.find(parseItemRef('subprocess'), 'tool')).toMatchObject({
      space: 'builtin',
      isReserved: true,
    })
  })
})

describe('E2: the search index is made equal to the files', () => {
  const search = async (words: string): Promise<readonly string[]> => {
    const { hits } = await store.index.search(
      sampleQuery(words, { roots: lookup.roots, spaces: ['project', 'user'], sortBy: 'name' }),
    )
    return hits.map(({ item_id, space }) => `${space} ${item_id}`)
  }
  const sync = async () => {
    updates.length = 0
    lookup.freshen(true)
    return (await lookup.syncIndex()).faults
  }

  test('only what changed is written', async () => {
    put('project/tools/a.yaml')
    put('project/tools/web/b.yaml')
    put('user/tools/c.yaml')
    expect(await sync()).toEqual([])
    expect(updates.map(({ space, put: written }) => [space, new Set(written)])).toEqual([
      ['project', new Set(['a', 'b'])],
      ['user', new Set(['c'])],
    ])
    expect(await search('')).toEqual(['project a', 'project b', 'user c'])
    await sync()
    expect(updates).toEqual([])
    put('project/tools/a.yaml', '1.1.0')
    await sync()
    expect(updates).toEqual([{ space: 'project', put: ['a'], drop: [] }])
    rmSync(join(place.folder, 'project/tools/a.yaml'))
    await sync()
    expect(updates).toEqual([
      { space: 'project', put: [], drop: [join(place.folder, 'project/tools/a.yaml')] },
    ])
    expect(await search('')).toEqual(['project b', 'user c'])
  })

  test('another process that comes later finds it done', async () => {
    put('project/tools/a.yaml')
    await sync()
    lookup = open()
    expect(await sync()).toEqual([])
    expect(updates).toEqual([])
  })

  test('a broken file is reported each time, found by its name and its text, and taken in once it is mended', async () => {
    const path = put('project/tools/a.yaml')
    put('project/tools/b.yaml')
    await sync()
    put('project/tools/a.yaml', '1.0.0', 'tags: [')
    expect(await sync()).toEqual([{ path, reason: expect.stringContaining(path) }])
    expect(await search('')).toEqual(['project a', 'project b'])
    const { hits } = await store.index.search(sampleQuery('tags', { roots: lookup.roots }))
    expect(hits).toMatchObject([
      { item_id: 'a', description: expect.stringMatching(/^needs repair: Cannot read/) },
    ])
    put('project/tools/b.yaml', '1.0.1')
    updates.length = 0
    expect(await sync()).toEqual([{ path, reason: expect.stringContaining(path) }])
    expect(updates).toMatchObject([{ put: ['b'], drop: [] }])
    put('project/tools/a.yaml')
    expect(await sync()).toEqual([])
    expect(await search('')).toEqual(['project a', 'project b'])
  })

  test('T6: a file that takes a reserved id is reported and cannot be found', async () => {
    const paths = [
      put('project/tools/subprocess.yaml'),
      put('project/tools/x.yaml', '1.0.0', 'tool_id: http_client\n'),
    ]
    const faults = await sync()
    expect(new Set(faults.map(({ path }) => path))).toEqual(new Set(paths))
    for (const { reason } of faults) expect(reason).toContain('belongs to a tool that is shipped')
    expect(await search('')).toEqual([])
  })
})

test('S14: what is not found is told with the search that may find it', () => {
  expect(notFound(parseItemRef('send_mail.v2@1.0.0'), 'tool')).toMatchObject({
    code: 'NOT_FOUND',
    message: 'Cannot find tool "send_mail.v2@1.0.0"',
    fix: { call: 'search', arguments: { query: 'send mail v2' } },
    details: { item_type: 'tool', item_id: 'send_mail.v2@1.0.0' },
  })
})
