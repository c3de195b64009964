import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NpmRegistry } from './fixtures/npm-registry.ts'
import { openNpmRegistry } from './fixtures/npm-registry.ts'
import { BUILTIN } from './fixtures/sample-item.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

const LONG = 120_000
let temp: TempKiwi
let registry: NpmRegistry
let elsewhere: NpmRegistry

beforeAll(async () => {
  elsewhere = await openNpmRegistry({
    evil: { version: '1.0.0', files: { 'package.json': '{"name":"evil","version":"1.0.0"}' } },
  })
  registry = await openNpmRegistry({
    'kiwi-shout': {
      version: '1.4.0',
      files: {
        'package.json': JSON.stringify({
          name: 'kiwi-shout',
          version: '1.4.0',
          main: 'index.js',
          scripts: { postinstall: 'touch POSTINSTALL' },
        }),
        'index.js': 'module.exports = (text) => text.toUpperCase()',
      },
    },
    ...Object.fromEntries(
      Object.entries({
        'kiwi-remote': { evil: `${elsewhere.url}/evil.tgz` },
        'kiwi-file': { evil: 'file:./evil' },
        'kiwi-alias': { other: 'npm:kiwi-shout@^1' },
      }).map(([name, dependencies]) => [
        name,
        {
          version: '1.0.0',
          files: { 'package.json': JSON.stringify({ name, version: '1.0.0', dependencies }) },
        },
      ]),
    ),
    'kiwi-trap': {
      version: '1.0.0',
      files: {
        'package.json': JSON.stringify({
          name: 'kiwi-trap',
          version: '1.0.0',
          dependencies: { evil: 'git+https://127.0.0.1:1/evil.git' },
        }),
      },
    },
  })
  temp = await openTempKiwi({ settings: { packages: { node: { registry: registry.url } } } })
}, LONG)
afterAll(async () => {
  await temp.close()
  await registry.close()
  await elsewhere.close()
})

const NODE = { tool_type: 'script', executor: 'node_runtime', description: 'a tool of the tests' }
const root = (): string => join(temp.config.cache, 'environments/node_runtime')
const builtFolder = (): string => join(root(), readdirSync(root())[0] ?? '', 'current')

describe('C10: a Node.js tool with packages', () => {
  const FILES = {
    'main.mjs': "import shout from 'kiwi-shout'\nimport { word } from './part.mjs'\nconsole.log(shout(word))",
    'part.mjs': "export const word = 'hello'",
    'package.json': JSON.stringify({ type: 'module', dependencies: { 'kiwi-shout': '^1.2' } }),
  }

  test(
    'imports what its package.json names, and a second run asks no registry',
    async () => {
      expect((await temp.create('shouting', NODE, FILES)).error).toBeNull()
      const first = await temp.run('shouting')
      expect(first.error).toBeNull()
      expect(first.data).toMatchObject({ output: 'HELLO\n' })
      const asked = registry.asked.length
      expect((await temp.run('shouting')).data).toMatchObject({ output: 'HELLO\n' })
      expect(registry.asked).toHaveLength(asked)
    },
    LONG,
  )

  test('SUP-01: no script of a package has run, and the versions are locked with their hashes', () => {
    expect(existsSync(join(builtFolder(), 'node_modules/kiwi-shout/index.js'))).toBe(true)
    expect(existsSync(join(builtFolder(), 'node_modules/kiwi-shout/POSTINSTALL'))).toBe(false)
    const lock = readFileSync(join(builtFolder(), 'package-lock.json'), 'utf8')
    expect(lock).toMatch(/"integrity": "sha512-/)
  })

  test(
    'require finds what "requires" names, in the environment that is there',
    async () => {
      await temp.create(
        'requiring',
        { ...NODE, config: { requires: ['kiwi-shout@^1.2'] } },
        {
          'main.cjs': "console.log(require('kiwi-shout')('x'))",
        },
      )
      expect((await temp.run('requiring')).data).toMatchObject({ output: 'X\n' })
      expect(readdirSync(root())).toHaveLength(1)
    },
    LONG,
  )

  test('with npm_install: false nothing is installed, and a warning names the packages', async () => {
    const config = { requires: ['kiwi-shout'], npm_install: false }
    await temp.create('loose', { ...NODE, config }, { 'main.mjs': "console.log('ran')" })
    const reply = await temp.run('loose')
    expect(reply.data).toMatchObject({ output: 'ran\n' })
    expect(reply.metadata.warnings).toEqual([expect.stringContaining('kiwi-shout')])
  })

  test(
    'SUP-02: a package that brings another from git along is not installed',
    async () => {
      await temp.create('trapped', { ...NODE, config: { requires: ['kiwi-trap@1.0.0'] } }, { 'main.mjs': '' })
      expect((await temp.run('trapped')).error).toMatchObject({
        code: 'DEPENDENCY_UNAVAILABLE',
        details: { installer: expect.stringMatching(/no-packages-from-git/) },
      })
    },
    LONG,
  )

  test.each(['remote', 'file'])(
    'SUP-02: nor is one that brings another from a place of its own along: %s',
    async (place) => {
      const config = { requires: [`kiwi-${place}@1.0.0`] }
      await temp.create(`trapped_${place}`, { ...NODE, config }, { 'main.mjs': '' })
      const { error } = await temp.run(`trapped_${place}`)
      expect(error).toMatchObject({
        code: 'DEPENDENCY_REFUSED',
        message: expect.stringMatching(/"evil" comes from .*, not from the registry$/),
      })
    },
    LONG,
  )

  test(
    'another name for a package of the registry is one of the registry',
    async () => {
      const config = { requires: ['kiwi-alias@1.0.0'] }
      await temp.create('aliased', { ...NODE, config }, { 'main.cjs': "console.log(require('other')('x'))" })
      expect(await temp.run('aliased')).toMatchObject({ error: null, data: { output: 'X\n' } })
    },
    LONG,
  )

  test(
    'a package that the registry does not have is named',
    async () => {
      await temp.create('wanting', { ...NODE, config: { requires: ['kiwi-nowhere@^9'] } }, { 'main.mjs': '' })
      expect((await temp.run('wanting')).error).toMatchObject({
        code: 'DEPENDENCY_UNAVAILABLE',
        message: expect.stringContaining('"kiwi-nowhere@^9" cannot be installed'),
      })
    },
    LONG,
  )
})

describe('SUP-02: where the packages of a lock come from', () => {
  const REGISTRY = 'https://packages.example'
  const check = (packages: unknown): { status: number | null; reason: string } => {
    const path = join(temp.folder, 'package-lock.json')
    writeFileSync(path, JSON.stringify({ lockfileVersion: 3, packages }))
    const program = join(BUILTIN, 'tools/runtimes/node_runtime/check-lock.mjs')
    const { status, stderr } = spawnSync(process.execPath, [program, path], { encoding: 'utf8', env: {} })
    return { status, reason: stderr.trim() }
  }
  const top = { dependencies: { a: '^1' } }
  const a = { resolved: `${REGISTRY}/a/-/a-1.0.0.tgz` }

  test('the registry, whatever it is called by npm, and what lies in a tarball', () => {
    const own = { resolved: 'http://npm.example/a.tgz', dependencies: { b: 'npm:@s/c@^1 || 2' } }
    const packages = {
      '': top,
      'node_modules/a': own,
      'node_modules/b': { resolved: 'http://npm.example/b.tgz' },
      'node_modules/a/node_modules/d': { inBundle: true },
    }
    expect(check(packages)).toEqual({ status: 0, reason: '' })
  })

  test.each([
    [{ resolved: 'git+ssh://git@example.com/b.git#00' }, '"b" comes from git+ssh://***@example.com/b.git#00'],
    [{ resolved: 'https://u:p@evil.example/b.tgz' }, '"b" comes from https://***@evil.example/b.tgz'],
    [{ resolved: 'file:../b.tgz' }, '"b" comes from file:../b.tgz'],
    [{ resolved: '../b', link: true }, '"b" comes from ../b'],
    [{ version: '1.0.0' }, '"b" comes from node_modules/a/node_modules/b'],
    [{ ...a, peerDependencies: { c: 'user/repo' } }, '"c" comes from user/repo'],
    [
      { ...a, optionalDependencies: { c: 'https://evil.example/c' } },
      '"c" comes from https://evil.example/c',
    ],
  ])('%j is refused', (entry, reason) => {
    expect(check({ '': top, 'node_modules/a': a, 'node_modules/a/node_modules/b': entry })).toEqual({
      status: 77,
      reason: `${reason}, not from the registry`,
    })
  })

  test('a lock that does not say it is refused', () => {
    expect(check(undefined)).toMatchObject({ status: 77 })
  })
})
