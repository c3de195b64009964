import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { textField } from '../../../test/fixtures/field.ts'
import type { StoreFolder } from '../../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../../test/fixtures/store-folder.ts'
import { sampleEntry, sampleVersion, SHIPPED } from '../../../test/fixtures/store-samples.ts'

let place: StoreFolder
beforeEach(async () => {
  place = await makeStoreFolder()
})
afterEach(() => place.dispose())

test('E2: the words of what is gone are gone too, whichever way it went', async () => {
  const { registry, index } = await place.open()
  const user = { space: 'user', root: '/u' } as const
  await registry.seed(SHIPPED, 'd1')
  await registry.seed(SHIPPED.slice(1), 'd2')
  await registry.publish(sampleVersion({ description: 'walrus' }))
  await registry.publish(sampleVersion({ version: '2.0.0', description: 'heron' }))
  await registry.remove('sample')
  await index.update(user, [sampleEntry({ description: 'walrus' }), sampleEntry({ item_id: 'b' })], [])
  await index.update(user, [sampleEntry({ description: 'otter' })], ['tools/b.yaml'])
  const raw = await place.raw()
  raw.exec("INSERT INTO search_text (search_text) VALUES ('integrity-check')")
  expect(raw.prepare('SELECT rowid FROM search_text ORDER BY rowid').all()).toEqual(
    raw.prepare('SELECT id AS rowid FROM search_items ORDER BY id').all(),
  )
  const words = raw.prepare('SELECT count(*) AS n FROM search_text WHERE search_text MATCH ?')
  expect(words.get('walrus OR heron OR subprocess')).toEqual({ n: 0 })
  expect(words.get('otter')).toEqual({ n: 1 })
})

test('E2: what is known is what is there, whoever of two wrote it and in which order', async () => {
  const stores = [await place.open(), await place.open()]
  const raw = await place.raw()
  const user = { space: 'user', root: '/u' } as const
  const there = raw.prepare('SELECT path, stamp FROM search_items WHERE space = ? ORDER BY path')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ by: fc.nat(1), id: fc.constantFrom('a', 'b', 'c'), stamp: fc.nat(3) })),
      async (steps) => {
        for (const { by, id, stamp } of steps) {
          const entry = sampleEntry({ item_id: id, path: `tools/${id}.yaml`, stamp: String(stamp) })
          const isDropped = stamp === 0
          await stores[by]?.index.update(user, isDropped ? [] : [entry], isDropped ? [entry.path] : [])
          const rows = there
            .all('user')
            .map((row) => [textField(row, 'path'), textField(row, 'stamp')] as const)
          for (const { index } of stores) expect(await index.known(user)).toEqual(new Map(rows))
        }
      },
    ),
    { numRuns: 25 },
  )
})
