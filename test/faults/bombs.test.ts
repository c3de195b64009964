import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'

/**
 * What is small where it lies and has no end once it is read. Kiwi unpacks no archives: a folder of files is the only
 * bundle there is, and holes in files do what compression does elsewhere.
 */
const CLI = join(import.meta.dirname, '../../dist/cli.js')
const WATCH = join(import.meta.dirname, '../fixtures/most-memory.mjs')
const MANIFEST = 'tool_id: bomb\ntool_type: bash\nversion: 1.0.0\ndescription: a zebra\n'
const MB = 1024 * 1024
const TIMEOUT_MS = 120_000

let place: Place
beforeAll(() => {
  place = makePlace()
  mkdirSync(join(place.project, '.ai/tools'), { recursive: true })
})
afterAll(() => place.remove())

const BOMBS: Readonly<Record<string, (folder: string) => void>> = {
  '10 GB in one file': (folder) => hole(join(folder, 'data.bin'), 10_000 * MB),
  'a manifest of 1.5 GB': (folder) => hole(join(folder, 'tool.yaml'), 1500 * MB),
  '1 500 files of 1 MB': (folder) => {
    for (let n = 0; n < 1500; n++) hole(join(folder, `part${n}`), MB)
  },
  '100 000 files': (folder) => {
    // Links of one file are quicker to make than files; a file has 65,000 at most on common disks.
    for (let n = 0; n < 100_000; n++) {
      const first = join(folder, `f${n - (n % 50_000)}`)
      if (n % 50_000 === 0) writeFileSync(first, '')
      else linkSync(first, join(folder, `f${n}`))
    }
  },
  '5 000 folders in 50': (folder) => {
    for (let n = 0; n < 50; n++)
      for (let m = 0; m < 100; m++) mkdirSync(join(folder, `d${n}/${m}`), { recursive: true })
  },
  'a thousand folders in each other': (folder) =>
    mkdirSync(join(folder, 'd/'.repeat(1000)), { recursive: true }),
}

function hole(path: string, bytes: number): void {
  writeFileSync(path, '')
  truncateSync(path, bytes)
}

function kiwi(...args: readonly string[]): { text: string; status: number | null; bytes: number } {
  const note = join(place.folder, 'most-memory')
  const env = { ...place.env, MOST_MEMORY: note }
  const options = { cwd: place.project, env, encoding: 'utf8', timeout: 60_000 } as const
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--import', WATCH, CLI, ...args], options)
  return { text: stdout + stderr, status, bytes: Number(readFileSync(note, 'utf8')) }
}

/** What a road takes for a folder that is no bomb. */
function usual(road: (folder: string) => readonly string[], folder: string): number {
  const { bytes, text, status } = kiwi(...road(folder))
  expect({ status, text }).toMatchObject({ status: 0 })
  return bytes
}

function make(folder: string, fill: (folder: string) => void = () => {}): string {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'tool.yaml'), MANIFEST)
  writeFileSync(join(folder, 'main.sh'), '#!/bin/bash\necho hello\n')
  fill(folder)
  return folder
}

describe.each(Object.entries(BOMBS))('ZIP-03: %s', (_name, fill) => {
  let bomb: string
  beforeAll(() => {
    bomb = make(join(place.folder, 'source/.ai/tools/bomb'), fill)
  }, TIMEOUT_MS)
  afterAll(() => execFileSync('rm', ['-rf', join(place.folder, 'source')]))

  test(
    'is refused when an item is made of it, before it is read',
    () => {
      const road = (folder: string): readonly string[] => ['create', folder, '--dry-run']
      const before = usual(road, make(join(place.folder, 'small')))
      const { text, status, bytes } = kiwi(...road(bomb))
      expect(text).toMatch(/MESSAGE_TOO_LARGE|TOO_DEEP/)
      expect(status).not.toBe(0)
      expect(bytes - before).toBeLessThan(50 * MB)
    },
    TIMEOUT_MS,
  )

  test(
    'is left out of an import',
    () => {
      const road = (folder: string): readonly string[] => [
        'import',
        dirname(dirname(dirname(folder))),
        '--dry-run',
        '--json',
      ]
      const before = usual(road, make(join(place.folder, 'small-source/.ai/tools/small')))
      const { text, bytes } = kiwi(...road(bomb))
      expect(text).toMatch(/larger than|more than|nested deeper/)
      expect(bytes - before).toBeLessThan(50 * MB)
    },
    TIMEOUT_MS,
  )

  test(
    'is no item where it lies in a project, and its neighbours are found',
    () => {
      const tools = join(place.project, '.ai/tools')
      writeFileSync(join(tools, 'neighbour.sh'), '# a zebra\necho hello\n')
      const road = (): readonly string[] => ['search', 'zebra', '--json']
      const before = usual(road, '')
      execFileSync('mv', [bomb, join(tools, 'bomb')])
      try {
        const found = kiwi(...road())
        expect(found.text).toContain('neighbour')
        expect(found.bytes - before).toBeLessThan(50 * MB)
        const loaded = kiwi('load', 'bomb', '--type', 'tool')
        expect(loaded.text).toMatch(/MESSAGE_TOO_LARGE|TOO_DEEP|NOT_FOUND/)
        expect(loaded.bytes - before).toBeLessThan(50 * MB)
      } finally {
        execFileSync('rm', ['-rf', join(tools, 'bomb')])
      }
      expect(existsSync(join(tools, 'bomb'))).toBe(false)
    },
    TIMEOUT_MS,
  )
})
