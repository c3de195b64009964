import { copyFile, mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoreBed } from '../../../test/cases/store-bed.ts'
import { storeCases } from '../../../test/cases/store.cases.ts'
import type { StoreFolder } from '../../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../../test/fixtures/store-folder.ts'
import {
  sampleApproval,
  sampleEntry,
  sampleQuery,
  sampleRecord,
  sampleVersion,
  SHIPPED,
} from '../../../test/fixtures/store-samples.ts'

storeCases('SQLite', async (): Promise<StoreBed> => {
  const place = await makeStoreFolder()
  return {
    open: () => place.open(),
    async tamper(sql) {
      const raw = await place.raw()
      for (const name of ['record_not_changed', 'record_times_not_changed', 'record_not_deleted'])
        raw.exec(`DROP TRIGGER IF EXISTS ${name}`)
      raw.exec(sql)
      raw.close()
    },
    dispose: () => place.dispose(),
  }
})

describe('a SQLite store', () => {
  let place: StoreFolder
  beforeEach(async () => {
    place = await makeStoreFolder()
  })
  afterEach(() => place.dispose())

  const size = 70_000
  const big = (tool_id: string, fill: number) =>
    sampleVersion({
      tool_id,
      files: [{ path: 'big.bin', content: new Uint8Array(size).fill(fill), isExecutable: false }],
    })

  test('a new store belongs to its owner only, with all that lies beside it', async () => {
    const path = join(place.folder, 'a', 'b', 'kiwi.db')
    const store = await place.open({ path })
    await store.registry.publish(sampleVersion())
    const modes = await Promise.all(
      [path, `${path}-wal`, join(place.folder, 'a', 'b'), join(place.folder, 'a')].map(async (file) =>
        ((await stat(file)).mode & 0o777).toString(8),
      ),
    )
    expect(modes).toEqual(['600', '600', '700', '700'])
  })

  test('a new store begins as the one it is given to begin as, for its owner only; what is there stays', async () => {
    const start = join(place.folder, 'start.db')
    const first = await place.open({ path: start })
    await first.registry.publish(sampleVersion())
    await first.close()
    const path = join(place.folder, 'a', 'kiwi.db')
    const store = await place.open({ path, start })
    expect((await store.registry.versions(sampleVersion().tool_id)).length).toBe(1)
    expect(((await stat(path)).mode & 0o777).toString(8)).toBe('600')
    expect((await readdir(join(place.folder, 'a'))).filter((name) => name.endsWith('.new'))).toEqual([])
    await store.registry.remove(sampleVersion().tool_id)
    const again = await place.open({ path, start })
    expect(await again.registry.versions(sampleVersion().tool_id)).toEqual([])
  })

  test('with nothing to begin as, or a log left behind by another, it is made anew', async () => {
    const start = join(place.folder, 'start.db')
    const alone = await place.open({ path: join(place.folder, 'a', 'kiwi.db'), start })
    expect(await alone.registry.versions(sampleVersion().tool_id)).toEqual([])
    const first = await place.open({ path: start })
    await first.registry.publish(sampleVersion())
    await mkdir(join(place.folder, 'b'))
    const path = join(place.folder, 'b', 'kiwi.db')
    await copyFile(`${start}-wal`, `${path}-wal`)
    await first.close()
    const store = await place.open({ path, start })
    expect(await store.registry.versions(sampleVersion().tool_id)).toEqual([])
    await store.registry.publish(sampleVersion())
  })

  test('a store that was closed lies whole in its one file', async () => {
    const store = await place.open()
    await store.registry.publish(sampleVersion())
    await store.close()
    const copy = join(place.folder, 'copy.db')
    await copyFile(place.path, copy)
    const copied = await place.open({ path: copy })
    expect(await copied.registry.version('sample', null)).toMatchObject({ version: '1.0.0' })
  })

  test('a file that is no database, a damaged one and a folder are refused and named', async () => {
    await writeFile(place.path, 'this is no database, whatever its name says\n'.repeat(200))
    const before = await readFile(place.path)
    await expect(place.open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      hint: expect.stringContaining(place.path),
    })
    expect(await readFile(place.path)).toEqual(before)

    const damaged = join(place.folder, 'damaged.db')
    await (await place.open({ path: damaged })).close()
    const handle = await open(damaged, 'r+')
    await handle.write(new Uint8Array(4000).fill(0xee), 0, 4000, 100)
    await handle.close()
    await expect(place.open({ path: damaged })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      hint: expect.stringContaining(damaged),
    })

    const folder = join(place.folder, 'folder.db')
    await mkdir(folder)
    await expect(place.open({ path: folder })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  test('a store of a newer Kiwi or of another program is refused and left alone', async () => {
    await (await place.open()).close()
    const raw = await place.raw()
    raw.exec('PRAGMA user_version = 99')
    await expect(place.open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('newer Kiwi'),
      hint: expect.stringContaining('newest Kiwi'),
    })
    raw.exec('PRAGMA user_version = 3; PRAGMA application_id = 7')
    await expect(place.open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('another program'),
    })
  })

  test('R-05: where nothing can be written the store still answers, and says why it takes nothing', async () => {
    const blocker = join(place.folder, 'a-file')
    await writeFile(blocker, '')
    const store = await place.open({ path: join(blocker, 'below', 'kiwi.db') })
    expect(store.readOnlyReason).toContain('a-file')
    expect(await store.registry.seed(SHIPPED, 'd1')).toEqual({ written: 4 })
    expect(await store.registry.chain('python_runtime')).toHaveLength(2)
    const user = { space: 'user', root: '/u' } as const
    await store.index.update(user, [sampleEntry({ item_id: 'mine' })], [])
    expect(await store.index.search(sampleQuery('mine', { roots: [user] }))).toMatchObject({ total: 1 })
    const refused = { code: 'STORE_UNAVAILABLE', hint: expect.stringContaining('a-file') }
    await expect(store.registry.publish(sampleVersion())).rejects.toMatchObject(refused)
    await expect(store.registry.remove('sample')).rejects.toMatchObject(refused)
    await expect(store.journal.append([sampleRecord('c1')], 'normal')).rejects.toMatchObject(refused)
    await expect(store.grants.give([])).rejects.toMatchObject(refused)
    await expect(store.grants.revoke('sample', null)).rejects.toMatchObject(refused)
    expect(await store.journal.verify()).toMatchObject({ records: 0, brokenAt: null })
  })

  test('R-05: a store that another process locks is opened and read; a write waits, gives up, and works later', async () => {
    await (await place.open()).registry.publish(sampleVersion())
    const raw = await place.raw()
    raw.exec('BEGIN IMMEDIATE')
    const hasty = await place.open({ busyLimit: 30 })
    expect(await hasty.registry.version('sample', null)).toMatchObject({ version: '1.0.0' })
    await expect(hasty.registry.publish(sampleVersion({ version: '2.0.0' }))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      hint: expect.stringContaining(place.path),
    })
    const patient = await place.open()
    const waiting = patient.registry.publish(sampleVersion({ version: '2.0.0' }))
    raw.exec('COMMIT')
    expect(await waiting).toMatchObject({ version: '2.0.0' })
    expect(await hasty.registry.publish(sampleVersion({ version: '3.0.0' }))).toMatchObject({
      version: '3.0.0',
    })
  })

  test('R-04: a full store refuses with STORE_FULL, tears nothing, is read on, and takes more once there is room', async () => {
    const store = await place.open({ pageLimit: 150 })
    let published = 0
    const fill = async (): Promise<void> => {
      for (; published < 100; published++) await store.registry.publish(big(`t${published}`, published))
    }
    await expect(fill()).rejects.toMatchObject({
      code: 'STORE_FULL',
      hint: expect.stringContaining(place.path),
    })
    expect(published).toBeGreaterThan(2)
    const huge = sampleRecord('huge', { body: { text: 'x'.repeat(1_000_000) } })
    await expect(store.journal.append([huge], 'normal')).rejects.toMatchObject({ code: 'STORE_FULL' })
    const question = sampleApproval({ summary: { text: 'x'.repeat(1_000_000) } })
    await expect(store.approvals.ask(question)).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect(await store.approvals.list({ limit: 9 })).toEqual([])
    expect(await store.index.search(sampleQuery(''))).toMatchObject({ total: published })
    expect(await store.registry.version(`t${published}`, null)).toBeNull()
    expect((await store.registry.files('t0', '1.0.0'))[0]?.content).toHaveLength(size)
    await store.registry.remove('t0')
    await store.registry.publish(big(`t${published}`, published))
    expect((await place.raw()).prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  })
})
