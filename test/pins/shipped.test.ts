import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules, createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compiledOf, openBundle } from '../../scripts/bundle.ts'

const DIST = join(import.meta.dirname, '../../dist')

test('the bundle needs nothing but Node and the database driver; a keychain it can do without', () => {
  const names = readdirSync(DIST)
    .filter((file) => file.endsWith('.js') && file !== 'cli.js')
    .flatMap((file) => [
      ...readFileSync(join(DIST, file), 'utf8').matchAll(/(?<!`)\b(?:require|import)\("([^"]+)"\)/g),
    ])
    .map(([, name = '']) => name)
    .filter((name) => !name.startsWith('.') && !name.startsWith('node:') && !builtinModules.includes(name))
  expect([...new Set(names)].toSorted()).toEqual(['@napi-rs/keyring', '@photostructure/sqlite'])
})

test('the command starts with its interpreter, and finds the shipped items beside it', () => {
  expect(readFileSync(join(DIST, 'cli.js'), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  expect(existsSync(join(DIST, '../builtin/tools/primitives/subprocess.yaml'))).toBe(true)
})

test('what the engine has compiled ahead is taken by it, and without it the files are compiled anew', () => {
  const { load, scripts } = openBundle(DIST, createRequire(join(DIST, 'cli.js')))
  expect(load('index.js').openKiwi).toBeTypeOf('function')
  expect(scripts.size).toBeGreaterThan(1)
  for (const [path, script] of scripts) {
    expect(existsSync(compiledOf(path))).toBe(true)
    expect([path, script.cachedDataRejected]).toEqual([path, false])
  }
})

test('every file is plain ASCII, so that it is read a byte a character', () => {
  for (const file of readdirSync(DIST).filter((name) => name.endsWith('.js')))
    expect(readFileSync(join(DIST, file), 'latin1')).not.toMatch(/[^\0-\x7F]/)
})
