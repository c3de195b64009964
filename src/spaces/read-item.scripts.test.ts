import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../shared/limits.ts'
import type { Item } from './item.ts'
import { readEntry, readItem } from './read-item.ts'
import { scan } from './scan.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kiwi-scripts-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function put(path: string, content: string | Uint8Array): string {
  const at = join(root, path)
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, content)
  return at
}

async function readOnly(): Promise<Item> {
  const [entry] = scan(root).values()
  if (entry === undefined) throw new Error('nothing was found')
  return readItem(entry, 'project')
}

async function contentsOf(item: Item): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries(
    (await item.files()).map(({ path, content }) => [path, Buffer.from(content).toString()]),
  )
}

const LINE = `kiwi-mcp:validated:2026-01-28T12:34:56Z:${'a'.repeat(64)}`

describe('C12: a script is an item', () => {
  test('whose manifest is in its source, and whose only file is that source as it is on disk', async () => {
    const text = '\uFEFF#!/usr/bin/env python3\r\n"""Count words."""\r\n__version__ = "1.0.0"\r\n'
    const path = put('tools/text/count.py', text)
    chmodSync(path, 0o755)
    const item = await readOnly()
    expect(item).toMatchObject({
      id: 'count',
      form: 'script',
      path,
      text: null,
      manifest: { tool_type: 'script', executor: 'python_runtime', category: 'text', version: '1.0.0' },
      raw: { _file: 'count.py', description: 'Count words.' },
      filePaths: ['count.py'],
    })
    expect(await contentsOf(item)).toEqual({ 'count.py': text })
    expect((await item.files())[0]?.isExecutable).toBe(true)
  })

  test('whose hash does not change when it is signed', async () => {
    put('tools/a.sh', '#!/bin/bash\n# Do it.\necho hi\n')
    const before = await readOnly()
    const signed = put('tools/a.sh', `#!/bin/bash\n# ${LINE}\n# Do it.\necho hi\n`)
    const after = await readOnly()
    expect(after.contentHash).toBe(before.contentHash)
    expect(after.raw).toEqual(before.raw)
    put('tools/a.sh', `#!/bin/bash\n# ${LINE}\n# Do it.\necho ho\n`)
    expect((await readOnly()).contentHash).not.toBe(before.contentHash)
    expect(signed).toContain('a.sh')
  })

  test('of which only the beginning is read for what it says, however large it is', async () => {
    const head = '"""Large."""\n__version__ = "1.0.0"\n'
    put('tools/a.py', `${head}${'# é\n'.repeat(LIMITS.itemBytes / 4)}__version__ = "2.0.0"\n`)
    const item = await readOnly()
    expect(item.manifest).toMatchObject({ version: '1.0.0', description: 'Large.' })
    const before = item.contentHash
    put('tools/a.py', `${head}${'# é\n'.repeat(LIMITS.itemBytes / 4)}__version__ = "3.0.0"\n`)
    expect((await readOnly()).contentHash).not.toBe(before)
  })

  test('FS-07: that is larger than an item may be, a pipe, or no text is a fault at once', async () => {
    const large = put('tools/a.py', '')
    truncateSync(large, 200 * 1024 * 1024)
    await expect(readOnly()).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' })
    rmSync(large)
    const pipe = put('tools/a.sh', '')
    const [entry] = scan(root).values()
    rmSync(pipe)
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0)
    if (entry === undefined) throw new Error('nothing was found')
    await expect(readItem(entry, 'user')).rejects.toMatchObject({ code: 'PARSE_ERROR' })
    rmSync(pipe)
    put('tools/a.sh', Buffer.from([0x23, 0xff, 0xfe]))
    await expect(readOnly()).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringContaining('not valid UTF-8'),
    })
  })

  test('L2: reading it runs nothing of it, in any language', async () => {
    const marker = join(root, 'marker')
    const sources: Readonly<Record<string, string>> = {
      'a.py': `open(${JSON.stringify(marker)}, "w").write("x")\n__version__ = "1.0.0"\nCONFIG = {"a": open(${JSON.stringify(marker)}, "w")}\n`,
      'b.sh': `touch ${marker}\n`,
      'c.mjs': `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(marker)}, 'x')\n`,
      'd.cjs': `require('node:fs').writeFileSync(${JSON.stringify(marker)}, 'x')\n`,
      'e.js': `require('node:fs').writeFileSync(${JSON.stringify(marker)}, 'x')\n`,
      'f.ts': `Deno.writeTextFileSync(${JSON.stringify(marker)}, 'x')\n`,
      'g.yaml': 'tool_id: g\ntool_type: !!js/function "function () {}"\n',
    }
    for (const [name, text] of Object.entries(sources)) put(`tools/${name}`, text)
    for (const entry of scan(root).values()) await readEntry(entry, 'user').catch(() => null)
    expect(scan(root).size).toBe(Object.keys(sources).length)
    expect(existsSync(marker)).toBe(false)
  })
})

describe('T9: a manifest beside its script', () => {
  test('carries the script it starts', async () => {
    put(
      'tools/a.yaml',
      'tool_id: a\ntool_type: python\nversion: 1.0.0\ndescription: d\nconfig: {entrypoint: a.py}\n',
    )
    put('tools/a.py', 'print(1)\n')
    const entry = scan(root).get(join(root, 'tools/a.yaml'))
    if (entry === undefined) throw new Error('nothing was found')
    const item = await readItem(entry, 'project')
    expect(item).toMatchObject({ form: 'manifest', filePaths: ['a.py'] })
    expect(await contentsOf(item)).toEqual({ 'a.py': 'print(1)\n' })
  })
})

describe('T8: a manifest in TOML', () => {
  test('is read like any other', async () => {
    const text = `# ${LINE}\ntool_id = "a"\ntool_type = "bash"\nversion = "1.0.0"\ndescription = "d"\nmade = 2026-01-01\n[config]\ntimeout = 5\n[[parameters]]\nname = "x"\nrequired = true\n`
    put('tools/a.toml', text)
    expect(await readOnly()).toMatchObject({
      form: 'manifest',
      text,
      manifest: { tool_type: 'script', config: { timeout: 5 }, parameters: [{ name: 'x', required: true }] },
      raw: { made: '2026-01-01' },
    })
  })

  test.each([
    ['a key twice', 'tool_id = "a"\ntool_id = "b"\n', /line 2, column/],
    ['what is no TOML', 'tool_id = \n', /line 1, column/],
    ['PAR-06: a key of prototypes', '[a.__proto__]\nx = 1\n', /line 1, column/],
    ['PAR-02: deep nesting', `a = ${'['.repeat(100_000)}`, /line 1|deeper than 64/],
    [
      'PAR-02: deep tables',
      `[${Array.from({ length: 200 }, () => 'a').join('.')}]\nx = 1\n`,
      /deeper than 64/,
    ],
    ['PAR-13: a number that is not exact', 'a = 9007199254740993\n', /losslessly/],
  ])('with %s is refused with its place', async (_, text, message) => {
    put('tools/a.toml', text)
    await expect(readOnly()).rejects.toMatchObject({ message: expect.stringMatching(message) })
  })
})

describe('a file among the tools that is no item', () => {
  test.each([
    ['data', 'tools/package.json', '{"name": "x", "version": "1.0.0"}', null],
    ['data in TOML', 'tools/x.toml', 'a = 1\n', null],
    [
      'a parser of another system',
      'tools/p.yaml',
      'tool_id: p\ntool_type: parser\n',
      /parser of another system/,
    ],
    ['an extractor in Python', 'tools/e.py', '__tool_type__ = "extractor"\n', /extractor of another system/],
  ])('%s is left out', async (_, path, text, reason) => {
    put(path, text)
    const [entry] = scan(root).values()
    if (entry === undefined) throw new Error('nothing was found')
    const read = await readEntry(entry, 'user')
    expect(read).toEqual({ skipped: reason === null ? null : expect.stringMatching(reason) })
  })

  test('what has an id or an executor was meant to be one', async () => {
    put('tools/a.yaml', 'executor: bash_runtime\ndescription: d\n')
    await expect(readOnly()).rejects.toMatchObject({ code: 'INVALID_MANIFEST' })
  })
})
