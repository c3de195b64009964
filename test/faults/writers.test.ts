import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { listField, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

const UPDATER = join(import.meta.dirname, '../fixtures/kiwi-that-updates.mjs')
const BUNDLE = join(import.meta.dirname, '../../dist/index.js')

async function updates(temp: TempKiwi, name: string, count: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [UPDATER, BUNDLE, temp.project, name, String(count)], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: temp.folder,
      KIWI_USER_SPACE: join(temp.folder, 'user'),
      KIWI_LOG_LEVEL: 'silent',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk) => (text += String(chunk)))
  await once(child, 'close')
  return z.array(z.string()).parse(JSON.parse(text))
}

test('S8: several processes change one folder: a reader always finds it whole, and no change is lost', async () => {
  const temp = await openTempKiwi()
  let writers = Promise.resolve<readonly (readonly string[])[]>([])
  try {
    await temp.create(
      'shared',
      { ...BASH, description: 'none' },
      { 'main.sh': '#!/bin/bash\n# none', 'a.txt': 'none', 'lib/b.txt': 'none' },
    )
    const over = new AbortController()
    writers = Promise.all(['ann', 'bob', 'cleo'].map((name) => updates(temp, name, 25))).finally(() =>
      over.abort(),
    )
    let looks = 0
    while (!over.signal.aborted) {
      const { data, error } = await temp.load('shared')
      expect(error).toBeNull()
      const said = textField(data, 'description')
      const texts = listField(data, 'files').map((file) =>
        textField(file, 'content').replace('#!/bin/bash\n# ', ''),
      )
      expect(texts).toEqual([said, said, said])
      looks += 1
      await new Promise((resolve) => void setTimeout(resolve, 5))
    }
    const codes = (await writers).flat()
    expect(new Set(codes)).toEqual(
      new Set(codes.includes('CONFLICT') ? ['success', 'CONFLICT'] : ['success']),
    )
    const done = codes.filter((code) => code === 'success').length
    expect((await temp.load('shared')).data).toMatchObject({ version: `1.0.${done}` })
    expect(readdirSync(join(temp.project, '.ai/tools'))).toEqual(['shared'])
    expect(looks).toBeGreaterThan(5)
    expect(await temp.kiwi.store.verify()).toMatchObject({ brokenAt: null })
  } finally {
    await Promise.allSettled([writers])
    await temp.close()
  }
}, 120_000)
