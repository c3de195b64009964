import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { harnessGlance } from './harness-glance.ts'
import { harnessSources, harnessStamp } from './harness.ts'

let folder: string
const begin = (): void => {
  for (const root of ['a', 'b', 'user', 'etc']) drop(root)
  put(`a/p/.ai/${FILE}`, 'mode: direct\n')
}
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'kiwi-glance-')))
  begin()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const PROJECT = 'a/p'
const places = () => ({
  builtinFolder: join(folder, 'builtin'),
  machineHarness: join(folder, 'etc/agent_harness.yaml'),
  userSpace: join(folder, 'user'),
})
const glanceNow = () => harnessGlance(places(), [join(folder, PROJECT)])
const lookNow = (): unknown => {
  try {
    return harnessSources(places(), [join(folder, PROJECT)]).map((source) => [source, harnessStamp(source)])
  } catch (error) {
    return String(error)
  }
}

const put = (path: string, text = 'mode: proxy\n'): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
const drop = (path: string): void => rmSync(join(folder, path), { recursive: true, force: true })
const link = (path: string, to: string): void => {
  drop(path)
  symlinkSync(to, join(folder, path))
}
const FILE = 'config/agent_harness.yaml'

test('PRM-12: what nobody touched is as it was, whatever else happens beside it', () => {
  const glance = glanceNow()
  expect(glance?.()).toBe(true)
  for (const path of ['a/p/x', 'a/p/.ai/config/x', 'user/x', 'etc/x', 'a/y']) put(path)
  // The folder of the user's file is there now, so where it would be missing from is another.
  expect(glanceNow()?.()).toBe(true)
})

test.each<[string, () => void]>([
  ['the file is edited', () => put(`a/p/.ai/${FILE}`, 'mode: direct\n\n')],
  ['the file is removed', () => drop(`a/p/.ai/${FILE}`)],
  ['the file is replaced by a link', () => link(`a/p/.ai/${FILE}`, 'x')],
  ['the other spelling appears', () => put('a/p/.ai/config/agent_harness.yml')],
  ['a file of the folder above appears', () => put(`a/.ai/${FILE}`)],
  ['a space above appears', () => mkdirSync(join(folder, 'a/.ai'))],
  ["the user's file appears", () => put(`user/${FILE}`)],
  ["the machine's file appears", () => put('etc/agent_harness.yaml')],
  ['what is shipped appears', () => put(`builtin/${FILE}`)],
  ["the user's space is a link that leads nowhere", () => link('user', '/nonexistent/kiwi')],
  ['its folder is closed by a file', () => (drop('a/p/.ai'), put('a/p/.ai', ''))],
  [
    'the project lies elsewhere, and a link stands in its place',
    () => {
      mkdirSync(join(folder, 'b'))
      renameSync(join(folder, 'a'), join(folder, 'b/a'))
      symlinkSync('b/a', join(folder, 'a'))
    },
  ],
])('PRM-12: it is noticed when %s', (_, change) => {
  const glance = glanceNow()
  change()
  expect(glance?.()).toBe(false)
})

test('PRM-12: where a link is in between, only the look itself tells', () => {
  link('user', join(folder, 'a'))
  expect(glanceNow()).toBeNull()
  drop('user')
  drop('a/p/.ai')
  link('a/p/.ai', '/nonexistent/kiwi')
  expect(glanceNow()).toBeNull()
})

test('PRM-12: a project that is named by a link is looked at where it really lies', () => {
  symlinkSync('a/p', join(folder, 'q'))
  const glance = harnessGlance(places(), [join(folder, 'q')])
  expect(glance?.()).toBe(true)
  mkdirSync(join(folder, 'r'))
  link('q', 'r')
  expect(glance?.()).toBe(false)
})

test('PRM-12: whatever is done to the folders, a glance never says more than a look', () => {
  const path = fc.constantFrom(
    'a',
    'a/p',
    'a/.ai',
    'a/p/.ai',
    'a/p/.ai/config',
    `a/p/.ai/${FILE}`,
    `a/.ai/${FILE}`,
    'a/p/.ai/config/agent_harness.yml',
    'user',
    'user/config',
    `user/${FILE}`,
    'etc',
    'b',
    'b/p',
  )
  const attempt = (work: () => void): void => {
    try {
      work()
    } catch {
      // Not everything can be done everywhere.
    }
  }
  const step = fc.oneof(
    fc.tuple(path, fc.string({ maxLength: 5 })).map(
      ([at, text]) =>
        () =>
          put(at, text),
    ),
    path.map((at) => () => drop(at)),
    path.map((at) => () => void mkdirSync(join(folder, at), { recursive: true })),
    fc.tuple(path, path).map(
      ([at, to]) =>
        () =>
          link(at, join(folder, to)),
    ),
    fc.tuple(path, path).map(
      ([at, to]) =>
        () =>
          renameSync(join(folder, at), join(folder, to)),
    ),
  )
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 8 }),
      fc.array(step, { minLength: 1, maxLength: 3 }),
      (first, then) => {
        begin()
        for (const work of first) attempt(work)
        const glance = glanceNow()
        const before = lookNow()
        for (const work of then) attempt(work)
        if (glance?.() === true) expect(lookNow()).toEqual(before)
      },
    ),
    { numRuns: 200 },
  )
})
