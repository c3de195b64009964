import { existsSync, readFileSync } from 'node:fs'
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

describe('C15: where items lie', () => {
  test.each([
    ['an .ai folder', '.ai/tools/a.py', '.ai', 'tools/a.py'],
    ['a folder that holds one', '.ai/tools/a.py', '', 'tools/a.py'],
    ['scripts of before', '.ai/scripts/web/a.py', '.ai', 'tools/web/a.py'],
    ['libraries of before', '.ai/scripts/lib/a.py', '.ai', 'tools/lib/a.py'],
    ['an old store of scripts', '.script-kiwi/scripts/web/a.py', '.script-kiwi', 'tools/web/a.py'],
    ['the libraries of it', '.script-kiwi/scripts/lib/a.py', '.script-kiwi', 'tools/lib/a.py'],
    ['one script by itself', 'somewhere/a.py', 'somewhere/a.py', 'tools/a.py'],
    ['one script of a space', '.ai/tools/web/a.py', '.ai/tools/web/a.py', 'tools/web/a.py'],
  ])('%s', async (_, path, from, to) => {
    at.put(path, PYTHON)
    expect(statesOf(await at.run(from))).toEqual({ [to]: 'imported' })
    expect(readFileSync(join(at.temp.config.userSpace, to), 'utf8')).toBe(PYTHON)
  })

  test.each([
    [
      'an old store of knowledge',
      '.knowledge-kiwi/api/rest.md',
      '.knowledge-kiwi',
      '---\nid: rest\n---\nx',
      'knowledge/api/rest.md',
    ],
    [
      'an old store of directives',
      '.context-kiwi/directives/ops/go.md',
      '.context-kiwi',
      '<directive name="go" version="1.0.0"></directive>',
      'directives/ops/go.md',
    ],
    ['one piece of knowledge', 'notes/n.md', 'notes/n.md', '# Note', 'knowledge/n.md'],
    [
      'one directive in XML',
      'notes/go.md',
      'notes/go.md',
      '# Go\n<directive name="go" version="1.0.0"></directive>',
      'directives/go.md',
    ],
    [
      'one directive with front matter',
      'notes/go.md',
      'notes/go.md',
      '---\nname: go\ninputs:\n  - {name: x}\n---\nGo',
      'directives/go.md',
    ],
    [
      'one manifest',
      'notes/api.json',
      'notes/api.json',
      '{"tool_type": "api", "description": "d", "config": {"url": "https://e.org"}}',
      'tools/api.json',
    ],
    [
      'a skill',
      'pdf-forms/SKILL.md',
      'pdf-forms',
      '---\nname: pdf-forms\ndescription: Fills forms\n---\nBody',
      'directives/pdf-forms',
    ],
    [
      'a folder of skills',
      'skills/pdf-forms/SKILL.md',
      'skills',
      '---\nname: pdf-forms\ndescription: Fills forms\n---\nBody',
      'directives/pdf-forms',
    ],
    [
      'a tool in a folder',
      'greet/tool.yaml',
      'greet',
      'tool_type: bash\nversion: 1.0.0\ndescription: d\n',
      'tools/greet',
    ],
  ])('%s', async (_, path, from, text, to) => {
    at.put(path, text)
    expect(statesOf(await at.run(from))).toEqual({ [to]: 'imported' })
  })

  test('a skill keeps its files and asks for its tools; nothing of it is granted', async () => {
    at.put(
      'pdf/SKILL.md',
      '---\nname: pdf\ndescription: Fills forms\nallowed-tools: Read Bash(git:*)\n---\nBody',
    )
    at.put('pdf/scripts/fill.py', PYTHON)
    at.put('pdf/references/form.md', '# Form')
    const batch = await at.run('pdf')
    expect(batch.items).toMatchObject([
      { id: 'pdf', type: 'directive', dialect: 'skill', proposed: { grants: ['Read', 'Bash(git:*)'] } },
    ])
    expect(existsSync(join(at.temp.config.userSpace, 'directives/pdf/scripts/fill.py'))).toBe(true)
    expect((await at.temp.run('fill')).error?.code).toBe('NOT_FOUND')
  })

  test('what is no item is counted or named with its reason, and nothing is left out in silence', async () => {
    at.put('.ai/tools/primitives/subprocess.py', '__tool_type__ = "primitive"')
    at.put('.ai/tools/extractors/x.py', PYTHON)
    at.put('.ai/extractors/y.py', PYTHON)
    at.put('.ai/parsers/z.py', PYTHON)
    at.put('.ai/tools/data.yaml', 'a: 1')
    at.put('.ai/tools/README.md', '# Read me')
    at.put('.ai/tools/notes.txt', 'x')
    at.put('.ai/tools/rye_extractor.yaml', 'tool_type: extractor\ntool_id: x\n')
    at.put('.ai/config/mcp_registry.yaml', 'mcps: {}')
    at.put('.ai/checkpoints/s.json', '{}')
    at.put('.ai/vector/v.bin', 'x')
    at.put('.ai/stray.txt', 'x')
    at.put('.ai/outputs/tools/a/output_20260101_000000.json', '{}')
    at.put('.ai/outputs/scripts/a/output_20260101_000001.json', '{}')
    at.put('.ai/logs/all.jsonl', '{}')
    at.put('.ai/lockfiles/web/a@1.0.0.lock.json', '{}')
    const batch = await at.run()
    expect(batch.history).toEqual({ outputs: 2, logs: 1, lockfiles: 1 })
    const named = [...batch.not_imported.map(({ path }) => path), ...batch.items.map(({ from }) => from)].map(
      (path) => path.slice(at.source.length + '/.ai/'.length),
    )
    expect(named.toSorted()).toEqual(
      [
        'checkpoints',
        'config',
        'extractors',
        'parsers',
        'stray.txt',
        'tools/README.md',
        'tools/data.yaml',
        'tools/extractors',
        'tools/notes.txt',
        'tools/primitives',
        'tools/rye_extractor.yaml',
        'vector',
      ].toSorted(),
    )
    for (const { reason } of [...batch.not_imported, ...batch.items]) expect(reason).toMatch(/./)
    expect(batch.totals).toMatchObject({ imported: 0, skipped: 12 })
  })

  test('history of an old store of scripts is counted', async () => {
    at.put('.script-kiwi/scripts/a.py', PYTHON)
    at.put('.script-kiwi/scripts.lock.json', '{}')
    at.put('.script-kiwi/.runs/history.jsonl', '{}\n{}\n')
    at.put('.script-kiwi/outputs/a/1.json', '{}')
    const batch = await at.run('.script-kiwi')
    expect(batch.history).toEqual({ 'scripts.lock.json': 1, '.runs': 1, outputs: 1 })
    expect(batch.not_imported).toEqual([])
  })

  test('names in .env are proposed as secrets, and no value is anywhere in the report', async () => {
    at.put('.ai/.env', 'API_KEY=sk-canary-1\nexport OTHER="canary 2"\n# NOT=canary3\n  THIRD = canary4\n')
    at.put('.ai/tools/a.py', PYTHON)
    const batch = await at.run()
    expect(batch.proposed_secrets).toEqual(['API_KEY', 'OTHER', 'THIRD'])
    expect(JSON.stringify(batch)).not.toContain('canary')
    const kept = readFileSync(join(at.temp.config.userSpace, 'imports', `${batch.batch}.json`), 'utf8')
    expect(kept).not.toContain('canary')
    expect(existsSync(join(at.temp.config.userSpace, '.env'))).toBe(false)
  })

  test.each(['', 'nowhere', '.ai/tools/x.txt'])('%j, where nothing can be imported', async (path) => {
    at.put('.ai/tools/x.txt', 'x')
    const reply = await at.reply(path === '' ? '../user' : path)
    if (path.endsWith('.txt')) expect(reply.data).toMatchObject({ totals: { skipped: 1 } })
    else expect(['NOT_FOUND', 'INVALID_PARAMETERS']).toContain(reply.error?.code)
  })

  test('a space cannot be imported into itself', async () => {
    const { temp } = at
    temp.write('tools/a.py', PYTHON)
    const { error } = await at.reply('../project/.ai', { to: 'project' })
    expect(error?.message).toContain('part of the space it would go to')
  })
})

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
