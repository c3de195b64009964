import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeFolder } from './make-folder.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kiwi-make-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

test('makes all that is missing with its mode, and nothing the second time', () => {
  const folder = join(root, 'a/b/c')
  makeFolder(folder, 0o700)
  expect([statSync(folder).mode & 0o777, statSync(join(root, 'a')).mode & 0o777]).toEqual([0o700, 0o700])
  makeFolder(folder, 0o700)
})

test('a file in the way is an error', () => {
  writeFileSync(join(root, 'a'), '')
  expect(() => makeFolder(join(root, 'a'))).toThrow(expect.objectContaining({ code: 'EEXIST' }))
  expect(() => makeFolder(join(root, 'a/b'))).toThrow(expect.objectContaining({ code: 'ENOTDIR' }))
})

test.runIf(process.platform === 'linux')('where nothing can be made it ends', () => {
  expect(() => makeFolder('/proc/nohome/.ai')).toThrow(expect.objectContaining({ code: 'ENOENT' }))
})
