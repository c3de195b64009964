import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findProject } from './find-project.ts'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'kiwi-find-')))
  mkdirSync(join(root, 'home/p/src/deep'), { recursive: true })
  mkdirSync(join(root, 'home/.ai'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const find = (from: string, home = 'home', userSpace = `${home}/.ai`): string =>
  findProject(join(root, from), {
    userSpace: join(root, userSpace),
    environment: { HOME: join(root, home) },
  }).slice(root.length + 1)

test('the nearest folder upwards that has .ai is the project', () => {
  mkdirSync(join(root, 'home/p/.ai'))
  expect(find('home/p/src/deep')).toBe('home/p')
  mkdirSync(join(root, 'home/p/src/.ai'))
  expect(find('home/p/src/deep')).toBe('home/p/src')
})

test('without one it is the folder itself: what is in HOME, or above it, is no project', () => {
  mkdirSync(join(root, '.ai'))
  expect(find('home/p/src')).toBe('home/p/src')
  expect(find('home')).toBe('home')
  symlinkSync('home', join(root, 'link'))
  expect(find('home/p', 'link')).toBe('home/p')
})

test('the user space is no project wherever it lies', () => {
  mkdirSync(join(root, 'other/below'), { recursive: true })
  mkdirSync(join(root, 'other/.ai'))
  mkdirSync(join(root, '.ai'))
  expect(find('other/below', 'home', 'other/.ai')).toBe('')
  expect(find('other/below')).toBe('other')
})
