import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { NpmRegistry } from './fixtures/npm-registry.ts'
import { openNpmRegistry } from './fixtures/npm-registry.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

const LONG = 120_000
let temp: TempKiwi
let registry: NpmRegistry

beforeAll(async () => {
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
        details: { installer: expect.stringMatching(/EALLOWGIT|git/) },
      })
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
