import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const at = (...path: readonly string[]): string => join(temp.project, ...path)
const file = (path: string, content: string | Uint8Array): void => {
  mkdirSync(join(at(path), '..'), { recursive: true })
  writeFileSync(at(path), content)
}
const use = (tool: string, parameters: object): Promise<Reply> => temp.run(`filesystem.${tool}`, parameters)
const outputOf = ({ data }: Reply): unknown => field(data, 'output')

describe('H3: reading', () => {
  test('H3: a file is read by a path below the project, and says where it lies', async () => {
    file('src/a.txt', 'grüße\n')
    expect(await use('read', { path: 'src/a.txt' })).toMatchObject({
      status: 'success',
      data: { output: { path: at('src/a.txt'), content: 'grüße\n', size: 8, next_offset: null } },
      metadata: { executor_chain: ['filesystem.read', 'filesystem', 'subprocess'] },
    })
  })
})

test('H3: a file is written with its folders, and answers with what it did', async () => {
  expect(await use('write', { path: 'deep/er/b.txt', content: 'one' })).toMatchObject({
    status: 'success',
    data: { output: { path: at('deep/er/b.txt'), bytes_written: 3, had_original: false } },
  })
})
