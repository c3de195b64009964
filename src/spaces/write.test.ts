import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ItemFile } from '../store/store.ts'
import { scan, stampAt } from './scan.ts'
import type { ItemWrite } from './write.ts'
import { removeItem, targetOf, writeItem } from './write.ts'

let project: string
let root: string
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'kiwi-write-'))
  root = join(project, '.ai')
})
afterEach(() => rmSync(project, { recursive: true, force: true }))

const TEXT = 'tool_id: a\ntool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: d\n'
const file = (path: string, text = path, isExecutable = false): ItemFile => ({
  path,
  content: Buffer.from(text),
  isExecutable,
})
const FILES = [file('main.sh', '#!/bin/sh', true), file('lib/part.sh')]

interface Given {
  readonly within?: string | null
  readonly id?: string
  readonly category?: string
  readonly isDocument?: boolean
  readonly text?: string
  readonly files?: readonly ItemFile[]
  readonly overwrite?: boolean
  readonly stamp?: string | null
}

function order(given: Given = {}): ItemWrite {
  const { id = 'a', isDocument = false, text = TEXT, files = [], category, within = project } = given
  const isFolder = !isDocument && (files.length > 0 || id.toLowerCase() === 'tool')
  const manifest = file(isFolder ? 'tool.yaml' : `${id}.${isDocument ? 'md' : 'yaml'}`, text)
  const folders = [isDocument ? 'knowledge' : 'tools', ...(category?.split('/') ?? [])]
  const path = [...folders, isFolder ? id : manifest.path].join('/')
  return { id, root, within, path, isFolder, manifest, files, replaces: replacesOf(given) }
}

function replacesOf({ overwrite = false, stamp }: Given): ItemWrite['replaces'] {
  if (stamp !== undefined) return { stamp }
  return overwrite ? 'any' : 'nothing'
}

const write = (given: Given = {}): Promise<string> => writeItem(order(given), async (work) => work())

function put(path: string, text = 'x'): string {
  const at = join(root, path)
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, text)
  return at
}

/** Every file below a folder with its text, hidden ones too. */
function tree(folder: string): Readonly<Record<string, string>> {
  if (!existsSync(folder)) return {}
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => !entry.isDirectory(),
  )
  return Object.fromEntries(
    files.map(({ parentPath, name }) => [
      join(parentPath, name).slice(folder.length + 1),
      readFileSync(join(parentPath, name), 'utf8'),
    ]),
  )
}

function remove(path: string): Promise<readonly string[]> {
  const entry = scan(root).get(path)
  if (entry === undefined) throw new Error(`nothing at ${path}`)
  return removeItem(path, entry.kind === 'folder', null)
}

describe('where an item goes', () => {
  test.each<readonly [Given, string, string]>([
    [{}, 'tools/a.yaml', 'tools/a.yaml'],
    [{ category: 'web/mail' }, 'tools/web/mail/a.yaml', 'tools/web/mail/a.yaml'],
    [{ files: FILES }, 'tools/a', 'tools/a/tool.yaml'],
    [{ category: 'web', files: FILES }, 'tools/web/a', 'tools/web/a/tool.yaml'],
    [{ isDocument: true, category: 'api' }, 'knowledge/api/a.md', 'knowledge/api/a.md'],
    [{ id: 'dotted.name' }, 'tools/dotted.name.yaml', 'tools/dotted.name.yaml'],
    [{ id: 'tool' }, 'tools/tool', 'tools/tool/tool.yaml'],
    [{ id: 'Tool', category: 'web' }, 'tools/web/Tool', 'tools/web/Tool/tool.yaml'],
    [{ id: 'tool', isDocument: true }, 'knowledge/tool.md', 'knowledge/tool.md'],
  ])('%j: %s', async (given, target, manifest) => {
    expect(targetOf(order(given))).toBe(join(root, target))
    expect(await write(given)).toBe(join(root, manifest))
    expect(readFileSync(join(root, manifest), 'utf8')).toBe(TEXT)
  })

  test('S5, T9: what was written is found again, with all its files, bytes and modes', async () => {
    const path = await write({ category: 'web', files: FILES })
    const entry = scan(root).get(path)
    expect(entry).toMatchObject({ stem: 'a', category: 'web', kind: 'folder' })
    expect(tree(root)).toEqual({
      'tools/web/a/tool.yaml': TEXT,
      'tools/web/a/main.sh': '#!/bin/sh',
      'tools/web/a/lib/part.sh': 'lib/part.sh',
    })
    expect(statSync(join(dirname(path), 'main.sh')).mode & 0o100).toBe(0o100)
    expect(statSync(join(dirname(path), 'lib/part.sh')).mode & 0o111).toBe(0)
  })

  test.each<readonly [Given]>([
    [{ category: 'lib' }],
    [{ category: 'web/node_modules' }],
    [{ category: 'primitives', files: FILES }],
    [{ id: 'lib', files: FILES }],
  ])('a folder whose tools are never found is refused: %j', async (given) => {
    await expect(write(given)).rejects.toMatchObject({ code: 'INVALID_MANIFEST' })
    expect(tree(project)).toEqual({})
  })

  test('a library is no bad place for a document, and lib no bad name for a manifest', async () => {
    await write({ category: 'lib', isDocument: true })
    await write({ id: 'lib' })
    expect(scan(root).size).toBe(2)
  })
})

describe('CONFLICT: what is there is not replaced', () => {
  test.each<readonly [string, string, Given]>([
    ['a file', 'tools/a.yaml', {}],
    ['a folder', 'tools/a/tool.yaml', { files: FILES }],
    ['a folder that is no item', 'tools/a/other.yaml', { files: FILES }],
    ['a document', 'knowledge/a.md', { isDocument: true }],
    ['a file where a folder should be', 'tools/a', { files: FILES }],
    ['a folder where a file should be', 'tools/a.yaml/x', {}],
    ['a file where a folder above should be', 'tools/web', { category: 'web' }],
    ['a file where the space should be', 'tools', {}],
    ['the folder of another item', 'tools/web/tool.yaml', { category: 'web' }],
    ['the folder of another item further up', 'tools/web/tool.yaml', { category: 'web/mail', files: FILES }],
  ])('%s', async (_, there, given) => {
    put(there, 'before')
    await expect(write(given)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(root),
    })
    expect(tree(project)).toEqual({ [`.ai/${there}`]: 'before' })
  })

  test('a link that leads nowhere counts as something', async () => {
    mkdirSync(join(root, 'tools'), { recursive: true })
    symlinkSync(join(project, 'nowhere'), join(root, 'tools', 'a.yaml'))
    await expect(write()).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(existsSync(join(project, 'nowhere'))).toBe(false)
  })

  test('of many that write at once one wins, whole, and the others are told', async () => {
    for (const files of [[], FILES]) {
      const ends = await Promise.allSettled(
        Array.from({ length: 20 }, (_, n) => write({ files, text: `${TEXT}# ${n}\n` })),
      )
      const failed = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
      expect(failed.length).toBe(19)
      for (const reason of failed) expect(reason).toMatchObject({ code: 'CONFLICT' })
    }
    expect(Object.keys(tree(root)).toSorted()).toEqual([
      'tools/a.yaml',
      'tools/a/lib/part.sh',
      'tools/a/main.sh',
      'tools/a/tool.yaml',
    ])
  })
})

describe('with leave to overwrite', () => {
  test('a manifest and a document are replaced', async () => {
    put('tools/a.yaml', 'before')
    put('knowledge/a.md', 'before')
    await write({ overwrite: true })
    await write({ overwrite: true, isDocument: true, text: 'new' })
    expect(tree(root)).toEqual({ 'tools/a.yaml': TEXT, 'knowledge/a.md': 'new' })
  })

  test('a folder is replaced whole: no file of the old one is left', async () => {
    put('tools/a/tool.yaml', 'before')
    put('tools/a/old.sh', 'before')
    await write({ overwrite: true, files: [file('main.sh')] })
    expect(tree(root)).toEqual({ 'tools/a/tool.yaml': TEXT, 'tools/a/main.sh': 'main.sh' })
  })

  test('a link is replaced, not followed', async () => {
    const outside = join(project, 'outside')
    writeFileSync(outside, 'before')
    mkdirSync(join(root, 'tools'), { recursive: true })
    symlinkSync(outside, join(root, 'tools', 'a.yaml'))
    await write({ overwrite: true })
    expect(readFileSync(outside, 'utf8')).toBe('before')
    expect(lstatSync(join(root, 'tools', 'a.yaml')).isSymbolicLink()).toBe(false)
  })

  test.each<readonly [string, string, Given]>([
    ['a category with other items in it', 'tools/a/other.yaml', { files: FILES }],
    ['a plain file in the place of the folder', 'tools/a', { files: FILES }],
    ['a folder in the place of the manifest', 'tools/a.yaml/x', {}],
  ])('%s is not replaced all the same', async (_, there, given) => {
    put(there, 'before')
    await expect(write({ overwrite: true, ...given })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(tree(root)).toEqual({ [there]: 'before' })
  })
})

describe('R-01: whoever is killed, and whoever else writes', () => {
  const AFTER = [file('main.sh', 'after')]
  const entry = (): { path: string; stem: string } | undefined => [...scan(root).values()][0]
  const folderStamp = (path: string): string | null => stampAt({ path, kind: 'folder', beside: [] })

  test('a folder that went aside is found while its place is empty, and the next writer puts it back first', async () => {
    const path = await write({ files: FILES })
    const stamp = folderStamp(path)
    const aside = join(root, 'tools', '.a.01234567-0123-0123-0123-0123456789ab.old')
    renameSync(dirname(path), aside)
    expect(entry()).toMatchObject({ path: join(aside, 'tool.yaml'), stem: 'a' })
    await expect(write({ files: AFTER })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(entry()).toMatchObject({ path, stem: 'a' })
    renameSync(dirname(path), aside)
    await write({ files: AFTER, stamp })
    expect(tree(root)).toEqual({ 'tools/a/tool.yaml': TEXT, 'tools/a/main.sh': 'after' })
    expect(readdirSync(join(root, 'tools'))).toEqual(['a'])
  })

  test('of several that went aside the last one is what is there; what is old goes with the next write', async () => {
    const aside = (id: string): string => `tools/.a.${id}-0123-0123-0123-0123456789ab.old`
    put(`${aside('01234567')}/tool.yaml`, 'long ago')
    // The clock of a file system goes in steps.
    await new Promise((resolve) => void setTimeout(resolve, 30))
    put('tools/a/tool.yaml', TEXT)
    renameSync(join(root, 'tools/a'), join(root, aside('00000000')))
    expect([...scan(root).values()]).toMatchObject([{ path: join(root, aside('00000000'), 'tool.yaml') }])
    await write({ files: AFTER, overwrite: true })
    expect(tree(root)).toEqual({ 'tools/a/tool.yaml': TEXT, 'tools/a/main.sh': 'after' })
    expect(readdirSync(join(root, 'tools'))).toEqual(['a'])
  })

  test('what was not there yet, or no longer, is never an item, and goes after an hour', async () => {
    const hidden = put('tools/.a.01234567-0123-0123-0123-0123456789ab.tmp/tool.yaml', TEXT)
    const fresh = put('tools/.a.11234567-0123-0123-0123-0123456789ab.tmp/tool.yaml', TEXT)
    expect(scan(root).size).toBe(0)
    utimesSync(dirname(hidden), 0, 0)
    await write({ files: FILES })
    expect([existsSync(hidden), existsSync(fresh)]).toEqual([false, true])
  })

  test('a change for what is there no longer is refused, for a file and for a folder', async () => {
    for (const files of [[], FILES]) {
      const path = await write({ files })
      const stamp = files.length > 0 ? folderStamp(path) : stampAt({ path, kind: 'manifest', beside: [] })
      await write({ files, text: `${TEXT}# one\n`, stamp })
      const refused = write({ files, text: `${TEXT}# two\n`, stamp })
      await expect(refused).rejects.toMatchObject({ code: 'CONFLICT', retryable: true })
      expect(readFileSync(path, 'utf8')).toBe(`${TEXT}# one\n`)
      rmSync(files.length > 0 ? dirname(path) : path, { recursive: true })
      await expect(write({ files, stamp })).rejects.toMatchObject({ code: 'CONFLICT' })
    }
  })
})

describe('T9, ZIP-01, FS-03: nothing leads out', () => {
  test('one bad path refuses the whole item before anything is written', async () => {
    for (const path of ['../x', '/x', 'a/../../x', 'tool.yaml', 'C:\\x', 'a\0b']) {
      await expect(write({ files: [file('good.sh'), file(path)] })).rejects.toMatchObject({
        code: 'INVALID_MANIFEST',
      })
    }
    expect(existsSync(root)).toBe(false)
  })

  let outside: string
  beforeEach(() => {
    outside = mkdtempSync(join(tmpdir(), 'kiwi-outside-'))
  })
  afterEach(() => rmSync(outside, { recursive: true, force: true }))

  test.each(['.ai', '.ai/tools', '.ai/tools/web'])(
    'a link %s to the outside is refused, and nothing is made there',
    async (link) => {
      mkdirSync(dirname(join(project, link)), { recursive: true })
      symlinkSync(outside, join(project, link))
      await expect(write({ category: 'web/mail' })).rejects.toMatchObject({
        code: 'PERMISSION_DENIED',
        details: { layer: 'machine', rule: 'inside-project', op: 'write' },
      })
      expect(readdirSync(outside)).toEqual([])
    },
  )

  test('a link to a folder outside that is not there yet makes none', async () => {
    symlinkSync(join(outside, 'new'), root)
    await expect(write()).rejects.toMatchObject({ code: expect.stringMatching(/^[A-Z_]+$/) })
    expect(readdirSync(outside)).toEqual([])
  })

  test('a link that stays in the project is fine, and so is a project behind a link', async () => {
    mkdirSync(join(project, 'real'))
    symlinkSync(join(project, 'real'), root)
    await write()
    expect(tree(join(project, 'real'))).toEqual({ 'tools/a.yaml': TEXT })
    const linked = join(outside, 'project')
    symlinkSync(project, linked)
    root = join(linked, '.ai')
    await write({ within: linked, id: 'b' })
    expect(existsSync(join(project, 'real', 'tools', 'b.yaml'))).toBe(true)
  })

  test('a neighbour whose name only begins alike is outside', async () => {
    const neighbour = `${project}-neighbour`
    mkdirSync(neighbour)
    symlinkSync(neighbour, root)
    await expect(write()).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    rmSync(neighbour, { recursive: true })
  })

  test('in their own space people may link as they like', async () => {
    symlinkSync(outside, root)
    await write({ within: null })
    expect(tree(outside)).toEqual({ 'tools/a.yaml': TEXT })
  })

  test('the root of the disk is a project like any other', async () => {
    await write({ within: '/' })
    expect(tree(root)).toEqual({ 'tools/a.yaml': TEXT })
  })
})

test('nothing half-written is left when a file cannot be written', async () => {
  // So far down that a short path still fits into what the system takes, and a long one does not.
  root = join(project, ...Array.from({ length: 13 }, () => 'd'.repeat(240)), '.ai')
  put('tools/a/tool.yaml', 'before')
  const bad = file(`${'e'.repeat(200)}/`.repeat(5).slice(0, -1))
  await expect(write({ overwrite: true, files: [file('a.sh'), bad] })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  })
  await expect(write({ id: 'b', files: [file('a.sh'), bad] })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  })
  expect(tree(root)).toEqual({ 'tools/a/tool.yaml': 'before' })
  expect(readdirSync(join(root, 'tools'))).toEqual(['a'])
})

describe('removing', () => {
  test('takes a manifest, a document or a whole folder, and nothing beside it', async () => {
    const paths = [
      await write(),
      await write({ id: 'b', category: 'web', files: FILES }),
      await write({ id: 'c', isDocument: true, text: 'hello' }),
    ]
    put('tools/web/other.yaml', TEXT)
    for (const path of paths) await remove(path)
    expect(tree(root)).toEqual({ 'tools/web/other.yaml': TEXT })
  })

  test('an item called tool takes nothing with it', async () => {
    put('tools/other.yaml', TEXT)
    await remove(await write({ id: 'tool' }))
    expect(tree(root)).toEqual({ 'tools/other.yaml': TEXT })
  })

  test('what has left its place is removed, though its remains cannot all be cleared away', async () => {
    const path = await write({ files: FILES })
    // The longest path there can be: under the longer name that remains have, the system no longer takes it.
    let deep = dirname(path)
    while (deep.length < 3900) deep = join(deep, 'd'.repeat(100))
    deep = join(deep, 'd'.repeat(4090 - deep.length))
    mkdirSync(deep, { recursive: true })
    const left = await remove(path)
    expect(left).toEqual([expect.stringContaining('remains')])
    expect(scan(root).size).toBe(0)
    const [hidden = ''] = readdirSync(join(root, 'tools'))
    expect(left[0]).toContain(hidden)
    renameSync(join(root, 'tools', hidden), join(root, 'tools', 'a'))
  })

  test('what is already gone is NOT_FOUND', async () => {
    const path = await write()
    rmSync(path)
    await expect(removeItem(path, false, null)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
