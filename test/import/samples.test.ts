import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { canonicalJson, sha256 } from '../../src/shared/json.ts'
import type { TempImport } from '../fixtures/temp-import.ts'
import { lineAt, openTempImport, statesOf } from '../fixtures/temp-import.ts'

let at: TempImport
beforeAll(async () => {
  at = await openTempImport()
})
afterEach(() => at.clear())
afterAll(() => at.close())

const PYTHON = '"""Says hello.\n"""\n__version__ = "1.0.0"\nprint("hello")\n'

describe('C15: what is said about an item', () => {
  const TIME = '2026-01-28T12:34:56Z'
  const BODY = 'print("hello")\n'
  const SIGNATURE = 'A'.repeat(86)
  const xml = '<directive name="d" version="1.0.0"></directive>'
  const entry = { category: null, entry_type: 'learning', tags: [] }
  const ROWS: readonly (readonly [string, string, string, string])[] = [
    ['no line', 'tools/a.py', BODY, 'unsigned'],
    [
      '12 digits',
      'tools/a.py',
      `# kiwi-mcp:validated:${TIME}:${sha256(BODY).slice(0, 12)}\n${BODY}`,
      'validated',
    ],
    ['all after line 1', 'tools/a.py', `# kiwi-mcp:validated:${TIME}:${sha256(BODY)}\n${BODY}`, 'validated'],
    [
      'a fraction of a second',
      'tools/a.py',
      `# kiwi-mcp:validated:2026-01-28T12:34:56.789Z:${sha256(BODY)}\n${BODY}`,
      'validated',
    ],
    [
      'another text since',
      'tools/a.py',
      `# kiwi-mcp:validated:${TIME}:${sha256('x')}\n${BODY}`,
      'unverified',
    ],
    [
      'text on the line',
      'tools/a.py',
      `# kiwi-mcp:validated:${TIME}:${sha256(BODY)} x\n${BODY}`,
      'unverified',
    ],
    ['rye', 'tools/a.py', `# rye:validated:${TIME}:${sha256(BODY)}\n${BODY}`, 'validated'],
    [
      'rye with a key',
      'tools/a.py',
      `# rye:signed:${TIME}:${sha256(BODY)}:${SIGNATURE}:0123456789abcdef\n${BODY}`,
      'signed',
    ],
    [
      'ryeos with a key',
      'tools/a.js',
      `// ryeos:signed:${TIME}:${sha256(BODY)}:${SIGNATURE}:${'0'.repeat(64)}\n${BODY}`,
      'signed',
    ],
    [
      'a placeholder',
      'tools/a.py',
      `# rye:signed:${TIME}:placeholder:placeholder:placeholder\n${BODY}`,
      'unsigned',
    ],
    [
      'JSON of a directive',
      'directives/d.md',
      `<!-- kiwi-mcp:validated:${TIME}:${sha256(canonicalJson({ directive_name: 'd', metadata: {}, version: '1.0.0', xml_hash: sha256(xml) }))} -->\n${xml}\n`,
      'validated',
    ],
    [
      'JSON of knowledge',
      'knowledge/k.md',
      `<!-- kiwi-mcp:validated:${TIME}:${sha256(canonicalJson({ content_hash: sha256('Text'), metadata: entry, version: '1.0.0', id: 'k' }))} -->\n---\nid: k\nversion: 1.0.0\n---\nText\n`,
      'validated',
    ],
    [
      'keys of the front matter',
      'knowledge/k.md',
      `---\nid: k\nvalidated_at: ${TIME}\ncontent_hash: ${sha256('Text')}\n---\nText\n`,
      'validated',
    ],
  ]
  test.each(ROWS)('SIG: a signature of %s', async (_, path, text, signature) => {
    at.put(`.ai/${path}`, text)
    const batch = await at.run()
    expect(batch.items).toMatchObject([{ state: 'imported', signature }])
  })

  test.each([
    ['kiwi', 'tools/a.py', PYTHON],
    ['rye', 'tools/a.py', `# rye:validated:${TIME}:${sha256(BODY)}\n${BODY}`],
    [
      'rye',
      'tools/a.yaml',
      'tool_type: python\nexecutor_id: rye/core/runtimes/python_script_runtime\ndescription: d\nversion: 1.0.0\n',
    ],
    [
      'ryeos',
      'directives/a.md',
      '---\nname: a\nrequires: {capabilities: {declared: [ryeos.execute.tool.a/b]}}\n---\nGo',
    ],
    [
      'context-kiwi',
      'directives/a.md',
      '<directive name="a" version="1.0.0"><metadata><permissions><filesystem><read paths="a"/></filesystem></permissions></metadata></directive>',
    ],
  ])('the dialect %s of %s', async (dialect, path, text) => {
    at.put(`.ai/${path}`, text)
    expect((await at.run()).items).toMatchObject([{ dialect }])
  })

  test('what it seems to need is proposed, and older keys are named', async () => {
    at.put(
      '.ai/tools/a.py',
      'import os\nrequires = ["httpx>=0.24"]\nKEY = os.environ["A_KEY"]\nB = os.getenv("B_KEY", "")\nP = os.getenv("PATH")\n',
    )
    at.put('.ai/tools/d.py', 'import json\nfrom bs4 import BeautifulSoup\nimport a\nfrom lib import shared\n')
    at.put('.ai/tools/b.js', 'const k = process.env.C_KEY\n')
    at.put(
      '.ai/tools/c.yaml',
      'tool_id: c\ntool_type: api\nversion: 1.0.0\ndescription: d\nexecutor_config: {url: "https://e.org", response_path: $.a, headers: {Authorization: "Bearer ${D_KEY}"}}\nrequired_secrets: [E_KEY]\n',
    )
    at.put('.ai/scripts/old.sh', '#!/bin/bash\necho\n')
    const batch = await at.run()
    expect(lineAt(batch, 'tools/a.py').proposed).toMatchObject({
      secrets: ['A_KEY', 'B_KEY'],
      requires: ['httpx>=0.24'],
    })
    expect(lineAt(batch, 'tools/d.py').proposed.requires).toEqual(['beautifulsoup4'])
    expect(lineAt(batch, 'tools/b.js').proposed.secrets).toEqual(['C_KEY'])
    expect(lineAt(batch, 'tools/c.yaml').proposed.secrets).toEqual(['D_KEY', 'E_KEY'])
    expect(lineAt(batch, 'tools/c.yaml').mapped_from).toEqual([
      'executor_config',
      'required_secrets',
      'response_path',
    ])
    expect(lineAt(batch, 'tools/old.sh').mapped_from).toEqual(['scripts/'])
  })

  test('a missing version, a name that is not the file’s and unknown keys are warnings', async () => {
    at.put('.ai/tools/web/a.yaml', 'tool_id: other\ntool_type: bash\ndescription: d\ncolour: red\n')
    const [line] = (await at.run()).items
    expect(line).toMatchObject({ id: 'other', state: 'imported', version: '0.0.0' })
    const warnings = line?.warnings.join('\n')
    for (const word of ['version', 'colour', '"a"']) expect(warnings).toContain(word)
  })
})

describe('C15: forms of each kind', () => {
  test.each([
    ['usual', '# T\n\n```xml\n<directive name="a" version="1.0.0"></directive>\n```\n'],
    ['no fence', '<directive name="a" version="1.0.0"></directive>'],
    [
      'nested fences',
      '# T\n\n```xml\n<directive name="a" version="1.0.0"><process><step><action><template>\n```js\nx < 1 && y\n```\n</template></action></step></process></directive>\n```\n',
    ],
    [
      'CDATA',
      '<directive name="a" version="1.0.0"><process><step><action><![CDATA[a < b]]></action></step></process></directive>',
    ],
    ['text after the fence', '```xml\n<directive name="a" version="1.0.0"></directive>\n```\n\nMore.\n'],
    ['front matter', '---\nname: a\nversion: 1.0.0\ndescription: d\nsteps: []\n---\nDo it.\n'],
    ['CRLF and BOM', '\uFEFF<directive name="a" version="1.0.0">\r\n</directive>\r\n'],
  ])('a directive: %s', async (_, text) => {
    at.put('.ai/directives/a.md', text)
    expect((await at.run()).items).toMatchObject([
      { id: 'a', type: 'directive', state: 'imported', version: '1.0.0' },
    ])
  })

  test.each([
    ['front matter', '---\nid: a\ntitle: T\nversion: 1.0.0\n---\nText'],
    ['the older key', '---\nzettel_id: a\ntitle: T\ntags: "x, y"\n---\nText'],
    ['a fence of YAML', '```yaml\nname: a\ntitle: T\n```\n\nText'],
    ['nothing', '# Title\n\nText'],
    [
      'a signature and a blank line above',
      `<!-- kiwi-mcp:validated:2026-01-28T12:34:56Z:${'0'.repeat(64)} -->\n\n---\nid: a\n---\nText`,
    ],
    ['vectors', '---\nid: a\nembedding: [0.1, 0.2]\n---\nText'],
  ])('knowledge: %s', async (_, text) => {
    at.put('.ai/knowledge/a.md', text)
    expect((await at.run()).items).toMatchObject([{ id: 'a', type: 'knowledge', state: 'imported' }])
  })

  test.each([
    ['a.py', '#!/usr/bin/env python3\n"""D."""\n__version__ = "1.0.0"\n'],
    ['a.sh', '#!/bin/bash\n# d\necho\n'],
    ['a.js', '/** d */\nconsole.log(1)\n'],
    ['a.mjs', 'export default function () {}\n'],
    ['a.cjs', 'module.exports = 1\n'],
    ['a.ts', 'export const __version__ = "1.0.0"\n'],
    ['a.yaml', 'tool_type: bash\ndescription: d\n'],
    ['a.yml', 'tool_type: bash\ndescription: d\n'],
    ['a.json', '{"tool_type": "bash", "description": "d"}'],
    ['a.toml', 'tool_type = "bash"\ndescription = "d"\n'],
    [
      'a.yaml',
      'tool_type: mcp\ndescription: d\nexecutor_config: {mcp_server: s, mcp_tool: t, command: npx}\n',
    ],
    ['a.yaml', 'tool_type: docker\ndescription: d\nexecutor_config: {image: alpine, command: echo}\n'],
    ['a.yaml', 'tool_type: api\ndescription: d\nexecutor_config: {url_template: "https://e.org/{x}"}\n'],
  ])('a tool: %s with %j', async (name, text) => {
    at.put(`.ai/tools/cat/${name}`, text)
    expect((await at.run()).items).toMatchObject([{ id: 'a', state: 'imported', reason: null }])
  })

  test('a tool whose server is nowhere, with a warning; not one whose server comes along', async () => {
    const tool = (server: string): string =>
      `tool_type: mcp\nversion: 1.0.0\ndescription: d\nconfig: {mcp_server: ${server}, mcp_tool: t}\n`
    at.put('.ai/tools/a.yaml', tool('nowhere'))
    at.put('.ai/tools/b.yaml', tool('late'))
    at.put(
      '.ai/tools/mcp_late.yaml',
      'tool_type: mcp_server\nexecutor: subprocess\nversion: 1.0.0\ndescription: d\nconfig: {transport: stdio, command: x}\n',
    )
    at.put('.ai/tools/c.yaml', 'tool_type: bash\nversion: 1.0.0\ndescription: d\nfoo_bar: 1\n')
    const batch = await at.run()
    expect(lineAt(batch, 'tools/c.yaml').warnings).toEqual([
      expect.stringContaining('"foo_bar" is not a key'),
    ])
    expect(lineAt(batch, 'tools/a.yaml')).toMatchObject({
      state: 'imported',
      warnings: ['its server "mcp_nowhere" is not there: it cannot be run before'],
    })
    expect(lineAt(batch, 'tools/b.yaml')).toMatchObject({ state: 'imported', warnings: [] })
  })

  test('a manifest and the script it starts, side by side', async () => {
    at.put(
      '.ai/tools/pair.yaml',
      'tool_type: bash\nversion: 1.0.0\ndescription: d\nconfig: {entrypoint: pair.sh}\n',
    )
    at.put('.ai/tools/pair.sh', '#!/bin/bash\necho pair\n')
    const batch = await at.run()
    expect(statesOf(batch)).toEqual({ 'tools/pair.yaml': 'imported', 'tools/pair.sh': 'imported' })
    expect(await at.temp.run('pair')).toMatchObject({ data: { output: 'pair\n' } })
  })
})

test('C15: nothing that is imported is run, in any language', async () => {
  const marker = join(at.temp.folder, 'marker')
  const js = `require('fs').writeFileSync(${JSON.stringify(marker)}, 'ran')\n`
  const mjs = `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(marker)}, 'ran')\n`
  const py = `open(${JSON.stringify(marker)}, "w").write("ran")\n`
  at.put('.ai/tools/a.py', `"""D."""\n${py}`)
  at.put('.ai/tools/lib/a.py', py)
  at.put('.ai/tools/extractors/e.py', py)
  at.put('.ai/tools/b.sh', `#!/bin/bash\ntouch ${marker}\n`)
  at.put('.ai/tools/c.js', js)
  at.put('.ai/tools/d.cjs', js)
  at.put('.ai/tools/e.mjs', mjs)
  at.put('.ai/tools/f.ts', mjs)
  at.put(
    '.ai/tools/g.yaml',
    `tool_type: bash\ndescription: "$(touch ${marker})"\nconfig: {command: "touch ${marker}"}\n`,
  )
  at.put('.ai/tools/package.json', JSON.stringify({ scripts: { postinstall: `touch ${marker}` } }))
  at.put(
    '.ai/directives/h.md',
    `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><directive name="h" version="1.0.0">&e;</directive>`,
  )
  at.put(
    '.ai/knowledge/i.md',
    `---\nid: !!js/function 'function () { require("fs").writeFileSync("${marker}", "x") }'\n---\nx`,
  )
  await at.run('', { isDryRun: true })
  const batch = await at.run()
  await at.temp.search('a')
  await at.undo(batch.batch)
  expect(existsSync(marker)).toBe(false)
  expect(batch.totals.imported).toBeGreaterThan(6)
  expect(lineAt(batch, 'directives/h.md').state).toBe('needs_repair')
})
