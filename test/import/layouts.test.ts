import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { TempImport } from '../fixtures/temp-import.ts'
import { openTempImport, statesOf } from '../fixtures/temp-import.ts'

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

  const DIRECTIVE = '<directive name="go" version="1.0.0"></directive>'
  const SKILL = '---\nname: pdf-forms\ndescription: Fills forms\n---\nBody'
  const OTHERS: Readonly<Record<string, { path: string; from: string; text: string; to: string }>> = {
    'an old store of knowledge': {
      path: '.knowledge-kiwi/api/rest.md',
      from: '.knowledge-kiwi',
      text: '---\nid: rest\n---\nx',
      to: 'knowledge/api/rest.md',
    },
    'an old store of directives': {
      path: '.context-kiwi/directives/ops/go.md',
      from: '.context-kiwi',
      text: DIRECTIVE,
      to: 'directives/ops/go.md',
    },
    'one piece of knowledge': { path: 'n/n.md', from: 'n/n.md', text: '# Note', to: 'knowledge/n.md' },
    'one directive in XML': { path: 'n/go.md', from: 'n/go.md', text: DIRECTIVE, to: 'directives/go.md' },
    'one directive with front matter': {
      path: 'n/go.md',
      from: 'n/go.md',
      text: '---\nname: go\ninputs:\n  - {name: x}\n---\nGo',
      to: 'directives/go.md',
    },
    'one manifest': {
      path: 'n/api.json',
      from: 'n/api.json',
      text: '{"tool_type": "api", "description": "d", "config": {"url": "https://e.org"}}',
      to: 'tools/api.json',
    },
    'a skill': { path: 'pdf-forms/SKILL.md', from: 'pdf-forms', text: SKILL, to: 'directives/pdf-forms' },
    'a folder of skills': {
      path: 'skills/pdf-forms/SKILL.md',
      from: 'skills',
      text: SKILL,
      to: 'directives/pdf-forms',
    },
    'a tool in a folder': {
      path: 'greet/tool.yaml',
      from: 'greet',
      text: 'tool_type: bash\nversion: 1.0.0\ndescription: d\n',
      to: 'tools/greet',
    },
  }
  test.each(Object.entries(OTHERS))('%s', async (_, { path, from, text, to }) => {
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
