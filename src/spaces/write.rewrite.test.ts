import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { rewriteFile } from './write.ts'

const rewrite = (change: Parameters<typeof rewriteFile>[0]): Promise<void> =>
  rewriteFile(change, (work) => Promise.resolve().then(work))

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-rewrite-'))
  path = join(folder, 'a.sh')
  writeFileSync(path, 'before')
  chmodSync(path, 0o750)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('the text is another and the mode the same, with nothing left beside it', async () => {
  await rewrite({ path, within: folder, before: 'before', text: 'after' })
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['after', 0o750])
  expect(readdirSync(folder)).toEqual(['a.sh'])
})

test('what somebody else wrote meanwhile stays', async () => {
  await expect(rewrite({ path, within: null, before: 'long before', text: 'after' })).rejects.toMatchObject({
    code: 'CONFLICT',
  })
  expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['before', ['a.sh']])
})

test('no link leads out of the project', async () => {
  const project = join(folder, 'project')
  mkdirSync(project)
  symlinkSync(folder, join(project, 'out'))
  await expect(
    rewrite({ path: join(project, 'out/a.sh'), within: project, before: 'before', text: 'after' }),
  ).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
  expect(readFileSync(path, 'utf8')).toBe('before')
})

test('a file that is gone is told', async () => {
  rmSync(path)
  await expect(rewrite({ path, within: null, before: 'before', text: 'after' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
})
