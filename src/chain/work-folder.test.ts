import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../shared/clock.ts'
import type { Item } from '../spaces/item.ts'
import { sampleFile, sampleItem } from '../../test/fixtures/sample-item.ts'
import { removeTree } from '../../test/fixtures/temp-chain.ts'
import type { WorkFolders } from './work-folder.ts'
import { openWorkFolders } from './work-folder.ts'

let cache = ''
let folders: WorkFolders
const RAW = { tool_id: 'tool', tool_type: 'script', executor: 'python_runtime' }
const FILES = [
  sampleFile('main.py', 'import lib.deep.x'),
  sampleFile('run.sh', '#!/bin/sh', true),
  sampleFile('lib/deep/x.py', 'X = 1'),
]
const item = sampleItem(RAW, FILES)
const modeOf = (path: string): number => lstatSync(path).mode & 0o777

/** Everything below a folder: path to content. */
function contentOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => !entry.isDirectory(),
  )
  return Object.fromEntries(
    files.map(({ parentPath, name }) => [
      join(parentPath, name).slice(folder.length + 1),
      readFileSync(join(parentPath, name), 'utf8'),
    ]),
  )
}
const WHOLE = { 'main.py': 'import lib.deep.x', 'run.sh': '#!/bin/sh', 'lib/deep/x.py': 'X = 1' }

beforeEach(() => {
  cache = join(mkdtempSync(join(tmpdir(), 'kiwi-work-test-')), 'cache')
  folders = openWorkFolders(cache, systemClock)
})
afterEach(async () => {
  await folders.close()
  removeTree(dirname(cache))
})

describe('T9, C9: the files of an item on disk', () => {
  test('lie with their paths and modes in a folder that is named by their content', async () => {
    const folder = await folders.prepare(item)
    expect(folder).toBe(join(cache, 'work', item.contentHash))
    expect(folders.place(item)).toBe(folder)
    expect(contentOf(folder)).toEqual(WHOLE)
    expect([modeOf(join(folder, 'main.py')), modeOf(join(folder, 'run.sh'))]).toEqual([0o444, 0o555])
  })

  test('can be changed by nobody: every folder among them is read-only', async () => {
    const folder = await folders.prepare(item)
    for (const path of ['', 'lib', 'lib/deep'])
      expect([path, modeOf(join(folder, path))]).toEqual([path, 0o555])
    expect(modeOf(join(cache, 'work'))).toBe(0o700)
  })

  test('are not written again when they lie there, not even by another process', async () => {
    const folder = await folders.prepare(item)
    const { ino } = lstatSync(folder)
    await folders.prepare(item)
    await openWorkFolders(cache, systemClock).prepare(item)
    expect(lstatSync(folder).ino).toBe(ino)
    expect(readdirSync(join(cache, 'work'))).toEqual([item.contentHash])
  })

  test('that differ in one byte or one mode lie somewhere else', async () => {
    const others = [
      sampleItem(RAW, [sampleFile('main.py', 'import lib.deep.y'), ...FILES.slice(1)]),
      sampleItem(RAW, [sampleFile('main.py', 'import lib.deep.x', true), ...FILES.slice(1)]),
    ]
    const places = await Promise.all([item, ...others].map((each) => folders.prepare(each)))
    expect(new Set(places).size).toBe(3)
  })

  test('asking for the place touches nothing', () => {
    folders.place(item)
    expect(existsSync(cache)).toBe(false)
  })

  test('an empty file and bytes that are no text come out as they went in', async () => {
    const bytes = Buffer.from([0, 255, 10, 13])
    const binary = sampleItem(RAW, [
      sampleFile('empty', ''),
      { path: 'bytes', content: bytes, isExecutable: false },
    ])
    const folder = await folders.prepare(binary)
    expect(readFileSync(join(folder, 'bytes')).equals(bytes)).toBe(true)
    expect(readFileSync(join(folder, 'empty')).length).toBe(0)
  })
})

describe('T9: a folder that was tampered with is put right', () => {
  const tampers: readonly [string, (folder: string) => void][] = [
    ['a changed file', (folder) => writeFileSync(join(folder, 'main.py'), 'import os.deep.xx')],
    [
      'a changed file of the same length',
      (folder) => writeFileSync(join(folder, 'main.py'), 'import lib.deep.y'),
    ],
    ['a missing file', (folder) => unlinkSync(join(folder, 'lib/deep/x.py'))],
    ['a missing folder', (folder) => removeTree(join(folder, 'lib'))],
    [
      'a file more, that Python would load in place of its own',
      (folder) => writeFileSync(join(folder, 'json.py'), 'evil'),
    ],
    [
      'a file more in a folder more',
      (folder) => {
        mkdirSync(join(folder, 'more'))
        writeFileSync(join(folder, 'more/x.py'), 'evil')
      },
    ],
    ['a file that became executable', (folder) => chmodSync(join(folder, 'main.py'), 0o555)],
    [
      'a link in place of a file',
      (folder) => {
        renameSync(join(folder, 'main.py'), join(folder, '../moved.py'))
        symlinkSync('../moved.py', join(folder, 'main.py'))
      },
    ],
    [
      'a link in place of the folder',
      (folder) => {
        renameSync(folder, `${folder}-moved`)
        symlinkSync(`${folder}-moved`, folder)
      },
    ],
    [
      'a link to nowhere in place of the folder',
      (folder) => {
        removeTree(folder)
        symlinkSync('/no/such/place', folder)
      },
    ],
    [
      'a file in place of the folder',
      (folder) => {
        removeTree(folder)
        writeFileSync(folder, 'evil')
      },
    ],
    [
      'half of it',
      (folder) => {
        removeTree(folder)
        mkdirSync(folder)
      },
    ],
  ]

  const tampered = async (tamper: (folder: string) => void): Promise<string> => {
    const folder = await folders.prepare(item)
    await folders.prepare(item)
    // The system's own clock for changes moves in steps of a few milliseconds.
    await new Promise((resolve) => setTimeout(resolve, 20))
    for (const path of ['', 'lib', 'lib/deep']) chmodSync(join(folder, path), 0o755)
    for (const path of Object.keys(WHOLE)) chmodSync(join(folder, path), path === 'run.sh' ? 0o755 : 0o644)
    tamper(folder)
    return folder
  }
  const expectWhole = (folder: string): void => {
    expect(lstatSync(folder).isDirectory()).toBe(true)
    expect(contentOf(folder)).toEqual(WHOLE)
    expect(lstatSync(join(folder, 'main.py')).isFile()).toBe(true)
    expect(modeOf(join(folder, 'main.py')) & 0o111).toBe(0)
    expect(
      readdirSync(join(cache, 'work')).filter((name) => name.startsWith(`${item.contentHash}.`)),
    ).toEqual([])
  }

  test.each(tampers)('by the next process: %s', async (_, tamper) => {
    const folder = await tampered(tamper)
    expect(await openWorkFolders(cache, systemClock).prepare(item)).toBe(folder)
    expectWhole(folder)
  })

  test.each(tampers)('by the next run of this process: %s', async (_, tamper) => {
    const folder = await tampered(tamper)
    expect(await folders.prepare(item)).toBe(folder)
    expectWhole(folder)
  })

  test('a folder that was removed is written again, also by this process', async () => {
    const folder = await folders.prepare(item)
    removeTree(folder)
    expect(await folders.prepare(item)).toBe(folder)
    expect(contentOf(folder)).toEqual(WHOLE)
  })
})

describe('many at once', () => {
  test('end in one whole folder, and leave nothing beside it', async () => {
    const others = Array.from({ length: 4 }, () => openWorkFolders(cache, systemClock))
    const places = await Promise.all([folders, folders, folders, ...others].map((each) => each.prepare(item)))
    expect(new Set(places)).toEqual(new Set([folders.place(item)]))
    expect(contentOf(folders.place(item))).toEqual(WHOLE)
    expect(modeOf(join(folders.place(item), 'lib'))).toBe(0o555)
    expect(readdirSync(join(cache, 'work'))).toEqual([item.contentHash])
  })

  test('put a tampered folder right together', async () => {
    const folder = await folders.prepare(item)
    chmodSync(join(folder, 'main.py'), 0o644)
    writeFileSync(join(folder, 'main.py'), 'evil')
    const others = Array.from({ length: 4 }, () => openWorkFolders(cache, systemClock))
    await Promise.all(others.map((each) => each.prepare(item)))
    expect(contentOf(folder)).toEqual(WHOLE)
    expect(readdirSync(join(cache, 'work'))).toEqual([item.contentHash])
  })
})

describe('a cache that cannot be written', () => {
  const another = sampleItem({ ...RAW, tool_id: 'another' }, [sampleFile('main.sh', 'echo')])

  beforeEach(() => writeFileSync(cache, 'in the way'))

  test('is replaced by a folder that goes with this process', async () => {
    const folder = await folders.prepare(item)
    expect(folder.startsWith(join(tmpdir(), 'kiwi-work-'))).toBe(true)
    expect(contentOf(folder)).toEqual(WHOLE)
    expect(folders.place(item)).toBe(folder)
    expect(await folders.prepare(item)).toBe(folder)
    await folders.close()
    expect(existsSync(dirname(folder))).toBe(false)
  })

  test('is replaced once, however many ask at the same time, and each gets its own files', async () => {
    const asked: readonly Item[] = [item, another, item, another]
    const places = await Promise.all(asked.map((each) => folders.prepare(each)))
    expect(new Set(places.map((place) => dirname(place))).size).toBe(1)
    for (const [at, place] of places.entries()) {
      expect(Object.keys(contentOf(place)).length).toBe(asked[at] === item ? 3 : 1)
    }
  })
})

test('T9: files that changed while they were read are refused, and nothing is written', async () => {
  const changed: Item = { ...item, files: async () => [sampleFile('main.py', 'evil'), ...FILES.slice(1)] }
  await expect(folders.prepare(changed)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'Cannot run "tool": its files changed while it was being read',
  })
  expect(existsSync(cache)).toBe(false)
})
