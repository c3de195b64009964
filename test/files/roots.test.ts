import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field, listField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
let outside: string
beforeAll(async () => {
  temp = await openTempKiwi()
  outside = join(temp.folder, 'outside')
  for (const folder of ['inside/a.b..c', 'docs', 'nest/private'])
    mkdirSync(join(temp.project, folder), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(outside, 'secret'), 'canary')
  for (const file of ['inside/a.b..c/file.txt', '..hidden', 'docs/read.md', 'nest/private/key']) {
    writeFileSync(join(temp.project, file), 'word')
  }
  symlinkSync(outside, join(temp.project, 'out'))
  symlinkSync(join(outside, 'secret'), join(temp.project, 'link'))
  for (let at = 0; at < 5; at++) symlinkSync(`l${at + 1}`, join(temp.project, `l${at}`))
  symlinkSync(outside, join(temp.project, 'l5'))
  mkdirSync(join(temp.config.userSpace, 'config'), { recursive: true })
  writeFileSync(
    join(temp.config.userSpace, 'config/agent_harness.yaml'),
    `mode: proxy
internal_tools:
  filesystem:
    enabled: true
    allowed_paths: ['\${PROJECT_PATH}']
    read_only_paths: ['\${PROJECT_PATH}/docs']
rules:
  - { op: read, match: { path: 'nest/private/key' }, effect: deny }
  - { op: write, match: { path: 'nest/private/key' }, effect: deny }
`,
  )
})
afterAll(() => temp.close())

const use = (tool: string, parameters: object): ReturnType<TempKiwi['run']> =>
  temp.run(`filesystem.${tool}`, parameters)
const DENIED = { status: 'error', error: { code: 'PERMISSION_DENIED' } }
const DONE = { status: 'success' }

test.each([
  '../outside/secret',
  '../../etc/passwd',
  '/etc/passwd',
  '/home/../etc/passwd',
  'inside//a.b..c/../../../outside/secret',
  '../outside/secret/.',
  '../outside/secret.',
  '../outside/secret ',
  '../outside/../outside/./secret',
  'a//b/../../..',
  '..',
  ' /../../outside/secret',
])('FS-01: reading %j is denied, and nothing of it comes back', async (path) => {
  const reply = await use('read', { path })
  expect(reply).toMatchObject(DENIED)
  expect(JSON.stringify(reply)).not.toContain('canary')
})

test.each(['out/secret', 'link', 'out', 'l0', 'l0/secret', 'inside/../out/./secret'])(
  'FS-03: the link %j leads outside and is denied',
  async (path) => {
    for (const [tool, more] of [
      ['read', {}],
      ['list', {}],
      ['search', { pattern: 'a' }],
      ['write', { content: 'x' }],
    ] as const) {
      expect(await use(tool, { path, ...more }), tool).toMatchObject(DENIED)
    }
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('canary')
  },
)

test.each(['inside/a.b..c/file.txt', '..hidden'])('BEN-01: %j is read', async (path) => {
  expect(await use('read', { path })).toMatchObject(DONE)
})

test('FS-09: a move is denied from the inside out and from the outside in; so is what is only to be read', async () => {
  expect(await use('move', { path: '..hidden', to: '../outside/x' })).toMatchObject(DENIED)
  expect(await use('move', { path: '../outside/secret', to: 'x' })).toMatchObject(DENIED)
  expect(await use('list', { path: '../outside' })).toMatchObject(DENIED)
  expect(await use('read', { path: 'docs/read.md' })).toMatchObject(DONE)
  for (const [tool, more] of [
    ['write', { content: '' }],
    ['delete', {}],
    ['move', { to: 'y' }],
  ] as const) {
    expect(await use(tool, { path: 'docs/read.md', ...more }), tool).toMatchObject(DENIED)
  }
  expect(readdirSync(outside)).toEqual(['secret'])
})

describe('what a folder holds', () => {
  test('FS-09: is not deleted or moved with it when a rule protects it', async () => {
    writeFileSync(join(temp.project, 'nest/private/more'), '')
    expect(await use('delete', { path: 'nest', recursive: true })).toMatchObject(DENIED)
    expect(await use('move', { path: 'nest', to: 'inside/p' })).toMatchObject(DENIED)
    expect(existsSync(join(temp.project, 'nest/private/key'))).toBe(true)
  })

  test('FS-09: is neither listed nor found when it may not be read', async () => {
    const listed = field((await use('list', { path: '.', depth: 3 })).data, 'output')
    const paths = listField(listed, 'entries').map((entry) => field(entry, 'path'))
    expect(paths).toContain('docs/read.md')
    expect(paths).not.toContain('nest/private/key')
    const found = field((await use('search', { path: '.', pattern: 'word' })).data, 'output')
    const places = listField(found, 'matches').map((match) => field(match, 'path'))
    expect(places).toContain('docs/read.md')
    expect(places).not.toContain('nest/private/key')
  })
})
