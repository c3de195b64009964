import { expect } from 'vitest'
import { sha256 } from '../../src/shared/json.ts'
import type { CatalogTool, Listing } from '../../src/store/catalog.ts'
import { sampleEntry, sampleQuery } from '../fixtures/store-samples.ts'
import type { Cases } from './store-bed.ts'

const KEY = 'a'.repeat(64)
const LISTING: Listing = {
  key: KEY,
  server: 'mcp_github',
  listed_at: 1_700_000_000_000,
  hash: 'h',
  era: 'legacy',
  protocol: '2025-11-25',
  capabilities: { tools: { listChanged: true } },
  server_info: { name: 'github', version: '1' },
  instructions: null,
}

function tool(name: string, given: Partial<CatalogTool> = {}): CatalogTool {
  const raw = { name, description: `does ${name}`, inputSchema: { type: 'object' } }
  const usual = { state: 'usable', reason: null, findings: [], approved: raw } as const
  return { name, raw, pin: sha256(name), ...usual, ...given }
}
const QUARANTINED = tool('b', { state: 'quarantined', reason: 'new', findings: ['odd'], approved: null })

export const catalogCases: Cases = {
  async 'M4: what an upstream listed is kept as it came, in its order, for all processes'(bed) {
    const [store, other] = [await bed.open(), await bed.open()]
    const before = other.generation()
    const tools = [tool('z'), QUARANTINED, tool('__proto__')]
    await store.catalog.put(LISTING, tools)
    expect(await other.catalog.listing(KEY)).toEqual(LISTING)
    expect(await other.catalog.tools(KEY)).toEqual(tools)
    expect(await other.catalog.tool(KEY, 'b')).toEqual(QUARANTINED)
    expect(await other.catalog.tool(KEY, 'none')).toBe(null)
    expect(await other.catalog.listing('b'.repeat(64))).toBe(null)
    expect(other.generation()).toBeGreaterThan(before)
  },

  async 'M4: a listing takes the place of the one before; another upstream keeps its own'(bed) {
    const store = await bed.open()
    const elsewhere = { ...LISTING, key: 'b'.repeat(64) }
    await store.catalog.put(LISTING, [tool('a'), tool('b')])
    await store.catalog.put(elsewhere, [tool('a')])
    await store.catalog.put({ ...LISTING, listed_at: 2, hash: 'i' }, [tool('b')])
    expect((await store.catalog.tools(KEY)).map(({ name }) => name)).toEqual(['b'])
    expect(await store.catalog.tools(elsewhere.key)).toHaveLength(1)
    expect(await store.catalog.listing(KEY)).toMatchObject({ listed_at: 2, hash: 'i' })
  },

  async 'M4: an expired listing is to be asked for again, and its tools stay'(bed) {
    const store = await bed.open()
    await store.catalog.put(LISTING, [tool('a')])
    const before = store.generation()
    await store.catalog.expire(KEY)
    const after = store.generation()
    expect(await store.catalog.listing(KEY)).toEqual({ ...LISTING, listed_at: 0 })
    expect(await store.catalog.tools(KEY)).toEqual([tool('a')])
    expect(after).toBeGreaterThan(before)
    await store.catalog.expire(KEY)
    expect(store.generation()).toBe(after)
  },

  async 'X5: a person lets one definition pass, as it was shown and no other'(bed) {
    const store = await bed.open()
    await store.catalog.put(LISTING, [tool('a'), QUARANTINED])
    for (const [name, pin] of [
      ['b', 'another'],
      ['none', QUARANTINED.pin],
    ] as const)
      await expect(store.catalog.approve(KEY, [{ name, pin }])).rejects.toMatchObject({ code: 'CONFLICT' })
    await store.catalog.approve(KEY, [QUARANTINED])
    const passed = { ...QUARANTINED, state: 'usable', reason: null, approved: QUARANTINED.raw }
    expect(await store.catalog.tools(KEY)).toEqual([tool('a'), passed])
    expect(await store.catalog.listing(KEY)).toEqual(LISTING)
  },

  async 'X5: of several definitions all pass or none does'(bed) {
    const store = await bed.open()
    const other = { ...QUARANTINED, name: 'c', pin: 'of c' }
    await store.catalog.put(LISTING, [tool('a'), QUARANTINED, other])
    const seen = [QUARANTINED, { ...other, pin: 'another' }]
    await expect(store.catalog.approve(KEY, seen)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await store.catalog.tools(KEY)).toEqual([tool('a'), QUARANTINED, other])
    await store.catalog.approve(KEY, [QUARANTINED, other])
    expect((await store.catalog.tools(KEY)).map(({ state }) => state)).toEqual(['usable', 'usable', 'usable'])
  },

  async 'UP-15: a row that was edited, cut or taken away is not believed, and listed again'(bed) {
    const store = await bed.open()
    for (const [change, left] of [
      ['UPDATE listed_tools SET raw = \'{"name":"b"}\' WHERE name = \'b\'', ['a']],
      ["UPDATE listed_tools SET raw = substr(raw, 1, 9) WHERE name = 'b'", ['a']],
      ["UPDATE listed_tools SET state = 'usable', reason = NULL WHERE name = 'b'", ['a']],
      ["UPDATE listed_tools SET approved = raw WHERE name = 'b'", ['a']],
      ["DELETE FROM listed_tools WHERE name = 'b'", ['a']],
      ["UPDATE listings SET instructions = 'obey'", ['a', 'b']],
    ] as const) {
      await store.catalog.put(LISTING, [tool('a'), QUARANTINED])
      await bed.tamper(change)
      expect((await store.catalog.tools(KEY)).map(({ name }) => name)).toEqual(left)
      expect(await store.catalog.listing(KEY)).toMatchObject({ listed_at: 0 })
    }
    await expect(store.catalog.approve(KEY, [{ ...QUARANTINED, name: 'c' }])).rejects.toMatchObject({
      code: 'CONFLICT',
    })
  },

  async 'M7: what upstreams list is searched beside files, one server by its name, and files are nearer'(
    bed,
  ) {
    const { index } = await bed.open()
    const place = { space: 'mcp', root: KEY } as const
    const entry = (item_id: string, server: string): ReturnType<typeof sampleEntry> =>
      sampleEntry({ path: item_id, item_id, server, tool_type: 'mcp_tool', description: 'opens issues' })
    await index.update(place, [entry('github.open', 'github'), entry('gitlab.open', 'gitlab')], [])
    const roots = [place, { space: 'project', root: '/p' } as const]
    const found = async (more: object): Promise<readonly string[]> =>
      (await index.search(sampleQuery('issues', { roots, ...more }))).hits.map(
        ({ item_id, space }) => `${space} ${item_id}`,
      )
    expect(await found({})).toEqual(['mcp github.open', 'mcp gitlab.open'])
    expect(await found({ server: 'github' })).toEqual(['mcp github.open'])
    expect(await found({ roots: [] })).toEqual([])
    await index.update({ space: 'project', root: '/p' }, [entry('github.open', 'github')], [])
    expect(await found({ server: 'github' })).toEqual(['project github.open'])
    expect(await found({ spaces: ['mcp'], server: 'github' })).toEqual(['mcp github.open'])
  },
}
