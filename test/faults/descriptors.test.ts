import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makePlace } from '../fixtures/place.ts'

const BUNDLE = join(import.meta.dirname, '../../dist/index.js')
const FIXTURE = join(import.meta.dirname, '../fixtures/kiwi-out-of-descriptors.mjs')

test('a Kiwi without free descriptors says so, and neither forgets what is there nor takes another for it', () => {
  const place = makePlace()
  try {
    for (const [file, id] of [
      ['project/.ai/tools/shadow.yaml', 'shadow'],
      ['project/.ai/tools/other.yaml', 'declared'],
      ['user/tools/shadow.yaml', 'shadow'],
    ] as const) {
      const path = join(place.folder, file)
      mkdirSync(join(path, '..'), { recursive: true })
      writeFileSync(path, `tool_id: ${id}\ntool_type: bash\nversion: 1.0.0\ndescription: a zebra\n`)
    }
    const { stdout, stderr } = spawnSync(
      'sh',
      ['-c', 'ulimit -n 200; exec "$@"', 'sh', process.execPath, FIXTURE, BUNDLE, place.project],
      { env: place.env, encoding: 'utf8' },
    )
    expect(stderr).toBe('')
    const well = {
      found: expect.arrayContaining(['project shadow', 'project declared']),
      loaded: 'project',
      declared: 'project',
      indexed: 2,
    }
    const unwell = {
      found: 'STORE_UNAVAILABLE',
      loaded: 'STORE_UNAVAILABLE',
      declared: 'STORE_UNAVAILABLE',
      indexed: 2,
    }
    expect(JSON.parse(stdout)).toEqual({
      before: well,
      scanning: unwell,
      scanned: well,
      reading: unwell,
      read: well,
    })
  } finally {
    place.remove()
  }
})
