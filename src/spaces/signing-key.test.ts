import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { KeyPlaces } from './signing-key.ts'
import { openOwnKey, readPublicKey } from './signing-key.ts'

let folder: string
let places: KeyPlaces
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-key-'))
  places = { key: join(folder, 'user/kiwi.key'), publicKey: join(folder, 'user/kiwi.pub') }
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('N12: a key is made at first use, for its owner alone, and its public half beside it', async () => {
  const own = openOwnKey(places)
  expect(own.read()).toBeNull()
  const key = await own.readOrMake()
  expect(statSync(places.key).mode & 0o777).toBe(0o600)
  expect(readFileSync(places.key, 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----/)
  expect(readdirSync(join(folder, 'user')).toSorted()).toEqual(['kiwi.key', 'kiwi.pub'])
  const spki = readFileSync(places.publicKey, 'utf8').replaceAll(/-----[^-]+-----|\s/g, '')
  const raw = Buffer.from(spki, 'base64').subarray(12).toString('base64')
  const signature = key.sign('a statement')
  for (const handedOut of [spki, raw]) {
    const read = readPublicKey(handedOut)
    expect(read.fingerprint).toBe(key.fingerprint)
    expect([read.verify('a statement', signature), read.verify('another', signature)]).toEqual([true, false])
    expect(read.verify('a statement', 'nonsense')).toBe(false)
  }
  expect(key.fingerprint).toMatch(/^[0-9a-f]{16}$/)
})

test('N12: of many that make it at once, all have the same', async () => {
  const keys = await Promise.all(Array.from({ length: 8 }, () => openOwnKey(places).readOrMake()))
  expect(new Set(keys.map(({ fingerprint }) => fingerprint)).size).toBe(1)
})

test('what is no key is told, and never replaced', async () => {
  mkdirSync(join(folder, 'user'))
  writeFileSync(places.key, 'not a key')
  const own = openOwnKey(places)
  expect(() => own.read()).toThrow(expect.objectContaining({ code: 'STORE_UNAVAILABLE' }))
  await expect(own.readOrMake()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(readFileSync(places.key, 'utf8')).toBe('not a key')
})

test('a place that cannot be written is told', async () => {
  writeFileSync(join(folder, 'user'), '')
  await expect(openOwnKey(places).readOrMake()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})
