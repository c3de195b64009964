import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ABSENT, entryAt, isSame, seeEntries } from './entry.ts'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'kiwi-entry-')))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const at = (path: string): string => join(root, path)
const BOUNDS = { bytes: 100, files: 10 }

test('H4: a path is a file, a link, a folder or absent; folders missing above it are absent too', () => {
  mkdirSync(at('d'))
  writeFileSync(at('d/a'), 'a')
  symlinkSync('a', at('d/link'))
  const { entries, bytes } = seeEntries([at('d'), at('x/y/z')], BOUNDS)
  expect(
    Object.fromEntries([...entries].map(([path, { kind }]) => [path.slice(root.length + 1), kind])),
  ).toEqual({
    d: 'folder',
    'd/a': 'file',
    'd/link': 'link',
    'x/y/z': 'absent',
    'x/y': 'absent',
    x: 'absent',
  })
  expect(bytes.map((kept) => Buffer.from(kept.bytes).toString())).toEqual(['a'])
})

test('H4: more bytes or files than are kept are refused, and so is what is neither file nor folder', () => {
  writeFileSync(at('large'), 'x'.repeat(101))
  expect(() => seeEntries([at('large')], BOUNDS)).toThrow('too large')
  rmSync(at('large'))
  for (let n = 0; n < 11; n++) writeFileSync(at(`f${n}`), '')
  expect(() => seeEntries([root], BOUNDS)).toThrow('more than 10 files')
  execFileSync('mkfifo', [at('pipe')])
  expect(() => entryAt(at('pipe'))).toThrow('it is a pipe')
})

test('H4: entries are the same only in kind, bytes, mode and target', () => {
  const file = { kind: 'file', mode: 0o644, hash: 'a' } as const
  const link = { kind: 'link', target: 'a' } as const
  const folder = { kind: 'folder', mode: 0o755 } as const
  const all = [
    ABSENT,
    file,
    { ...file, mode: 0o600 },
    { ...file, hash: 'b' },
    link,
    { ...link, target: 'b' },
    folder,
    { ...folder, mode: 0o700 },
  ]
  for (const [n, a] of all.entries()) for (const [m, b] of all.entries()) expect(isSame(a, b)).toBe(n === m)
})
