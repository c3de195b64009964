import { expect } from 'vitest'
import { SHIPPED, sampleQuery, sampleVersion } from '../fixtures/store-samples.ts'
import type { Cases } from './store-bed.ts'

export const seedCases: Cases = {
  async 'T7: a fresh store lists what is shipped, and the same digest again writes nothing'(bed) {
    const store = await bed.open()
    const { registry, index } = store
    expect(await registry.seeded()).toBeNull()
    expect(await registry.seed(SHIPPED, 'd1')).toEqual({ written: 4 })
    const after = store.generation()
    expect(await registry.seed(SHIPPED, 'd1')).toEqual({ written: 0 })
    expect(await (await bed.open()).registry.seed(SHIPPED, 'd1')).toEqual({ written: 0 })
    expect(store.generation()).toBe(after)
    expect(await registry.seeded()).toBe('d1')
    const { hits, total } = await index.search(sampleQuery('', { sortBy: 'name' }))
    expect(total).toBe(4)
    expect(hits.map(({ item_id, space }) => [item_id, space])).toEqual([
      ['git_checkpoint', 'builtin'],
      ['http_client', 'builtin'],
      ['python_runtime', 'builtin'],
      ['subprocess', 'builtin'],
    ])
  },

  async 'T7: a new digest writes what changed, also under the same version, and removes what is no longer shipped'(
    bed,
  ) {
    const { registry, index } = await bed.open()
    await registry.seed(SHIPPED, 'd1')
    const [subprocess, , runtime] = SHIPPED
    const changed = sampleVersion({ ...runtime, description: 'zebra', content_hash: 'c'.repeat(64) })
    expect(await registry.seed([...(subprocess ? [subprocess] : []), changed], 'd2')).toEqual({
      written: 1,
    })
    expect(await registry.version('python_runtime', '1.0.0')).toMatchObject({
      content_hash: 'c'.repeat(64),
    })
    expect(await registry.version('http_client', null)).toBeNull()
    expect((await index.search(sampleQuery('zebra'))).total).toBe(1)
    expect((await index.search(sampleQuery('http_client'))).total).toBe(0)
    expect(await registry.reserved()).toEqual(new Set(['python_runtime', 'subprocess']))
  },

  async 'T10: a newer shipped version keeps the older one for pins, and a step back takes the newer one away'(
    bed,
  ) {
    const { registry } = await bed.open()
    await registry.seed(SHIPPED, 'd1')
    const newer = SHIPPED.map((item) => sampleVersion({ ...item, version: '1.1.0' }))
    expect(await registry.seed(newer, 'd2')).toEqual({ written: 4 })
    expect(await registry.version('subprocess', null)).toMatchObject({ version: '1.1.0' })
    expect(await registry.version('subprocess', '1.0.0')).toMatchObject({ version: '1.0.0' })
    expect(await registry.seed(SHIPPED, 'd1')).toEqual({ written: 0 })
    expect(await registry.version('subprocess', null)).toMatchObject({ version: '1.0.0' })
    expect(await registry.version('subprocess', '^1')).toMatchObject({ version: '1.0.0' })
  },

  async 'T7: several handles seed at once and the items are written once'(bed) {
    const handles = await Promise.all([bed.open(), bed.open(), bed.open()])
    const results = await Promise.all(handles.map(({ registry }) => registry.seed(SHIPPED, 'd1')))
    expect(results.filter(({ written }) => written === 0)).toHaveLength(2)
    expect(results).toContainEqual({ written: 4 })
  },
}

export const protectionCases: Cases = {
  async 'T6: what is shipped cannot be published over or removed, and builtin ids are reserved'(bed) {
    const { registry } = await bed.open()
    await registry.seed(SHIPPED, 'd1')
    for (const item of SHIPPED) {
      const before = await registry.version(item.tool_id, null)
      expect(before).toMatchObject({
        is_official: true,
        is_builtin: item.tool_type === 'primitive' || item.tool_type === 'runtime',
      })
      await expect(registry.remove(item.tool_id)).rejects.toMatchObject({ code: 'BUILTIN_PROTECTED' })
      for (const version of ['1.0.0', '9.0.0']) {
        await expect(registry.publish(sampleVersion({ ...item, version }))).rejects.toMatchObject({
          code: 'BUILTIN_PROTECTED',
        })
      }
      expect(await registry.version(item.tool_id, null)).toEqual(before)
    }
    expect(await registry.reserved()).toEqual(new Set(['http_client', 'python_runtime', 'subprocess']))
  },

  async 'T6: a shipped item takes its id from what somebody published under it'(bed) {
    const { registry, index } = await bed.open()
    await registry.publish(sampleVersion({ tool_id: 'subprocess', version: '5.0.0', description: 'mine' }))
    expect(await registry.seed(SHIPPED, 'd1')).toEqual({ written: 4 })
    expect(await registry.versions('subprocess')).toMatchObject([{ version: '1.0.0' }])
    expect(await registry.version('subprocess', null)).toMatchObject({ tool_type: 'primitive' })
    expect((await index.search(sampleQuery('mine'))).total).toBe(0)
  },
}
