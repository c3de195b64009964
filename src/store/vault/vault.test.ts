import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Keychain } from './keychain.ts'
import { openKeychain } from './keychain.ts'
import type { Vault } from './vault.ts'
import { openVault } from './vault.ts'
import { openVaultKeys } from './vault-keys.ts'

const CANARY = 'kiwi-canary-0123456789'
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-vault-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const NO_KEYCHAIN = openKeychain({})

function keychainOf(entries: Map<string, string>): Keychain {
  return {
    get: async (account) => entries.get(account) ?? null,
    set: async (account, text) => void entries.set(account, text),
    remove: async (account) => void entries.delete(account),
  }
}

interface Given {
  readonly passphrase?: string
  readonly keychain?: Keychain
  readonly exclusively?: <T>(work: () => T) => Promise<T>
  readonly learn?: (secrets: ReadonlyMap<string, { value?: string | undefined }>) => void
}

/** Another handle, as another process would have it. */
function open({
  passphrase,
  keychain = NO_KEYCHAIN,
  exclusively = async (work) => work(),
  learn,
}: Given = {}): Vault {
  const keyFile = join(folder, 'kiwi.vault.key')
  return openVault({
    path: join(folder, 'kiwi.vault'),
    keys: openVaultKeys({ keyFile, passphrase: passphrase ?? null, keychain }),
    exclusively,
    now: () => Date.UTC(2026, 0, 28),
    ...(learn === undefined ? {} : { learn }),
  })
}
const vaultText = (): string => readFileSync(join(folder, 'kiwi.vault'), 'utf8')
const valuesOf = async (vault: Vault): Promise<unknown> =>
  Object.fromEntries([...(await vault.read())].map(([name, { value }]) => [name, value]))

const entries = new Map<string, string>()
describe.each<[string, Given, string]>([
  ['a file beside it', {}, 'file'],
  ['a passphrase', { passphrase: 'correct horse' }, 'passphrase'],
  ['the keychain', { keychain: keychainOf(entries) }, 'keychain'],
])('X7: a vault whose key is in %s', (_, given, kind) => {
  test('gives back what was put in, in another process too, and nothing can be read off the files', async () => {
    const vault = open(given)
    expect([await valuesOf(vault), vault.keyKind()]).toEqual([{}, null])
    await vault.set('WEATHER_KEY', CANARY)
    await vault.set('OTHER_KEY', 'zwölf Zeilen\nund mehr')
    const kept = { WEATHER_KEY: CANARY, OTHER_KEY: 'zwölf Zeilen\nund mehr' }
    for (const one of [vault, open(given)]) expect(await valuesOf(one)).toEqual(kept)
    expect(vault.keyKind()).toBe(kind)
    expect((await vault.read()).get('OTHER_KEY')?.set_at).toBe('2026-01-28T00:00:00.000Z')
    for (const file of readdirSync(folder)) {
      const path = join(folder, file)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      for (const secret of [CANARY, 'WEATHER_KEY', 'Zeilen', 'correct horse'])
        expect(readFileSync(path, 'utf8')).not.toContain(secret)
    }
    expect(readdirSync(folder)).toEqual(kind === 'file' ? ['kiwi.vault', 'kiwi.vault.key'] : ['kiwi.vault'])
  })

  test('one is replaced, one is removed, and what is not there is not', async () => {
    const vault = open(given)
    await vault.set('A', 'first-value')
    await vault.set('B', 'other-value')
    const other = open(given)
    await other.set('A', 'second-value')
    expect(await valuesOf(vault)).toEqual({ A: 'second-value', B: 'other-value' })
    expect([await vault.remove('A'), await vault.remove('A')]).toEqual([true, false])
    expect(await valuesOf(other)).toEqual({ B: 'other-value' })
  })
})

test('X7: a program that gives a value is kept by its arguments, and replaced by a value and back', async () => {
  const learnt: unknown[] = []
  const vault = open({ learn: (secrets) => void learnt.push(secrets.get('KEY')?.value) })
  const command = ['/usr/bin/pass', 'show', 'a b']
  for (const given of [command, CANARY, command]) {
    await vault.set('KEY', given)
    const kept = typeof given === 'string' ? { value: given } : { command: given }
    expect((await open().read()).get('KEY')).toEqual({ ...kept, set_at: '2026-01-28T00:00:00.000Z' })
  }
  expect(learnt).toEqual([undefined, CANARY, undefined])
  expect((await vault.list()).secrets).toEqual([{ name: 'KEY', set_at: expect.any(String), command }])
  expect(vaultText()).not.toContain('pass')
  expect([await vault.remove('KEY'), (await vault.list()).secrets]).toEqual([true, []])
})

test('X7: a passphrase that a person gave counts before the keychain', async () => {
  const vault = open({ passphrase: 'given', keychain: keychainOf(entries) })
  await vault.set('A', CANARY)
  expect(vault.keyKind()).toBe('passphrase')
})

test('X7: the same content is never written twice in the same way', async () => {
  const vault = open()
  await vault.set('A', CANARY)
  const before = vaultText()
  await vault.set('A', CANARY)
  const [first, second] = [before, vaultText()].map((text) => JSON.parse(text))
  expect(second.nonce).not.toBe(first.nonce)
  expect(second.data).not.toBe(first.data)
  expect(second.salt).toBe(first.salt)
})

describe('X7: what cannot be opened is said, and left as it is', () => {
  const expectClosed = async (vault: Vault, reason: string): Promise<void> => {
    const before = vaultText()
    const refusal = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining(reason) }
    await expect(vault.read()).rejects.toMatchObject(refusal)
    await expect(vault.set('B', CANARY)).rejects.toMatchObject(refusal)
    expect(vaultText()).toBe(before)
    expect(JSON.stringify(await vault.read().catch((error: unknown) => String(error)))).not.toContain(CANARY)
  }

  test('another passphrase, and none', async () => {
    await open({ passphrase: 'right' }).set('A', CANARY)
    await expectClosed(open({ passphrase: 'wrong' }), 'the passphrase is another one')
    await expectClosed(open(), 'it was locked with a passphrase')
    expect(existsSync(join(folder, 'kiwi.vault.key'))).toBe(false)
  })

  test('a key file that is gone, or another one', async () => {
    await open().set('A', CANARY)
    rmSync(join(folder, 'kiwi.vault.key'))
    await expectClosed(open(), 'cannot be read')
    writeFileSync(join(folder, 'kiwi.vault.key'), Buffer.alloc(32, 1).toString('base64'))
    await expectClosed(open(), 'its key does not fit')
    writeFileSync(join(folder, 'kiwi.vault.key'), 'short')
    await expectClosed(open(), 'it is no key')
  })

  test('a keychain that is closed, or has lost the key', async () => {
    await open({ keychain: keychainOf(entries) }).set('A', CANARY)
    await expectClosed(open(), 'no session bus')
    await expectClosed(open({ keychain: keychainOf(new Map()) }), 'no longer in the keychain')
  })

  test.each([
    ['one flipped byte', (file: Record<string, unknown>) => ({ ...file, data: flip(String(file['data'])) })],
    [
      'another head',
      (file: Record<string, unknown>) => ({ ...file, key: 'file', salt: flip(String(file['salt'])) }),
    ],
    ['a nonce of another length', (file: Record<string, unknown>) => ({ ...file, nonce: 'AAAA' })],
    ['a tag that is cut', (file: Record<string, unknown>) => ({ ...file, data: 'AAAA' })],
  ])('%s', async (_, change) => {
    await open().set('A', CANARY)
    writeFileSync(join(folder, 'kiwi.vault'), JSON.stringify(change(JSON.parse(vaultText()))))
    await expectClosed(open(), 'does not fit, or')
  })

  test.each(['', 'not a vault', '{"kiwi_vault":2}', '[]', '{"kiwi_vault":1,"key":"file","salt":"&"}'])(
    'a file that holds %j',
    async (text) => {
      writeFileSync(join(folder, 'kiwi.vault'), text)
      await expectClosed(open(), 'is no vault of this version')
    },
  )

  test('a file too large to be one', async () => {
    writeFileSync(join(folder, 'kiwi.vault'), ' '.repeat(5 * 1024 * 1024))
    await expectClosed(open(), 'too large')
  })
})

test('X7: more than a vault holds is refused, and what is in it stays', async () => {
  const vault = open()
  await vault.set('A', CANARY)
  await expect(vault.set('B', 'x'.repeat(4 * 1024 * 1024))).rejects.toMatchObject({
    code: 'MESSAGE_TOO_LARGE',
  })
  expect(await valuesOf(open())).toEqual({ A: CANARY })
})

test('X7: two that make it at once agree on one key, and neither loses its secret', async () => {
  const kept = new Map<string, string>()
  const keychain = keychainOf(kept)
  let turn: Promise<unknown> = Promise.resolve()
  const exclusively = <T>(work: () => T): Promise<T> => {
    const mine = turn.then(work)
    turn = mine.catch(() => undefined)
    return mine
  }
  await Promise.all(
    ['A', 'B', 'C'].map((name) => open({ keychain, exclusively }).set(name, `${name}-0123456789`)),
  )
  expect(await valuesOf(open({ keychain }))).toEqual({
    A: 'A-0123456789',
    B: 'B-0123456789',
    C: 'C-0123456789',
  })
  expect(kept.size).toBe(1)
})

test('X7: a keychain that takes a key and gives back none is not relied on', async () => {
  const vault = open({ keychain: { ...keychainOf(new Map()), get: async () => null } })
  await vault.set('A', CANARY)
  expect(vault.keyKind()).toBe('file')
})

test('X7: without a session there is no keychain, and asking takes no time', async () => {
  if (process.platform !== 'linux') return
  await expect(NO_KEYCHAIN.get('a')).rejects.toThrow('no session bus')
  await expect(openKeychain({ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' }).get('a')).rejects.toThrow()
})

function flip(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  bytes[3] = (bytes[3] ?? 0) ^ 1
  return bytes.toString('base64')
}

test('X7: a glance reads what a key in a file opens, again when it changed, and never asks for another key', async () => {
  const learned: string[] = []
  const learn: Given['learn'] = (secrets) => learned.push(...secrets.keys())
  const glancing = open({ learn })
  await glancing.glance()
  await open().set('A', CANARY)
  await glancing.glance()
  await glancing.glance()
  await open().set('B', CANARY)
  await glancing.glance()
  expect(learned).toEqual(['A', 'A', 'B'])

  rmSync(join(folder, 'kiwi.vault'))
  await open({ passphrase: 'correct horse' }).set('C', CANARY)
  const locked: string[] = []
  await open({ learn: (secrets) => locked.push(...secrets.keys()) }).glance()
  expect(locked).toEqual([])
})
