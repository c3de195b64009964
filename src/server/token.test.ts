import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isAuthorized, readOrMakeToken } from './token.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-token-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('HTTP-02: a token is made once, of 256 random bits, and only its owner can read it', async () => {
  const path = join(folder, 'deep', 'kiwi.token')
  const made = await readOrMakeToken(path)
  expect(made.isNew).toBe(true)
  expect(Buffer.from(made.token, 'base64url')).toHaveLength(32)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(await readOrMakeToken(path)).toEqual({ token: made.token, isNew: false })
})

test('two starts at once agree on one token', async () => {
  const path = join(folder, 'kiwi.token')
  const tokens = await Promise.all(Array.from({ length: 8 }, () => readOrMakeToken(path)))
  expect(new Set(tokens.map(({ token }) => token)).size).toBe(1)
  expect(readFileSync(path, 'utf8').trim()).toBe(tokens[0]?.token)
  expect(tokens.filter(({ isNew }) => isNew)).toHaveLength(1)
  expect(readdirSync(folder)).toEqual(['kiwi.token'])
})

test.each(['', '\n', 'x', 'a'.repeat(42), `${'a'.repeat(43)} b`, 'a'.repeat(44)])(
  'HTTP-02: a file that holds %j is no token, and the way out is said',
  async (text) => {
    const path = join(folder, 'kiwi.token')
    writeFileSync(path, text)
    await expect(readOrMakeToken(path)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining(path),
      hint: expect.stringContaining('Remove the file'),
    })
    expect(readFileSync(path, 'utf8')).toBe(text)
  },
)

test('a token that cannot be read is not an absent one', async () => {
  const path = join(folder, 'kiwi.token')
  mkdirSync(path)
  await expect(readOrMakeToken(path)).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('Cannot read'),
  })
})

test('a place that cannot be written is said with the way out', async () => {
  writeFileSync(join(folder, 'file'), '')
  await expect(readOrMakeToken(join(folder, 'file', 'kiwi.token'))).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    hint: expect.stringContaining('--no-auth'),
  })
})

test.each([
  ['Bearer right', true],
  ['bearer right', true],
  ['Bearer wrong', false],
  ['Bearer righ', false],
  ['Bearer rightt', false],
  ['Bearer', false],
  ['Bearer ', false],
  ['Basic right', false],
  ['right', false],
  ['Bearer right extra', false],
  [undefined, false],
])('HTTP-04: %s is authorized: %s', (header, isRight) => {
  expect(isAuthorized(header, 'right')).toBe(isRight)
})
