import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Config } from './config.ts'
import { describeSettings, loadConfig } from './config.ts'
import type { Environment } from './environment.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'kiwi-config-'))
  mkdirSync(join(home, '.ai'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const load = (environment: Environment = {}, flags: Parameters<typeof loadConfig>[1] = {}): Config =>
  loadConfig({ HOME: home, ...environment }, flags)
const write = (settings: unknown): void =>
  writeFileSync(
    join(home, '.ai', 'kiwi.json'),
    typeof settings === 'string' ? settings : JSON.stringify(settings),
  )

const HASH = 'a'.repeat(64)

/** 32 bytes in base64. */
const KEY = Buffer.alloc(32, 7).toString('base64')

describe('settings', () => {
  test('X7: what opens the vault is kept from the variables that tools could be granted', () => {
    const config = load({ KIWI_VAULT_PASSPHRASE: 'open sesame', OTHER: 'x' })
    expect(config.vault.passphrase).toBe('open sesame')
    expect(config.environment).toEqual({ HOME: home, OTHER: 'x' })
    expect(load({ KIWI_VAULT_PASSPHRASE: '' }).vault.passphrase).toBeNull()
  })

  test('without anything given each has its default, and says so', () => {
    const config = load()
    const space = join(home, '.ai')
    expect(config).toEqual({
      home,
      machineHarness: '/etc/kiwi/agent_harness.yaml',
      userSpace: space,
      cache: join(home, '.cache', 'kiwi'),
      trees: join(home, '.cache', 'kiwi', 'trees'),
      file: join(space, 'kiwi.json'),
      token: join(space, 'kiwi.token'),
      key: join(space, 'kiwi.key'),
      publicKey: join(space, 'kiwi.pub'),
      approverKey: join(space, 'kiwi.approver'),
      vault: { path: join(space, 'kiwi.vault'), keyFile: join(space, 'kiwi.vault.key'), passphrase: null },
      store: join(space, 'kiwi.db'),
      heads: join(space, 'kiwi.heads.jsonl'),
      port: 7717,
      logLevel: 'warn',
      allowHosts: [],
      grants: [],
      watch: false,
      publishers: [],
      outputs: { keep: 10, minBytes: 0 },
      search: { embedder: null, model: null, waitMs: 300, learn: true },
      packages: {},
      undo: { cover: 'declared' },
      audit: { mirror: true, sync: 'normal' },
      sources: {
        audit: 'default',
        search: 'default',
        store: 'default',
        port: 'default',
        log_level: 'default',
        allow_hosts: 'default',
        grants: 'default',
        watch: 'default',
        publishers: 'default',
        outputs: 'default',
        packages: 'default',
        undo: 'default',
        user_space: 'default',
      },
      environment: { HOME: home },
    })
  })

  test('the file gives each of them', () => {
    const grant = { tool: 'slack', hash: HASH, names: ['SLACK_TOKEN'] }
    const publisher = { name: 'Acme', key: KEY, namespace: 'acme.*' }
    const hosts = ['localhost']
    write({
      store: 'other.db',
      port: 1,
      log_level: 'debug',
      allow_hosts: hosts,
      grants: [grant],
      publishers: [publisher],
      watch: true,
    })
    expect(load()).toMatchObject({
      watch: true,
      store: join(home, '.ai', 'other.db'),
      port: 1,
      logLevel: 'debug',
      allowHosts: ['localhost'],
      grants: [grant],
      publishers: [{ ...publisher, revoked: false }],
      sources: {
        store: 'file',
        port: 'file',
        log_level: 'file',
        allow_hosts: 'file',
        grants: 'file',
        publishers: 'file',
      },
    })
  })

  test('variables give what one line can hold', () => {
    const config = load({
      KIWI_STORE: '/data/kiwi.db',
      KIWI_PORT: '8080',
      KIWI_LOG_LEVEL: 'info',
      KIWI_ALLOW_HOSTS: '127.0.0.1, [::1]:80 ,db.local',
    })
    expect(config).toMatchObject({
      store: '/data/kiwi.db',
      port: 8080,
      logLevel: 'info',
      allowHosts: ['127.0.0.1', '[::1]:80', 'db.local'],
      sources: {
        store: 'environment',
        port: 'environment',
        log_level: 'environment',
        allow_hosts: 'environment',
      },
    })
  })

  test('L6: a part of the settings for outputs leaves the others as they were', () => {
    write({ outputs: { keep: 3 } })
    expect(load()).toMatchObject({ outputs: { keep: 3, minBytes: 0 }, sources: { outputs: 'file' } })
    write({ outputs: { keep: -1 } })
    expect(() => load()).toThrow('"outputs.keep"')
  })

  test('defaults, file, variables, flags: the later wins, key by key', () => {
    write({ port: 1, log_level: 'debug', allow_hosts: ['file'] })
    const config = load({ KIWI_PORT: '2', KIWI_LOG_LEVEL: 'info' }, { port: 3 })
    expect(config).toMatchObject({ port: 3, logLevel: 'info', allowHosts: ['file'], grants: [] })
    expect(config.sources).toEqual({
      port: 'flag',
      log_level: 'environment',
      allow_hosts: 'file',
      store: 'default',
      grants: 'default',
      watch: 'default',
      publishers: 'default',
      outputs: 'default',
      packages: 'default',
      undo: 'default',
      audit: 'default',
      search: 'default',
      user_space: 'default',
    })
  })

  test('an empty variable says nothing', () => {
    const config = load({
      KIWI_PORT: '',
      KIWI_STORE: '',
      KIWI_LOG_LEVEL: '',
      KIWI_ALLOW_HOSTS: '',
      KIWI_USER_SPACE: '',
    })
    expect(config).toEqual({ ...load(), environment: config.environment })
  })

  test('~ is the home folder, a relative store lies in the user space', () => {
    expect(load({ KIWI_STORE: '~/data/k.db' }).store).toBe(join(home, 'data', 'k.db'))
    expect(load({ KIWI_STORE: 'data/k.db' }).store).toBe(join(home, '.ai', 'data', 'k.db'))
    expect(load({ KIWI_STORE: '~other/k.db' }).store).toBe(join(home, '.ai', '~other', 'k.db'))
  })

  test('the cache lies where the system wants caches', () => {
    expect(load({ XDG_CACHE_HOME: '/var/cache/me' }).cache).toBe('/var/cache/me/kiwi')
    expect(load({ XDG_CACHE_HOME: '' }).cache).toBe(join(home, '.cache', 'kiwi'))
    expect(load({ XDG_CACHE_HOME: 'cache' }).cache).toBe(join(home, '.cache', 'kiwi'))
  })
})

describe('L1: the user space', () => {
  test.each([
    [{ KIWI_USER_SPACE: '/a', USER_SPACE: '/b', AI_USER_SPACE: '/c' }, '/a'],
    [{ USER_SPACE: '/b', AI_USER_SPACE: '/c' }, '/b'],
    [{ AI_USER_SPACE: '/c' }, '/c'],
    [{ KIWI_USER_SPACE: '', AI_USER_SPACE: '/c' }, '/c'],
    [{ KIWI_USER_SPACE: '/a/../b/' }, '/b'],
  ])('%j means %s', (environment, expected) => {
    const config = load(environment)
    expect(config).toMatchObject({
      userSpace: expected,
      file: join(expected, 'kiwi.json'),
      token: join(expected, 'kiwi.token'),
      store: join(expected, 'kiwi.db'),
    })
    expect(config.sources.user_space).toBe('environment')
  })

  test('~ in it is the home folder', () => {
    expect(load({ KIWI_USER_SPACE: '~/mine' }).userSpace).toBe(join(home, 'mine'))
    expect(load({ KIWI_USER_SPACE: '~' }).userSpace).toBe(home)
  })

  test('an empty HOME is none: the folder Kiwi is started in never becomes the user space', () => {
    const { homedir } = userInfo()
    expect(loadConfig({ HOME: '' })).toMatchObject({
      userSpace: join(homedir, '.ai'),
      cache: join(homedir, '.cache', 'kiwi'),
    })
    expect(loadConfig({}).userSpace).toBe(join(homedir, '.ai'))
  })

  test.each(['.', 'me', '~'])('a HOME that is not absolute is refused: %j', (relative) => {
    expect(() => loadConfig({ HOME: relative })).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining('HOME') }),
    )
  })

  test('its file is the one that is read', () => {
    mkdirSync(join(home, 'mine'))
    writeFileSync(join(home, 'mine', 'kiwi.json'), '{"port": 9}')
    write({ port: 1 })
    expect(load({ KIWI_USER_SPACE: '~/mine' }).port).toBe(9)
  })
})

describe('a wrong setting is INVALID_CONFIG and named with its place', () => {
  test.each<readonly [string, unknown, string]>([
    ['a port that is a text', { port: '80' }, 'port'],
    ['a port that is none', { port: 65_536 }, 'port'],
    ['half a port', { port: 1.5 }, 'port'],
    ['an unknown level', { log_level: 'loud' }, 'log_level'],
    ['hosts that are no list', { allow_hosts: 'localhost' }, 'allow_hosts'],
    ['an empty host', { allow_hosts: ['a', ''] }, 'allow_hosts.1'],
    ['an empty store', { store: '' }, 'store'],
    ['a grant for any content', { grants: [{ tool: 'a', hash: '*', names: [] }] }, 'grants.0.hash'],
    ['a grant without names', { grants: [{ tool: 'a', hash: HASH }] }, 'grants.0.names'],
    ['a grant with more in it', { grants: [{ tool: 'a', hash: HASH, names: [], any: true }] }, 'any'],
    [
      'a key that is none',
      { publishers: [{ name: 'a', key: 'AAAA', namespace: 'a.*' }] },
      'publishers.0.key',
    ],
    ['a publisher of no namespace', { publishers: [{ name: 'a', key: KEY }] }, 'publishers.0.namespace'],
    ['an unknown key', { prot: 80 }, 'prot'],
    ['an unknown key that reaches a prototype', '{"__proto__": {"port": 1}}', '__proto__'],
    ['null', { port: null }, 'port'],
  ])('%s', (_, settings, key) => {
    write(settings)
    const expected = {
      code: 'INVALID_CONFIG',
      message: expect.stringContaining(join(home, '.ai', 'kiwi.json')),
    }
    expect(() => load()).toThrow(expect.objectContaining(expected))
    expect(() => load()).toThrow(expect.objectContaining({ message: expect.stringContaining(`"${key}"`) }))
  })

  test.each(['', '{', '[1]', 'null', '"text"', '{"port": 1} x', '// a\n{}'])(
    'a file that is no JSON object: %j',
    (text) => {
      write(text)
      expect(() => load()).toThrow(
        expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining('kiwi.json') }),
      )
    },
  )

  test('a file that cannot be read is not an absent one', () => {
    mkdirSync(join(home, '.ai', 'kiwi.json'))
    expect(() => load()).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining('kiwi.json') }),
    )
  })

  test('a user space that is a file has no settings', () => {
    writeFileSync(join(home, 'file'), '')
    expect(load({ KIWI_USER_SPACE: '~/file' }).port).toBe(7717)
  })

  test.each([
    [{ KIWI_PORT: 'abc' }, 'port'],
    [{ KIWI_PORT: '-1' }, 'port'],
    [{ KIWI_PORT: ' ' }, 'port'],
    [{ KIWI_PORT: '0x50' }, 'port'],
    [{ KIWI_PORT: '80.5' }, 'port'],
    [{ KIWI_LOG_LEVEL: 'LOUD' }, 'log_level'],
    [{ KIWI_ALLOW_HOSTS: 'a,,b' }, 'allow_hosts.1'],
  ])('a variable: %j', (environment, key) => {
    expect(() => load(environment)).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringMatching(`KIWI_.*"${key}"`) }),
    )
  })

  test.each([-1, 1.5, 65_536, Number.NaN])('a flag: port %d', (port) => {
    expect(() => load({}, { port })).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringMatching('the flags: "port"'),
      }),
    )
  })

  test('all faults are listed, not only the first', () => {
    write({ port: 'a', log_level: 'b' })
    expect(() => load()).toThrow(
      expect.objectContaining({
        details: {
          invalid: [
            expect.objectContaining({ name: 'port' }),
            expect.objectContaining({ name: 'log_level' }),
          ],
        },
      }),
    )
  })
})

test('the schema for the reference page has every key of the file, and no other', () => {
  expect(describeSettings()).toMatchObject({
    type: 'object',
    properties: { store: {}, port: {}, log_level: {}, allow_hosts: {}, grants: {}, publishers: {} },
    additionalProperties: false,
  })
})
