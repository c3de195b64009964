import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Sources } from './laws.ts'
import { ROOMS, broken } from './laws.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const sources: Sources = new Map(
  readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.test.ts'))
    .map((file) => [file, read(`src/${file}`)]),
)
const faults = broken(sources)

test('every file is in a known room, and the rooms can be held in the head', () => {
  expect(faults['rooms']).toEqual([])
  expect(ROOMS.filter((name) => !name.endsWith('.ts')).length).toBeLessThanOrEqual(14)
})

test('imports only point down', () => {
  expect(faults['direction']).toEqual([])
})

test('side effects have one door', () => {
  expect(faults['door']).toEqual([])
})

test('what reaches the world stays in its room', () => {
  expect(faults['world']).toEqual([])
})

test('every import can be read off the page', () => {
  expect(faults['readable']).toEqual([])
})

test('ARCHITECTURE.md draws the same rooms in the same order', () => {
  const [, drawing = ''] = /^├── src\/.*\n((?:│.*\n)+)/m.exec(read('ARCHITECTURE.md')) ?? []
  const drawn = [...drawing.matchAll(/^│ {3}[├└]── ([\w.-]+)/gm)].map(([, name]) => name)
  expect(drawn).toEqual(ROOMS)
})

describe('a planted violation is found', () => {
  const planted = (file: string, text: string): ReturnType<typeof broken> =>
    broken(new Map([...sources, [file, text]]))

  test.each([
    ['a room nobody knows', 'rooms', 'helpers/x.ts', ''],
    ['an import that points up', 'direction', 'store/x.ts', "import { openKiwi } from '../kiwi.ts'"],
    [
      'a type that is imported from above',
      'direction',
      'chain/x.ts',
      "import type { Meta } from '../meta/meta.ts'",
    ],
    ['a way round the gate', 'door', 'meta/x.ts', "import { openChain } from '../chain/chain.ts'"],
    ['a way round the gate at run time', 'door', 'items/x.ts', "await import('../primitives/subprocess.ts')"],
    [
      'a writer that is not the kernel',
      'door',
      'commands/x.ts',
      "export { writeItem } from '../spaces/write.ts'",
    ],
    ['a process started elsewhere', 'world', 'kernel/x.ts', "import { spawn } from 'node:child_process'"],
    ['a request sent elsewhere', 'world', 'search/x.ts', "const { request } = await import('undici')"],
    [
      'a client that starts processes',
      'world',
      'upstream/x.ts',
      "import { x } from '@modelcontextprotocol/client/stdio'",
    ],
    ['an import with a computed name', 'readable', 'shared/x.ts', 'await import(name)'],
    ['an import with a name put together', 'readable', 'shared/x.ts', "await import('node:' + name)"],
    ['a module under its bare name', 'world', 'kernel/x.ts', "import { spawn } from 'child_process'"],
    ['a name looked up elsewhere', 'world', 'chain/x.ts', "import { lookup } from 'node:dns/promises'"],
    ['an import of a file that is not there', 'readable', 'shared/x.ts', "import { x } from './y.ts'"],
  ])('%s', (_, law, file, text) => {
    expect(planted(file, text)[law]?.length).toBe(1)
  })
})
