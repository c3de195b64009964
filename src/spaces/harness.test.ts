import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { HarnessOf } from './harness.ts'
import { openHarness } from './harness.ts'

let folder: string
let harness: HarnessOf
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-harness-'))
  harness = openHarness(join(folder, 'user'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (root: string, text: string): void => {
  mkdirSync(join(folder, root, 'config'), { recursive: true })
  writeFileSync(join(folder, root, 'config/agent_harness.yaml'), text)
}
const isRequired = async (): Promise<boolean> => (await harness(folder)).signatureRequiredBy !== null

test('R54: without a file nothing is required; with one it is, unless it names another mode', async () => {
  expect(await isRequired()).toBe(false)
  write('.ai', 'allowed_mcps: [kiwi-mcp]\n')
  expect(await isRequired()).toBe(true)
  write('.ai', 'mode: direct\n')
  expect(await isRequired()).toBe(false)
  write('.ai', 'mode: hybrid\nrequire_signature: true\n')
  expect(await isRequired()).toBe(true)
})

test('R54: only the user may do without signatures, and the stricter of both files wins', async () => {
  write('user', 'mode: proxy\nrequire_signature: false\n')
  expect(await isRequired()).toBe(false)
  write('.ai', 'mode: proxy\nrequire_signature: false\n')
  expect(await isRequired()).toBe(true)
  write('.ai', 'mode: direct\n')
  write('user', 'require_signature: true\n')
  expect(await isRequired()).toBe(true)
  expect((await harness(null)).signatureRequiredBy).toContain('user')
})

test.each(['mode: [', 'mode: proxxy', 'require_signature: maybe', '- a list', ''])(
  'R54: a file that cannot be read (%j) requires signatures and says so',
  async (text) => {
    write('.ai', text)
    expect((await harness(folder)).signatureRequiredBy).toMatch(/cannot be read, so it is required/)
  },
)

test('R54: what is wrong with it is said in words', async () => {
  write('.ai', 'mode: proxxy\nrequire_signature: maybe\n')
  expect((await harness(folder)).signatureRequiredBy).toMatch(
    /required: "mode" must be one of proxy, direct, hybrid, "require_signature" must be true or false$/,
  )
})

test.each(['file', 'folder'])('R54: a link in its place (of the %s) is not followed', async (what) => {
  write('elsewhere', 'mode: direct\n')
  const link = what === 'file' ? 'config/agent_harness.yaml' : 'config'
  mkdirSync(join(folder, 'p/.ai/config'), { recursive: true })
  if (what === 'folder') rmSync(join(folder, 'p/.ai/config'), { recursive: true })
  symlinkSync(join(folder, 'elsewhere', link), join(folder, 'p/.ai', link))
  expect((await harness(join(folder, 'p'))).signatureRequiredBy).toMatch(/cannot be read, so it is required/)
})

test('it is read once, and again when it changed', async () => {
  write('.ai', 'mode: direct\n')
  await harness(folder)
  expect(harness(folder)).not.toBeInstanceOf(Promise)
  write('.ai', 'mode: proxy # now\n')
  expect(await isRequired()).toBe(true)
})
