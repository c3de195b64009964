import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makePlace } from '../fixtures/place.ts'
import { kiwi } from './temp-server.ts'

test('L6: 12 processes that run one tool at once leave the 10 newest results, each whole', async () => {
  const place = makePlace()
  try {
    mkdirSync(join(place.project, '.ai'))
    const names = Array.from({ length: 12 }, (_, n) => `n${n}`)
    await kiwi(place, ['run', 'hello_bash'])
    const runs = await Promise.all(names.map((name) => kiwi(place, ['run', 'hello_bash', `name=${name}`])))
    expect(runs.map(({ code }) => code)).toEqual(names.map(() => 0))
    const folder = join(place.project, '.ai/outputs/tools/hello_bash')
    const files = readdirSync(folder)
    expect(files).toHaveLength(10)
    const outputs = files.map((file): unknown => JSON.parse(readFileSync(join(folder, file), 'utf8')).output)
    expect(new Set(outputs).size).toBe(10)
    for (const output of outputs) expect(output).toMatch(/^Hello, n\d+!\n$/)
  } finally {
    place.remove()
  }
})
