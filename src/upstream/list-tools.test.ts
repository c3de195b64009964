import { describe, expect, test } from 'vitest'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import type { RawListing } from './list-tools.ts'
import { listTools } from './list-tools.ts'
import type { Description, Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'

const DESCRIPTION: Description = {
  era: 'legacy',
  protocol: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: {},
  instructions: null,
  judgedAt: 0,
}
const UPSTREAM: Upstream = {
  id: 'acme',
  key: 'k',
  startupMs: 1,
  keepAliveMs: 1,
  open: () => Promise.reject(new Error('nothing is opened here')),
}

async function list(
  answer: (cursor: string | undefined) => JsonObject,
  description = DESCRIPTION,
): Promise<RawListing & { readonly asked: number }> {
  let asked = 0
  const upstreams: Pick<Upstreams, 'describe' | 'request'> = {
    describe: () => Promise.resolve(description),
    request: (_, { params: { cursor } }) => {
      asked += 1
      return Promise.resolve().then(() => answer(typeof cursor === 'string' ? cursor : undefined))
    },
  }
  return { ...(await listTools(upstreams, UPSTREAM, { timeoutMs: 1000 })), asked }
}

const tool = (name: string): JsonObject => ({ name, inputSchema: { type: 'object' } })

describe('M4: a listing', () => {
  test('is all pages, in their order', async () => {
    const pages: Readonly<Record<string, JsonObject>> = {
      '': { tools: [tool('a')], nextCursor: 'x' },
      x: { tools: [tool('b'), tool('c')], nextCursor: 'y' },
      y: { tools: [tool('d')], nextCursor: '' },
    }
    const listing = await list((cursor = '') => pages[cursor] ?? {})
    expect(listing.tools.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd'])
    expect(listing).toMatchObject({ description: DESCRIPTION, faults: [], asked: 3 })
  })

  test('ends where its pages lead back, and keeps what it has', async () => {
    const listing = await list((cursor) => ({ tools: [tool(cursor ?? 'a')], nextCursor: 'again' }))
    expect(listing.tools).toHaveLength(2)
    expect(listing.faults).toEqual(['its pages lead back to one that was read'])
    expect(listing.asked).toBe(2)
  })

  test('has an end, however many pages, tools or bytes there are', async () => {
    const endless = await list((cursor) => ({ tools: [tool(cursor ?? '')], nextCursor: `${cursor}x` }))
    expect(endless.asked).toBe(LIMITS.listedPages)
    expect(endless.faults).toEqual([expect.stringContaining(`${LIMITS.listedPages} pages`)])
    const many = Array.from({ length: LIMITS.listedTools + 5 }, (_, at) => tool(`t${at}`))
    const crowded = await list(() => ({ tools: many, nextCursor: 'more' }))
    expect(crowded.tools).toHaveLength(LIMITS.listedTools)
    expect(crowded).toMatchObject({ asked: 1, faults: [expect.stringContaining('left out')] })
    const large = { ...tool('large'), description: 'x'.repeat(LIMITS.listedBytes) }
    const heavy = await list((cursor) =>
      cursor === undefined ? { tools: [tool('a')], nextCursor: 'b' } : { tools: [large], nextCursor: 'c' },
    )
    expect(heavy.tools).toEqual([tool('a')])
    expect(heavy.faults).toEqual([expect.stringContaining('left out')])
  })

  test('leaves out what is no tool at all, and nothing else', async () => {
    const listing = await list(() => ({ tools: [tool('a'), 7, null, [tool('b')], tool('c')] }))
    expect(listing.tools).toEqual([tool('a'), tool('c')])
    expect(listing.faults).toEqual(['3 of its tools are no objects'])
    expect(await list(() => ({ tools: 'none' }))).toMatchObject({ tools: [], faults: [] })
  })

  test('is empty for one that never said it has tools, and fails for one that did', async () => {
    const fail = (): never => {
      throw new KiwiError('TOOL_FAILED', 'Cannot use "acme": it says "Method not found"')
    }
    expect(await list(fail, { ...DESCRIPTION, capabilities: {} })).toMatchObject({ tools: [], faults: [] })
    await expect(list(fail)).rejects.toMatchObject({ code: 'TOOL_FAILED' })
  })
})
