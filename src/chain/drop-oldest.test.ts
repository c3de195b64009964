import { existsSync, mkdirSync, mkdtempSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Clock } from '../shared/clock.ts'
import { systemClock } from '../shared/clock.ts'
import { LIMITS } from '../shared/limits.ts'
import { sampleFile, sampleItem } from '../../test/fixtures/sample-item.ts'
import { removeTree } from '../../test/fixtures/temp-chain.ts'
import { openWorkFolders } from './work-folder.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const RAW = { tool_id: 'tool', tool_type: 'script', executor: 'bash_runtime' }
const item = sampleItem(RAW, [sampleFile('main.sh', 'echo')])
const other = sampleItem(RAW, [sampleFile('main.sh', 'echo other')])
let cache = ''
let work = ''

beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'kiwi-drop-test-'))
  work = join(cache, 'work')
  mkdirSync(work)
})
afterEach(() => removeTree(cache))

/** Folders that were last used so many days ago, read-only like real ones. */
function used(daysAgo: number, ...names: readonly string[]): void {
  const at = (Date.now() - daysAgo * DAY_MS) / 1000
  for (const name of names) {
    mkdirSync(join(work, name, 'lib'), { recursive: true })
    writeFileSync(join(work, name, 'lib', 'x'), 'x', { mode: 0o444 })
    utimesSync(join(work, name), at, at)
  }
}
const many = (count: number, mark: string): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${mark}${at}`)

async function prepare(clock: Clock = systemClock): Promise<readonly string[]> {
  const folders = openWorkFolders(cache, clock)
  await folders.prepare(item)
  await folders.close()
  return readdirSync(work)
}

describe('T9: work folders that nobody uses do not pile up', () => {
  test('beyond the bound the oldest go, when a new one comes', async () => {
    used(8, ...many(LIMITS.workFolders - 2, 'old'))
    used(30, 'ancient', 'left.Ab12cd', 'left.Ab12cd.old')
    const left = await prepare()
    expect(left.length).toBe(LIMITS.workFolders)
    expect(left).toContain(item.contentHash)
    for (const name of ['ancient', 'ancient.old']) expect(left).not.toContain(name)
  })

  test('within the bound nothing goes, however old', async () => {
    used(300, 'ancient')
    expect(await prepare()).toContain('ancient')
  })

  test('what was used in the last days stays, however many there are', async () => {
    used(6, ...many(LIMITS.workFolders + 5, 'recent'))
    expect((await prepare()).length).toBe(LIMITS.workFolders + 6)
  })

  test('one that another process takes up again counts as used', async () => {
    await prepare()
    const at = (Date.now() - 30 * DAY_MS) / 1000
    utimesSync(join(work, item.contentHash), at, at)
    await prepare()
    used(8, ...many(LIMITS.workFolders, 'old'))
    const folders = openWorkFolders(cache, systemClock)
    await folders.prepare(other)
    await folders.close()
    expect(existsSync(join(work, item.contentHash))).toBe(true)
  })

  test('one that this process goes on using counts as used, day by day', async () => {
    let now = Date.now()
    const folders = openWorkFolders(cache, { now: () => now, monotonic: () => now })
    const folder = await folders.prepare(item)
    const at = (now - 30 * DAY_MS) / 1000
    utimesSync(folder, at, at)
    now += 2 * DAY_MS
    await folders.prepare(item)
    await folders.close()
    used(8, ...many(LIMITS.workFolders, 'old'))
    const another = openWorkFolders(cache, systemClock)
    await another.prepare(other)
    await another.close()
    expect(existsSync(folder)).toBe(true)
  })
})
