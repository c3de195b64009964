import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFindProgram } from './find-program.ts'

let folder = ''
let time = 0
const clock = { now: () => time, monotonic: () => time }
const place = (name: string, mode: number): string => {
  const file = join(folder, name)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, '#!/bin/sh\n')
  chmodSync(file, mode)
  return file
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiwi-find-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('P1: the first folder of the PATH that has the program wins', () => {
  const first = place('first/tool', 0o755)
  const second = place('second/tool', 0o755)
  const find = createFindProgram(clock)
  expect(find('tool', `${folder}/none:${folder}/first:${folder}/second`)).toBe(first)
  expect(find('tool', `${folder}/second:${folder}/first`)).toBe(second)
})

test('P1: what cannot be executed is no program', () => {
  const plain = place('plain/tool', 0o644)
  const real = place('real/tool', 0o755)
  const find = createFindProgram(clock)
  expect(find('tool', `${folder}/plain:${folder}/real`)).toBe(real)
  expect(find(plain, '')).toBeNull()
  expect(find(folder, '')).toBeNull()
})

test('P1: an absolute path stays, a relative one is never searched', () => {
  const file = place('absolute/tool', 0o755)
  const find = createFindProgram(clock)
  expect(find(file, '')).toBe(file)
  expect(find('./tool', `${folder}/absolute`)).toBeNull()
  expect(find('absolute/tool', folder)).toBeNull()
  expect(find('', folder)).toBeNull()
})

test('P1: relative and empty folders of a PATH are skipped', () => {
  expect(createFindProgram(clock)('find-program.test.ts', ':.:src/primitives:')).toBeNull()
})

test('P1: a program that comes is seen at once, one that goes within a second', () => {
  const find = createFindProgram(clock)
  expect(find('late', `${folder}/late`)).toBeNull()
  const file = place('late/late', 0o755)
  expect(find('late', `${folder}/late`)).toBe(file)
  rmSync(file)
  expect(find('late', `${folder}/late`)).toBe(file)
  time += 1000
  expect(find('late', `${folder}/late`)).toBeNull()
})
