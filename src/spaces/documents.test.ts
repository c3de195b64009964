import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Item } from './item.ts'
import { readItem } from './read-item.ts'
import { scan } from './scan.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kiwi-documents-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

async function read(files: Readonly<Record<string, string>>): Promise<Item> {
  rmSync(root, { recursive: true, force: true })
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const [entry] = scan(root).values()
  if (entry === undefined) throw new Error('nothing was found')
  return readItem(entry, 'project')
}

async function contentsOf(item: Item): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries(
    (await item.files()).map(({ path, content }) => [path, Buffer.from(content).toString()]),
  )
}

const LINE = `<!-- kiwi-mcp:validated:2026-01-28T12:34:56Z:${'a'.repeat(64)} -->\n`

describe('D16, SIG-01: a signed piece of knowledge', () => {
  test.each([
    ['front matter at once', ''],
    ['an empty line first', '\n'],
  ])('with %s is the same as without the signature', async (_, gap) => {
    const text = '---\ntitle: A\nversion: 1.0.0\n---\nText\n'
    const bare = await read({ 'knowledge/a.md': text })
    const signed = await read({ 'knowledge/a.md': LINE + gap + text })
    expect(signed).toMatchObject({ raw: bare.raw, contentHash: bare.contentHash, text: LINE + gap + text })
    expect(await contentsOf(signed)).toEqual({ 'content.md': 'Text\n' })
  })

  test('without front matter has all below the signature as its content', async () => {
    expect(await contentsOf(await read({ 'knowledge/a.md': `${LINE}# A\nText` }))).toEqual({
      'content.md': '# A\nText',
    })
  })

  test('has its faults at the lines of the file', async () => {
    await expect(
      read({ 'knowledge/a.md': `${LINE}${LINE}\n---\ntitle: A\ntitle: B\n---\n` }),
    ).rejects.toThrow('line 6, column 1')
  })
})

describe('D16: older forms of knowledge', () => {
  test.each<readonly [string, string, object, string]>([
    ['a fence of YAML', '```yaml\nid: a\nname: The name\n```\nText', { name: 'The name' }, 'Text'],
    ['an older id', '---\nzettel_id: a\ntags: x, y\n---\nText', { tool_id: 'a', tags: ['x', 'y'] }, 'Text'],
  ])('%s', async (_, text, manifest, content) => {
    const item = await read({ 'knowledge/a.md': text })
    expect(item.manifest).toMatchObject(manifest)
    expect(item.warnings.filter((warning) => !warning.includes('version'))).toEqual([])
    expect(await contentsOf(item)).toEqual({ 'content.md': content })
  })

  test('vectors and the signature of old are no part of it', async () => {
    const text = '---\ntitle: A\nembedding: [1, 2]\nvalidated_at: x\ncontent_hash: y\n---\nText'
    const bare = await read({ 'knowledge/a.md': '---\ntitle: A\n---\nText' })
    expect(await read({ 'knowledge/a.md': text })).toMatchObject({
      raw: bare.raw,
      contentHash: bare.contentHash,
    })
  })
})

const XML = `# Deploy

Some words.

\`\`\`xml
<directive name="deploy" version="1.2.0">
  <metadata>
    <description>Deploys &amp; tells
      about it</description>
    <category>ops</category>
  </metadata>
</directive>
\`\`\`
`

describe('a directive document', () => {
  test('in XML has its name, version, description and category, and its text as its file', async () => {
    const item = await read({ 'directives/ops/deploy.md': LINE + XML })
    expect(item).toMatchObject({
      id: 'deploy',
      form: 'document',
      text: LINE + XML,
      raw: {
        tool_id: 'deploy',
        tool_type: 'directive',
        executor: 'llm_runtime',
        version: '1.2.0',
        description: 'Deploys & tells about it',
        category: 'ops',
      },
      warnings: [],
    })
    expect(await contentsOf(item)).toEqual({ 'directive.md': XML })
    expect((await read({ 'directives/ops/deploy.md': XML })).contentHash).toBe(item.contentHash)
  })

  test('in front matter has its keys: those of every manifest, and its own under config', async () => {
    const text = `---
name: run_migrations
version: 1.0.0
description: Apply migrations
category: deployment
model: {tier: balanced}
permissions:
  - read: {resource: filesystem, path: "supabase/**"}
inputs:
  - {name: project_id, type: string, required: true, description: Target project}
  - {name: limit, type: int, default: 5}
outputs:
  - {name: done, type: boolean}
---
Do it.
`
    const item = await read({ 'directives/run_migrations.md': text })
    expect(item.manifest).toMatchObject({
      tool_id: 'run_migrations',
      tool_type: 'directive',
      version: '1.0.0',
      category: 'deployment',
      config: {
        model: { tier: 'balanced' },
        permissions: [{ read: { resource: 'filesystem', path: 'supabase/**' } }],
        outputs: [{ name: 'done', type: 'boolean' }],
      },
      parameters: [
        { name: 'project_id', type: 'string', required: true },
        { name: 'limit', type: 'integer', default: 5 },
      ],
    })
    expect(item.warnings).toEqual([])
  })

  test.each<readonly [string, string, object]>([
    ['bare XML', '<directive name="a" version="1.0.0"></directive>', { tool_id: 'a', version: '1.0.0' }],
    ['no version', "<directive name='a'>\n</directive>", { tool_id: 'a', version: '0.0.0' }],
    ['only words', '# The title\nDo it.', { tool_id: 'a', description: 'The title', version: '0.0.0' }],
    [
      'CDATA',
      '<directive name="a"><description><![CDATA[a < b]]></description></directive>',
      {
        description: 'a < b',
      },
    ],
  ])('with %s is read', async (_, text, manifest) => {
    expect((await read({ 'directives/a.md': text })).manifest).toMatchObject(manifest)
  })

  test.each([
    [
      'PAR-04: a DOCTYPE',
      '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n<directive name="a"></directive>',
    ],
    ['PAR-05: an attribute twice', '<directive name="a" version="1.0.0" name="b"></directive>'],
    ['no end', '<directive name="a">'],
  ])('with %s is refused', async (_, text) => {
    await expect(read({ 'directives/a.md': text })).rejects.toMatchObject({ code: 'PARSE_ERROR' })
  })
})

describe('D1, D16: an id that none can have is told with its place, in words of the file', () => {
  test.each([
    [
      'knowledge/n.md',
      '---\ntitle: A\nid: 2024\n---\n',
      'the id 2024 is no text (line 3, column 1)',
      { hint: 'Write the id in quotes', details: { line: 3, column: 1 } },
    ],
    [
      'knowledge/n.md',
      '---\nzettel_id: a b\n---\n',
      '"a b" cannot be an id: use letters',
      { hint: 'Write another id', details: { line: 2, column: 1 } },
    ],
    [
      'knowledge/größe.md',
      'Text',
      'its name "größe" cannot be an id: use letters',
      { hint: 'Rename it, or write an id into it', details: { line: 1, column: 1 } },
    ],
    [
      'directives/größe.md',
      '---\ndescription: d\n---\nGo.\n',
      'its name "größe" cannot be an id: use letters',
      { hint: 'Rename it, or write an id into it', details: { line: 1, column: 1 } },
    ],
    [
      'directives/a.md',
      '<directive name="größe" version="1.0.0"></directive>',
      '"größe" cannot be an id: use letters',
      { hint: 'Write another id' },
    ],
  ])('%s: %j', async (path, text, said, more) => {
    await expect(read({ [path]: text })).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringContaining(`${path}": ${said}`),
      ...more,
    })
  })

  test('D16: a fault in front matter has its place in the details too', async () => {
    await expect(read({ 'knowledge/a.md': '---\ntitle: A\ntitle: B\n---\n' })).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      details: { line: 3, column: 1 },
    })
  })
})

describe('a folder with a SKILL.md', () => {
  const SKILL =
    '---\nname: pdf-forms\ndescription: Fills in forms\nlicense: MIT\nallowed-tools: Read\n---\nDo it.\n'

  test('is a directive with all files of its folder, its own text among them', async () => {
    const files = { 'SKILL.md': SKILL, 'scripts/fill.py': 'print(1)\n', 'references/more.md': '# More\n' }
    const placed = Object.entries(files).map(([path, text]) => [`directives/docs/pdf-forms/${path}`, text])
    const item = await read(Object.fromEntries(placed))
    expect(item).toMatchObject({
      id: 'pdf-forms',
      form: 'folder',
      text: null,
      raw: {
        tool_type: 'directive',
        description: 'Fills in forms',
        config: { license: 'MIT', 'allowed-tools': 'Read' },
        _file: 'SKILL.md',
      },
      manifest: { category: 'docs' },
    })
    expect(await contentsOf(item)).toEqual(files)
  })

  test('has the same hash when it is signed', async () => {
    const bare = await read({ 'directives/pdf-forms/SKILL.md': SKILL })
    const signed = await read({ 'directives/pdf-forms/SKILL.md': LINE + SKILL })
    expect(signed.contentHash).toBe(bare.contentHash)
  })
})
