import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const DIST = join(import.meta.dirname, '../../dist')

test('the bundle needs nothing but Node and the database driver; a keychain it can do without', () => {
  const names = readdirSync(DIST)
    .filter((file) => file.endsWith('.js'))
    .flatMap((file) => [
      ...readFileSync(join(DIST, file), 'utf8').matchAll(
        /^(?:import|export)\b[^'"\n]*\bfrom\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/gm,
      ),
    ])
    .map(([, from, dynamic]) => from ?? dynamic ?? '')
    .filter((name) => !name.startsWith('.') && !name.startsWith('node:') && !builtinModules.includes(name))
  expect([...new Set(names)].toSorted()).toEqual(['@napi-rs/keyring', '@photostructure/sqlite'])
})

test('the command starts with its interpreter, and finds the shipped items beside it', () => {
  expect(readFileSync(join(DIST, 'cli.js'), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  expect(existsSync(join(DIST, '../builtin/tools/primitives/subprocess.yaml'))).toBe(true)
})
