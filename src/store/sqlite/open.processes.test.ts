import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { StoreFolder } from '../../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../../test/fixtures/store-folder.ts'
import type { StoreTask } from '../../../test/fixtures/store-process.ts'
import {
  buildStoreProcess,
  canMount,
  onReadOnlyDisk,
  onSmallDisk,
  runStoreTask,
  startStoreProcess,
} from '../../../test/fixtures/store-processes.ts'
import { sampleQuery, sampleRecord, sampleVersion } from '../../../test/fixtures/store-samples.ts'

// Processes start slowly on a busy machine.
const TIMEOUT = 60_000

let program: string
let script: string
let place: StoreFolder
beforeAll(async () => {
  program = await mkdtemp(join(tmpdir(), 'kiwi-program-'))
  script = await buildStoreProcess(program)
}, TIMEOUT)
afterAll(() => rm(program, { recursive: true, force: true }))
beforeEach(async () => {
  place = await makeStoreFolder()
})
afterEach(() => place.dispose())

/** Starts all of them, then lets them go at once. */
async function together(tasks: readonly StoreTask[]): Promise<unknown[]> {
  const processes = tasks.map((task) => ({ task, running: startStoreProcess(script) }))
  await Promise.all(processes.map(({ running }) => running.ready))
  for (const { task, running } of processes) running.begin(task)
  return Promise.all(processes.map(({ running }) => running.last))
}

test(
  'six processes that open a missing store at once all open it',
  async () => {
    const path = join(place.folder, 'new', 'kiwi.db')
    const task: StoreTask = { do: 'open', path }
    expect(await together(Array.from({ length: 6 }, () => task))).toEqual(
      Array.from({ length: 6 }, () => ({ done: 'open' })),
    )
    expect(await (await place.open({ path })).journal.verify()).toMatchObject({ records: 0, brokenAt: null })
  },
  TIMEOUT,
)

test(
  'T5 AUD-08: five processes publish 50 versions and record 100 entries: one latest, one chain, nothing lost',
  async () => {
    const { path } = place
    const tasks = [0, 10, 20, 30, 40].map((from): StoreTask => ({ do: 'write', path, from, count: 10 }))
    expect(await together(tasks)).toEqual(tasks.map(() => ({ done: 'write' })))
    const store = await place.open()
    const versions = await store.registry.versions('shared')
    expect(versions).toHaveLength(50)
    expect(versions.filter(({ is_latest }) => is_latest)).toMatchObject([{ version: '1.49.0' }])
    expect(await store.index.search(sampleQuery('shared'))).toMatchObject({
      hits: [{ version: '1.49.0' }],
      total: 1,
    })
    expect(await store.journal.verify()).toMatchObject({ records: 100, brokenAt: null })
    const raw = await place.raw()
    expect(raw.prepare('SELECT latest_version FROM tools').all()).toEqual([{ latest_version: '1.49.0' }])
  },
  TIMEOUT,
)

test(
  'R-01: a process killed in the middle of writing loses nothing it told of and tears nothing',
  async () => {
    const told: string[] = []
    for (let round = 1; round <= 4; round++) {
      const running = startStoreProcess(script)
      await running.ready
      running.begin({ do: 'write-until-killed', path: place.path, round })
      const enough = 5 + round * 7
      await expect
        .poll(() => running.messages.length, { timeout: 20_000, interval: 1 })
        .toBeGreaterThan(enough)
      running.kill()
      await running.last
      told.push(...running.messages.map((message) => String(message['done'])))
    }
    const store = await place.open()
    const versions = (await store.registry.versions('crash')).map(({ version }) => version)
    const recorded = (await store.journal.read({ limit: 100_000 })).map(({ call_id }) => call_id)
    expect(told.filter((version) => !versions.includes(version))).toEqual([])
    expect(versions.filter((version) => !recorded.includes(version))).toEqual([])
    for (const version of versions) expect(await store.registry.files('crash', version)).toHaveLength(1)
    expect(await store.journal.verify()).toMatchObject({ records: recorded.length, brokenAt: null })
    const raw = await place.raw()
    expect(raw.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    expect(raw.prepare('PRAGMA foreign_key_check').all()).toEqual([])
    expect(raw.prepare('SELECT count(*) AS n FROM seeding').get()).toEqual({ n: 0 })
  },
  TIMEOUT,
)

const READ_ONLY = {
  found: ['sample'],
  seeded: 4,
  records: 1,
  refused: Array.from({ length: 4 }, () => 'STORE_UNAVAILABLE'),
}

async function fillAndClose(): Promise<void> {
  const store = await place.open()
  await store.registry.publish(sampleVersion())
  await store.journal.append([sampleRecord('c1')], 'normal')
  await store.close()
}

test(
  'R-05: a store whose file may only be read is read, its journal too, and takes nothing',
  async () => {
    await fillAndClose()
    await chmod(place.path, 0o444)
    await chmod(place.folder, 0o555)
    const task: StoreTask = { do: 'read', path: place.path, asNobody: process.getuid?.() === 0 }
    expect(await runStoreTask(script, task)).toEqual({
      ...READ_ONLY,
      reason: expect.stringContaining('EACCES'),
    })
    await chmod(place.path, 0o000)
    expect(await runStoreTask(script, task)).toEqual({
      ...READ_ONLY,
      found: [],
      records: 0,
      reason: expect.stringContaining('EACCES'),
    })
    await chmod(place.folder, 0o755)
  },
  TIMEOUT,
)

test.skipIf(!canMount())(
  'R-05: a store on a read-only disk is read, also while another process writes it elsewhere',
  async () => {
    await fillAndClose()
    const task: StoreTask = { do: 'read', path: place.path, asNobody: false }
    const within = onReadOnlyDisk(place.folder)
    const expected = { ...READ_ONLY, reason: expect.stringContaining('EROFS') }
    expect(await runStoreTask(script, task, within)).toEqual(expected)
    const writer = await place.open()
    await writer.registry.publish(sampleVersion({ tool_id: 'second' }))
    await writer.journal.append([sampleRecord('c2')], 'normal')
    expect(await runStoreTask(script, task, within)).toEqual({
      ...expected,
      found: ['sample', 'second'],
      records: 2,
    })
  },
  TIMEOUT,
)

test.skipIf(!canMount())(
  'R-04: on a full disk writes are refused with STORE_FULL, reads go on, and with room again it recovers',
  async () => {
    const folder = join(place.folder, 'disk')
    await mkdir(folder)
    const done = await runStoreTask(script, { do: 'fill-the-disk', folder }, onSmallDisk(folder, '2m'))
    expect(done).toMatchObject({ refused: ['STORE_FULL', 'STORE_FULL'], afterwards: 'ok' })
    expect(done?.['published']).toBeGreaterThan(2)
    expect(done?.['readable']).toBe(done?.['published'])
  },
  TIMEOUT,
)
