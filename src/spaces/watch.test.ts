import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Watch } from './watch.ts'
import { openWatch } from './watch.ts'

let root: string
let tools: string
let watch: Watch
let faults: string[]

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kiwi-watch-'))
  tools = join(root, 'tools')
  mkdirSync(join(tools, 'deep/er'), { recursive: true })
  writeFileSync(join(tools, 'deep/er/a.yaml'), 'a')
  faults = []
  watch = openWatch(root, new Set(['tools', 'knowledge']), (reason) => faults.push(reason))
})
afterEach(() => {
  watch.close()
  rmSync(root, { recursive: true, force: true })
})

async function isQuietAfter(change: () => void): Promise<boolean> {
  watch.begin([tools, join(root, 'knowledge')])
  await watch.reported()
  expect(watch.isQuiet).toBe(true)
  change()
  await watch.reported()
  return watch.isQuiet
}

test('before it is begun nothing is known, so it is not quiet', () => {
  expect(watch.isQuiet).toBe(false)
})

describe('C14: a watch reports', () => {
  const file = (): string => join(tools, 'deep/er/a.yaml')
  const SAVES: Readonly<Record<string, () => void>> = {
    'a file that is written in place': () => appendFileSync(file(), 'more'),
    'a file that is replaced by a rename': () => {
      writeFileSync(join(tools, 'deep/er/.a.swp'), 'new')
      renameSync(join(tools, 'deep/er/.a.swp'), file())
    },
    'a file that is deleted and made again': () => {
      unlinkSync(file())
      writeFileSync(file(), 'again')
    },
  }

  test.each(Object.entries(SAVES))('%s, time and again', async (_, save) => {
    for (let turn = 0; turn < 3; turn++) expect(await isQuietAfter(save)).toBe(false)
    // However a file was saved before, the plain way is still seen.
    expect(await isQuietAfter(() => appendFileSync(file(), 'more'))).toBe(false)
  })

  test('what happens in folders that are new, moved, or gone and back', async () => {
    expect(await isQuietAfter(() => mkdirSync(join(tools, 'new/est'), { recursive: true }))).toBe(false)
    expect(await isQuietAfter(() => writeFileSync(join(tools, 'new/est/b.yaml'), 'b'))).toBe(false)
    expect(await isQuietAfter(() => renameSync(join(tools, 'new'), join(tools, 'moved')))).toBe(false)
    expect(await isQuietAfter(() => appendFileSync(join(tools, 'moved/est/b.yaml'), 'c'))).toBe(false)
    const rebuild = (): void => {
      rmSync(tools, { recursive: true })
      mkdirSync(join(tools, 'deep/er'), { recursive: true })
    }
    expect(await isQuietAfter(rebuild)).toBe(false)
    expect(await isQuietAfter(() => writeFileSync(file(), 'back'))).toBe(false)
    expect(await isQuietAfter(() => mkdirSync(join(root, 'knowledge')))).toBe(false)
    expect(await isQuietAfter(() => writeFileSync(join(root, 'knowledge/a.md'), '# a'))).toBe(false)
    expect(faults).toEqual([])
  })

  test('nothing of what else lies in the root, where Kiwi keeps its store', async () => {
    expect(await isQuietAfter(() => writeFileSync(join(root, 'kiwi.db-wal'), 'x'))).toBe(true)
  })
})

describe('what cannot be watched', () => {
  test('a root that is not there is tried again, and is no fault', async () => {
    rmSync(root, { recursive: true })
    watch.begin([tools])
    expect(watch.isQuiet).toBe(false)
    mkdirSync(tools, { recursive: true })
    expect(await isQuietAfter(() => writeFileSync(join(tools, 'a.yaml'), 'a'))).toBe(false)
    expect(faults).toEqual([])
  })

  test('more folders than the system has watches for are one fault, and then it is off', () => {
    for (let n = 0; n < 4001; n++) mkdirSync(join(tools, `n${n}`))
    watch.begin([tools])
    watch.begin([tools])
    expect(watch.isQuiet).toBe(false)
    expect(faults).toEqual(['there are more than 4000 folders'])
  })

  test('a link is not followed, so that a circle has an end', async () => {
    symlinkSync(tools, join(tools, 'deep/circle'))
    expect(await isQuietAfter(() => undefined)).toBe(true)
  })

  test('one that is closed stays closed', () => {
    watch.close()
    watch.begin([tools])
    expect(watch.isQuiet).toBe(false)
  })
})
