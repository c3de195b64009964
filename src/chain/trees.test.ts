import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { readEnvironment } from '../config/environment.ts'
import { openSubprocess } from '../primitives/subprocess/subprocess.ts'
import { systemClock } from '../shared/clock.ts'
import { sha256 } from '../shared/json.ts'
import type { PathChange } from '../store/undo.ts'
import type { TreeChanges } from './tree-changes.ts'
import { openTrees } from './trees.ts'

let folder: string
let project: string
const { PATH = '' } = readEnvironment()
const subprocess = openSubprocess({ clock: systemClock })

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'kiwi-trees-')))
  project = join(folder, 'project')
  mkdirSync(join(folder, 'home'))
  mkdirSync(project)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const open = (environment: Readonly<Record<string, string>> = {}, bounds = { files: 20_000, bytes: 1e9 }) =>
  openTrees({
    bounds,
    subprocess,
    config: loadConfig({ PATH, HOME: join(folder, 'home'), ...environment }),
    clock: systemClock,
    isNeeded: () => Promise.resolve(false),
  })

function write(path: string, text: string | Uint8Array, mode = 0o644): void {
  const file = join(project, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
}

function git(...args: readonly string[]): void {
  const env = { PATH, HOME: join(folder, 'home') }
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: project, env })
}

function commitAll(): void {
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'first')
}

/** Every file below a folder with its time, mode and bytes. */
function stateOf(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => {
      const stats = lstatSync(join(root, name))
      const content = stats.isFile() ? sha256(readFileSync(join(root, name))) : ''
      return `${name} ${stats.mode} ${stats.mtimeMs} ${content}`
    })
}

async function changesOf(work: () => void, trees = open()): Promise<TreeChanges> {
  const begun = await trees.begin(project, 'call')
  if ('why' in begun) throw new Error(begun.why)
  work()
  return begun.finish()
}

const short = ({ changes }: TreeChanges): Record<string, string> =>
  Object.fromEntries(
    changes.map(({ path, before, after }) => [
      path.slice(project.length + 1),
      `${show(before)} -> ${show(after)}`,
    ]),
  )

function show(entry: PathChange['after']): string {
  if (entry === null) return '?'
  switch (entry.kind) {
    case 'absent':
      return 'absent'
    case 'link':
      return `link ${entry.target}`
    case 'folder':
      return `folder ${entry.mode.toString(8)}`
    case 'file':
      return `${entry.mode.toString(8)} ${entry.hash.slice(0, 8)}`
  }
}
const file = (text: string | Uint8Array, mode = '644') => `${mode} ${sha256(text).slice(0, 8)}`

const BINARY = Uint8Array.from({ length: 5000 }, (_, at) => (at * 7) % 256)

/** Everything a program may do to a folder. */
function disturb(): void {
  write('src/a.txt', 'changed\n')
  write('made/new.txt', 'new')
  rmSync(join(project, 'src/binary'))
  chmodSync(join(project, 'private.txt'), 0o600)
  rmSync(join(project, 'link'))
  symlinkSync('elsewhere', join(project, 'link'))
  rmSync(join(project, 'bare'), { recursive: true })
  mkdirSync(join(project, 'fresh'))
  renameSync(join(project, 'moved'), join(project, 'away'))
}

function prepare(): void {
  write('src/a.txt', 'first\n')
  write('src/binary', BINARY, 0o755)
  write('private.txt', 'mine', 0o640)
  write('moved/b.txt', 'b')
  write('same.txt', 'same')
  symlinkSync('src/a.txt', join(project, 'link'))
  mkdirSync(join(project, 'bare'), { mode: 0o755 })
}

const EXPECTED = {
  'src/a.txt': `${file('first\n')} -> ${file('changed\n')}`,
  'src/binary': `${file(BINARY, '755')} -> absent`,
  'made/new.txt': `absent -> ${file('new')}`,
  made: 'absent -> folder 755',
  fresh: 'absent -> folder 755',
  bare: 'folder 755 -> absent',
  'private.txt': `${file('mine', '640')} -> ${file('mine', '600')}`,
  link: 'link src/a.txt -> link elsewhere',
  moved: 'folder 755 -> absent',
  'moved/b.txt': `${file('b')} -> absent`,
  away: 'absent -> folder 755',
  'away/b.txt': `absent -> ${file('b')}`,
}

test('H4: what a program changes in a repository is found, with the bytes from before; its .git stays as it was', async () => {
  prepare()
  commitAll()
  const before = stateOf(join(project, '.git'))
  const found = await changesOf(disturb)
  expect(short(found)).toEqual(EXPECTED)
  const kept = new Map(found.bytes.map(({ hash, bytes }) => [hash, Buffer.from(bytes)]))
  expect(kept.get(sha256('first\n'))?.toString()).toBe('first\n')
  expect(kept.get(sha256(BINARY))?.equals(Buffer.from(BINARY))).toBe(true)
  expect(stateOf(join(project, '.git'))).toEqual(before)
})

test('H4: the same in a folder that is no repository, and again the next time', async () => {
  prepare()
  const trees = open()
  expect(short(await changesOf(disturb, trees))).toEqual(EXPECTED)
  expect(existsSync(join(project, '.git'))).toBe(false)
  expect(short(await changesOf(() => undefined, trees))).toEqual({})
  expect(short(await changesOf(() => write('src/a.txt', 'third\n'), trees))).toEqual({
    'src/a.txt': `${file('changed\n')} -> ${file('third\n')}`,
  })
})

test('H4: empty folders in one of which nothing was known before are not taken for new ones', async () => {
  write('known.txt', 'known')
  commitAll()
  write('fresh/config/a.txt', 'a')
  mkdirSync(join(project, 'fresh/empty'), { mode: 0o755 })
  expect(short(await changesOf(() => write('fresh/b.txt', 'b')))).toEqual({
    'fresh/b.txt': `absent -> ${file('b')}`,
  })
})

test('H4: what was staged, changed or new before counts as it lay there, not as git has it', async () => {
  prepare()
  commitAll()
  write('src/a.txt', 'staged\n')
  git('add', 'src/a.txt')
  write('src/a.txt', 'on disk\n')
  write('untracked.txt', 'u')
  const found = await changesOf(() => {
    git('commit', '-qm', 'second')
    write('src/a.txt', 'changed\n')
    rmSync(join(project, 'untracked.txt'))
  })
  expect(short(found)).toEqual({
    'src/a.txt': `${file('on disk\n')} -> ${file('changed\n')}`,
    'untracked.txt': `${file('u')} -> absent`,
  })
})

test('CMD-04: nothing that a repository configures runs, and bytes are kept as they lie there', async () => {
  prepare()
  const canary = join(folder, 'canary')
  write('.gitattributes', '* text=auto eol=crlf filter=evil ident\n')
  write('lines.txt', 'a\r\nb\n$Id$\n')
  commitAll()
  for (const [key, value] of Object.entries({
    'filter.evil.clean': `touch ${canary}; cat`,
    'filter.evil.smudge': `touch ${canary}; cat`,
    'core.fsmonitor': `touch ${canary}`,
    'core.hooksPath': join(project, '.git/hooks'),
    'core.autocrlf': 'true',
  }))
    git('config', key, value)
  writeFileSync(join(project, '.git/hooks/post-index-change'), `#!/bin/sh\ntouch ${canary}\n`, {
    mode: 0o755,
  })
  const found = await changesOf(() => write('lines.txt', 'gone'))
  expect(existsSync(canary)).toBe(false)
  expect(short(found)).toEqual({ 'lines.txt': `${file('a\r\nb\n$Id$\n')} -> ${file('gone')}` })
})

test('H4: where git converts bytes, an unchanged file is kept as it lies there', async () => {
  write('lines.txt', 'a\r\nb\r\n')
  write('.gitattributes', '* text=auto\n')
  commitAll()
  const found = await changesOf(() => rmSync(join(project, 'lines.txt')))
  expect(short(found)).toEqual({ 'lines.txt': `${file('a\r\nb\r\n')} -> absent` })
})

test('H4: ignored files are not covered; large ones that git does not track are named', async () => {
  write('.gitignore', 'ignored\n')
  write('tracked.bin', new Uint8Array(3_000_000))
  commitAll()
  write('large.bin', new Uint8Array(3_000_000))
  write('ignored', 'x')
  const trees = open()
  const begun = await trees.begin(project, 'call')
  if ('why' in begun) throw new Error(begun.why)
  expect(begun.skipped).toEqual([expect.stringMatching(/^large\.bin: git does not track it/)])
  for (const path of ['large.bin', 'tracked.bin', 'ignored']) rmSync(join(project, path))
  expect(short(await begun.finish())).toEqual({
    'tracked.bin': `${file(new Uint8Array(3_000_000))} -> absent`,
  })
})

test('H4: a file that grows too large later is forgotten rather than restored to what it once was', async () => {
  write('log.txt', 'small')
  const trees = open()
  await changesOf(() => undefined, trees)
  write('log.txt', new Uint8Array(3_000_000))
  expect(short(await changesOf(() => rmSync(join(project, 'log.txt')), trees))).toEqual({})
})

test('H4: a project inside of a repository is covered by itself, with the ignore rules above it', async () => {
  const root = project
  write('.gitignore', 'skip\n')
  write('packages/a/a.txt', 'a')
  write('other.txt', 'o')
  commitAll()
  project = join(root, 'packages/a')
  const found = await changesOf(() => {
    writeFileSync(join(root, 'other.txt'), 'changed')
    write('skip', 'x')
    write('a.txt', 'changed')
  })
  expect(short(found)).toEqual({ 'a.txt': `${file('a')} -> ${file('changed')}` })
})

test('H4: a second work tree and an index in a form of its own are covered too', async () => {
  prepare()
  commitAll()
  git('update-index', '--split-index')
  expect(short(await changesOf(disturb))).toEqual(EXPECTED)
  git('worktree', 'add', '-q', '../second', 'HEAD')
  project = join(folder, 'second')
  expect(short(await changesOf(() => write('src/a.txt', 'x')))).toEqual({
    'src/a.txt': `${file('first\n')} -> ${file('x')}`,
  })
})

test('H4: home and root are refused; without git it is said', async () => {
  expect(await open().begin('/', 'c')).toMatchObject({ why: expect.stringContaining('more than a project') })
  expect(await open().begin(join(folder, 'home'), 'c')).toMatchObject({
    why: expect.stringContaining('home'),
  })
  expect(await open().begin(folder, 'c')).toMatchObject({
    why: expect.stringContaining('more than a project'),
  })
  expect(await open({ PATH: '/nowhere' }).begin(project, 'c')).toEqual({ why: 'git is not installed' })
})

test('H4: after a call that was cut off, what is otherwise than before can be told', async () => {
  prepare()
  const begun = await open().begin(project, 'lost')
  expect(begun).not.toHaveProperty('why')
  disturb()
  const found = await open().recover(project, 'lost')
  if ('why' in found) throw new Error(found.why)
  expect(Object.keys(short(found))).toEqual(
    expect.arrayContaining(['src/a.txt', 'made/new.txt', 'src/binary']),
  )
  expect(found.changes.every(({ after }) => after === null)).toBe(true)
  expect(found.bytes.map(({ bytes }) => Buffer.from(bytes).toString())).toContain('first\n')
  expect(await open().recover(project, 'never')).toHaveProperty('why')
})

test('H4: a shadow that has grown enough is made anew', async () => {
  prepare()
  const trees = open()
  await changesOf(() => undefined, trees)
  const place = join(folder, 'home/.cache/kiwi/trees')
  const [shadow = ''] = readdirSync(place)
  writeFileSync(join(place, shadow, 'grown'), '30000 1000')
  expect(short(await changesOf(() => write('same.txt', 'x'), trees))).toHaveProperty(['same.txt'])
  expect(readdirSync(place)).toEqual([])
  expect(short(await changesOf(() => write('same.txt', 'y'), trees))).toHaveProperty(['same.txt'])
})

test('H4: more than is kept is refused before the call, and the project is left as it is', async () => {
  prepare()
  const before = stateOf(project)
  for (const bounds of [
    { files: 3, bytes: 1e9 },
    { files: 100, bytes: 1000 },
  ])
    expect(await open({}, bounds).begin(project, 'call')).toMatchObject({
      why: expect.stringContaining('more than'),
    })
  expect(stateOf(project)).toEqual(before)
})

test('H4: names that look like options, globs or two lines are names', async () => {
  for (const name of ['-rf', '*', 'a\nb', ':(top)x', 'ü']) write(name, name)
  const found = await changesOf(() => {
    for (const name of ['-rf', '*', 'a\nb', ':(top)x', 'ü']) write(name, 'changed')
  })
  expect(Object.keys(short(found)).toSorted()).toEqual(['*', '-rf', ':(top)x', 'a\nb', 'ü'].toSorted())
})

test('H4: a submodule is named as not covered, its folder comes back, and one that is empty is a folder', async () => {
  const other = join(folder, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 's.txt'), 's')
  const main = project
  project = other
  commitAll()
  project = main
  git('init', '-q')
  git('commit', '-q', '--allow-empty', '-m', 'first')
  for (const name of ['full', 'bare'])
    git('-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', other, name)
  git('commit', '-qm', 'second')
  git('submodule', 'deinit', '-q', '-f', 'bare')
  const begun = await open().begin(project, 'call')
  if ('why' in begun) throw new Error(begun.why)
  expect(begun.skipped).toEqual(['full: it is a repository of its own'])
  for (const name of ['full', 'bare']) rmSync(join(project, name), { recursive: true })
  const { changes, skipped } = await begun.finish()
  expect(
    changes.map(({ path, before, after }) => `${path} ${before.kind} ${after?.kind}`).toSorted(),
  ).toEqual(['bare', 'full'].map((name) => `${join(project, name)} folder absent`))
  expect(skipped).toEqual([])
})
