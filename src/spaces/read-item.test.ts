import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../shared/limits.ts'
import type { Item } from './item.ts'
import { readItem } from './read-item.ts'
import { scan } from './scan.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kiwi-read-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function put(path: string, content: string | Uint8Array): string {
  const at = join(root, path)
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, content)
  return at
}

/** Reads the one item that is there. */
async function readOnly(): Promise<Item> {
  const [entry] = scan(root).values()
  if (entry === undefined) throw new Error('nothing was found')
  return readItem(entry, 'project')
}

const MANIFEST = 'tool_id: a\ntool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: d\n'

async function contentsOf(item: Item): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries(
    (await item.files()).map(({ path, content }) => [path, Buffer.from(content).toString()]),
  )
}

describe('a manifest', () => {
  test('is read with its text, and where it lies is its category', async () => {
    const path = put('tools/web/a.yaml', MANIFEST)
    expect(await readOnly()).toMatchObject({
      id: 'a',
      space: 'project',
      path,
      manifest: { tool_id: 'a', category: 'web' },
      raw: {
        tool_id: 'a',
        tool_type: 'script',
        executor: 'bash_runtime',
        version: '1.0.0',
        description: 'd',
      },
      text: MANIFEST,
      warnings: [],
      isReserved: false,
      updatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    })
  })

  test('that names no id has that of its file; another one is told of', async () => {
    put('tools/other.json', '{"tool_type": "api", "version": "1.0.0", "description": "d"}')
    expect(await readOnly()).toMatchObject({ id: 'other', warnings: [] })
    rmSync(join(root, 'tools', 'other.json'))
    put('tools/other.yaml', MANIFEST)
    expect(await readOnly()).toMatchObject({ id: 'a', warnings: ['its file is named "other", not "a"'] })
  })

  test.each([
    ['broken YAML', 'a: [', 'PARSE_ERROR'],
    ['no mapping', '- a', 'PARSE_ERROR'],
    ['no type', 'tool_id: a', 'INVALID_MANIFEST'],
    ['too deep', `a: ${'['.repeat(1000)}`, 'TOO_DEEP'],
    ['too large', `# ${'x'.repeat(LIMITS.itemBytes)}`, 'MESSAGE_TOO_LARGE'],
  ])('that is %s is an error', async (_, text, code) => {
    put('tools/a.yaml', text)
    await expect(readOnly()).rejects.toMatchObject({ code, message: expect.stringContaining('a') })
  })

  test('PAR-12: what is not UTF-8 is refused and named', async () => {
    for (const bytes of [
      Buffer.from('tool_id: \xff\xfe', 'latin1'),
      Buffer.from(`\uFEFF${MANIFEST}`, 'utf16le'),
      Buffer.concat([Buffer.from(MANIFEST), Buffer.from([0xed, 0xa0, 0x80])]),
    ]) {
      const path = put('tools/a.yaml', bytes)
      await expect(readOnly()).rejects.toMatchObject({
        code: 'PARSE_ERROR',
        message: `Cannot read "${path}": it is not valid UTF-8`,
      })
    }
  })

  test('PAR-12, T4: a BOM and line ends are kept as they are on disk', async () => {
    const text = `\uFEFF${MANIFEST.replaceAll('\n', '\r\n')}`
    put('tools/a.yaml', text)
    const item = await readOnly()
    expect(item.text).toBe(text)
    expect(item.manifest.tool_id).toBe('a')
  })
})

describe('T9: a folder', () => {
  test('carries everything beside its tool.yaml, with modes', async () => {
    put('tools/a/tool.yaml', MANIFEST)
    chmodSync(put('tools/a/main.sh', '#!/bin/sh'), 0o755)
    put('tools/a/lib/part.sh', 'x')
    put('tools/a/lib/tool.yaml', 'y')
    put('tools/a/.env.example', 'z')
    const item = await readOnly()
    expect(await contentsOf(item)).toEqual({
      'main.sh': '#!/bin/sh',
      'lib/part.sh': 'x',
      'lib/tool.yaml': 'y',
      '.env.example': 'z',
    })
    const modes = (await item.files()).map(({ path, isExecutable }) => [path, isExecutable])
    expect(Object.fromEntries(modes)).toMatchObject({ 'main.sh': true, 'lib/part.sh': false })
  })

  test('its files come in one order on every disk', async () => {
    put('tools/a/tool.yaml', MANIFEST)
    for (const name of ['z', 'b', 'main.sh', 'a', 'B', 'main.py']) put(`tools/a/${name}`, name)
    expect((await (await readOnly()).files()).map(({ path }) => path)).toEqual([
      'B',
      'a',
      'b',
      'main.py',
      'main.sh',
      'z',
    ])
  })

  test('links in it are left out', async () => {
    put('tools/a/tool.yaml', MANIFEST)
    put('secret', 'hush')
    symlinkSync(join(root, 'secret'), join(root, 'tools', 'a', 'secret'))
    symlinkSync(root, join(root, 'tools', 'a', 'up'))
    expect(await contentsOf(await readOnly())).toEqual({})
  })

  test('with more files than an item may have is refused', async () => {
    put('tools/a/tool.yaml', MANIFEST)
    for (let n = 0; n <= LIMITS.bundleFiles; n++) writeFileSync(join(root, 'tools', 'a', `f${n}`), '')
    await expect(readOnly()).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' })
  })

  test('T11: the hash is of its content, not of its place or its comments', async () => {
    put('tools/a/tool.yaml', MANIFEST)
    put('tools/a/main.sh', 'x')
    const before = (await readOnly()).contentHash
    put('tools/a/tool.yaml', `# a comment\n${MANIFEST.split('\n').toReversed().join('\n')}\n`)
    expect((await readOnly()).contentHash).toBe(before)
    put('tools/a/main.sh', 'y')
    expect((await readOnly()).contentHash).not.toBe(before)
  })
})

describe('D16: a knowledge document', () => {
  test('with front matter has it as its manifest and the rest as its content', async () => {
    put(
      'knowledge/api/001-patterns.md',
      '---\nid: 001-patterns\ntitle: API patterns\nentry_type: pattern\nsource_url: https://x.test\ntags: [api, rest]\nversion: 1.0.0\n---\n# Heading\nText\n',
    )
    const item = await readOnly()
    expect(item.manifest).toMatchObject({
      tool_id: '001-patterns',
      tool_type: 'knowledge',
      executor: null,
      name: 'API patterns',
      description: 'API patterns',
      category: 'api',
      tags: ['api', 'rest'],
      version: '1.0.0',
      config: { entry_type: 'pattern', source_url: 'https://x.test' },
    })
    expect(await contentsOf(item)).toEqual({ 'content.md': '# Heading\nText\n' })
    expect(item.warnings).toEqual([])
  })

  test('without front matter is named by its heading, else by its file', async () => {
    const path = put('knowledge/note.md', 'Intro\n\n# The heading\nText')
    expect((await readOnly()).manifest).toMatchObject({
      tool_id: 'note',
      name: 'The heading',
      version: '0.0.0',
      config: { entry_type: 'learning' },
    })
    writeFileSync(path, 'Only text')
    const item = await readOnly()
    expect(item.manifest).toMatchObject({ tool_id: 'note', name: 'note', description: 'note' })
    expect(await contentsOf(item)).toEqual({ 'content.md': 'Only text' })
  })

  test.each<readonly [string, string, object, string]>([
    ['lines that end in CRLF', '---\r\ntitle: A\r\n---\r\nText\r\n', { name: 'A' }, 'Text\r\n'],
    ['a BOM', '\uFEFF---\ntitle: A\n---\nText', { name: 'A' }, 'Text'],
    ['a BOM before a heading', '\uFEFF# Title\nText', { name: 'Title' }, '\uFEFF# Title\nText'],
    ['empty front matter', '---\n---\nText\n---\nMore', { name: 'note' }, 'Text\n---\nMore'],
    ['front matter of comments', '---\n# nothing\n---\nText', { name: 'note' }, 'Text'],
    ['nothing below', '---\ntitle: A\n---', { name: 'A' }, ''],
    [
      'a line that only begins like the end',
      '---\ntitle: A\nnote: |-\n  x\n---\n---more',
      { name: 'A' },
      '---more',
    ],
    ['a rule in the text', 'Text\n\n---\n\nMore', { name: 'note' }, 'Text\n\n---\n\nMore'],
    ['a title that is a number', '---\ntitle: 2024\n---\nText', { name: '2024' }, 'Text'],
    [
      'keys of a manifest',
      '---\ndescription: D\nmutates_state: false\n---\nT',
      { description: 'D', mutates_state: false },
      'T',
    ],
    [
      'another type',
      '---\ntool_type: script\nexecutor: bash_runtime\n---\nT',
      { tool_type: 'knowledge', executor: null },
      'T',
    ],
  ])('with %s is read', async (_, text, manifest, content) => {
    put('knowledge/note.md', text)
    const item = await readOnly()
    expect(item.manifest).toMatchObject(manifest)
    expect(await contentsOf(item)).toEqual({ 'content.md': content })
    expect(item.text).toBe(text)
  })

  test('with broken front matter is an error at the line of the file', async () => {
    put('knowledge/note.md', '---\ntitle: A\ntags: [a\n---\nText')
    await expect(readOnly()).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringMatching(/line [34],/),
    })
    put('knowledge/note.md', '---\ntitle: A\ntitle: B\n---\nText')
    await expect(readOnly()).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringContaining('line 3,'),
    })
  })
})

describe('FS-07: what is no plain file is refused at once', () => {
  test('a pipe, a link and a folder in the place of a manifest', async () => {
    mkdirSync(join(root, 'tools', 'a'), { recursive: true })
    const path = join(root, 'tools', 'a', 'tool.yaml')
    const at = { path, stem: 'a', category: null, place: 'tools', kind: 'folder' } as const
    const entry = { ...at, beside: [], stamp: '', modified: 0 }
    const make: Readonly<Record<string, () => void>> = {
      pipe: () => void spawnSync('mkfifo', [path]),
      link: () => symlinkSync(put('real.yaml', MANIFEST), path),
      folder: () => mkdirSync(path),
      nothing: () => undefined,
    }
    for (const create of Object.values(make)) {
      create()
      await expect(readItem(entry, 'user')).rejects.toMatchObject({
        code: 'PARSE_ERROR',
        message: expect.stringContaining(path),
      })
      rmSync(path, { recursive: true, force: true })
    }
  })
})
