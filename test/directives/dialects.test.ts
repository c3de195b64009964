import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compilePermissions } from '../../src/kernel/policy/compile-permissions.ts'
import { ruleWords } from '../../src/kernel/policy/rule-words.ts'
import type { Directive } from '../../src/spaces/directive/model.ts'
import { readDirective } from '../../src/spaces/directive/read-directive.ts'
import { readWritten } from '../../src/spaces/read-item.ts'

const SAMPLES = join(import.meta.dirname, '../fixtures/directives')

async function read(file: string): Promise<Directive> {
  const isSkill = basename(file) === 'SKILL.md'
  const manifest = {
    path: isSkill ? 'SKILL.md' : file,
    content: readFileSync(join(SAMPLES, file)),
    isExecutable: false,
  }
  const stem = isSkill ? basename(dirname(file)) : basename(file, '.md')
  const item = await readWritten(
    { place: 'directives', kind: isSkill ? 'folder' : 'document', manifest, files: [] },
    { stem, category: null },
    'project',
  )
  return readDirective(item)
}

const messages = ({ findings }: Directive): readonly string[] => findings.map(({ message }) => message)

describe('D1: containers of a directive', () => {
  const ONE = [{ name: 'one', condition: null, description: null, action: 'Do it', calls: [] }]
  test.each<[string, object]>([
    ['usual', { dialect: 'xml', description: 'Sample', steps: ONE, body: '' }],
    ['bare', { steps: ONE }],
    [
      'nested_fences',
      {
        steps: [
          {
            action:
              'Write this:\n<template>\n```xml\n<directive name="inner"> a & b </directive>\n```\n</template>',
          },
        ],
      },
    ],
    ['cdata', { steps: [{ action: 'if a < b && c' }, { action: 'Use <![CDATA[ and ]]>' }] }],
    ['text_after', { steps: [], body: 'More words.' }],
    ['process_after', { steps: [{ name: 'later', action: 'Do it later' }], body: '' }],
    ['no_version', { version: '0.0.0' }],
    ['bom_crlf', { steps: [{ name: 'one', action: '文字 שלום' }] }],
  ])('D1: %s', async (name, expected) => {
    expect(await read(`container/${name}.md`)).toMatchObject({ name, ...expected })
  })

  test('D1: bare signs are refused, with the place and the line that would do', async () => {
    await expect(read('container/bare_signs.md')).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      details: { line: 5, column: 31, repaired: '  <process><step name="one">a &amp; b</step></process>' },
    })
  })
})

describe('D1: elements of a directive', () => {
  test.each<[string, object]>([
    [
      'directive',
      {
        version: '2.0.0',
        extends: 'base',
        description: 'What it does',
        category: 'ops/db',
        more: { author: 'ada' },
      },
    ],
    [
      'model',
      { more: { model: { tier: 'reasoning', fallback: 'fast', parallel: 'true', reason: 'Needs thought' } } },
    ],
    ['model_class', { more: { model: { tier: 'fast' } } }],
    [
      'relationships',
      {
        relations: [
          { kind: 'requires', directive: 'a' },
          { kind: 'suggests', directive: 'b' },
          { kind: 'extends', directive: 'c' },
          { kind: 'related', directive: 'd' },
        ],
      },
    ],
    ['limits', { limits: { turns: 20, tokens: 5000, spend_usd: 1.5 } }],
    ['cost', { limits: { turns: 3, tokens: 100, duration: 60 } }],
    ['hooks', { more: { hooks: { hook: { when: 'failed', directive: 'clean_up' } } } }],
    ['context', { more: { context: { before: 'read_me', tech_stack: 'node' } } }],
    [
      'hints',
      {
        more: {
          context_budget: '50%',
          deviation_rules: 'ask',
          parallel_capable: 'true',
          subagent_strategy: 'one',
        },
      },
    ],
    ['outputs_text', { more: { outputs: { success: 'Done', failure: 'Sorry' } } }],
    ['outputs_list', { more: { outputs: [{ name: 'sha', type: 'string', description: 'The commit' }] } }],
    ['unknown', { more: { unknown: [{ colour: 'green' }, { mood: 'good' }] } }],
  ])('D1: %s', async (name, expected) => {
    expect(await read(`elements/${name}.md`)).toMatchObject({ name, ...expected })
  })

  test('D2: inputs have types, choices and defaults, and what makes no sense is said', async () => {
    const directive = await read('elements/inputs.md')
    expect(directive.inputs).toEqual([
      { name: 'a', type: 'string', required: true, description: 'First' },
      { name: 'b', type: 'integer', required: false, default: 5, description: 'Second' },
      { name: 'c', type: 'string', required: false, enum: ['x', 'y'], description: '' },
      { name: 'd', type: 'array', required: false, default: ['p', 'q'], description: '' },
      { name: 'e', type: 'boolean', required: false, description: '' },
      { name: 'f', type: 'string', required: false, enum: ['x', 'y'], description: '' },
    ])
    expect(messages(directive)).toEqual([
      'the default of the input "e" is not of type boolean: it is left out',
      'the default of the input "f" is none of its values: it is left out',
    ])
  })

  test('D12: steps have conditions, and what is unknown of them goes to whoever follows them', async () => {
    const directive = await read('elements/steps.md')
    expect(directive.steps).toEqual([
      {
        name: 'a',
        condition: 'ok',
        description: 'Say',
        action: '1. One\n2. Two\n<note>Mind <b>this</b></note>',
        calls: [],
      },
      { name: 'a', condition: null, description: null, action: 'Again', calls: [] },
      { name: null, condition: null, description: null, action: 'Plain text', calls: [] },
    ])
    expect(directive.findings).toEqual([
      { line: 6, column: 5, message: '<step> has no attribute "retry": without effect' },
      { line: 10, column: 5, message: 'the step "a" is there twice, first in line 6' },
    ])
  })

  test('D1: what is not known is said with its place', async () => {
    expect((await read('elements/unknown.md')).findings).toMatchObject([
      { line: 5, message: '<colour/> is not known: kept, without effect' },
      { line: 4, message: '<directive> has no attribute "mood": kept, without effect' },
    ])
  })
})

describe('D9: permissions in every spelling', () => {
  const words = async (name: string) => {
    const { permissions } = await read(`permissions/${name}.md`)
    const context = { directive: name, servers: new Set(['supabase']), projectPath: '/p', home: '/h' }
    const {
      permissions: rules,
      delegate,
      secrets,
      reports,
    } = compilePermissions(permissions ?? undefined, context)
    const said = rules.filter(
      ({ match }) => match.kind !== 'tool' || !['filesystem', 'shell'].includes(match.server ?? ''),
    )
    return { rules: said.map(ruleWords), delegate, secrets, reports }
  }
  test.each([
    ['read', ['allow read /p/src/**', 'allow read /p/**']],
    ['write', ['allow write /p/out/**']],
    ['shell', ['allow exec git, npm']],
    ['mcp', ['allow tool supabase.a, supabase.b']],
    ['server', ['allow tool supabase.apply_migration', 'allow tool other.*']],
    ['tool', ['allow tool x', 'allow tool * (bash)']],
    ['kiwi', ['allow tool kiwi-mcp: search']],
    ['registry', ['allow tool *: publish']],
    ['spawn', ['allow spawn *']],
    ['http', ['allow net GET *.example.org']],
    ['knowledge', ['allow tool kiwi-mcp: load', 'allow tool api/* (knowledge)']],
    [
      'context_kiwi',
      [
        'allow read /p/a',
        'allow read /p/b',
        'allow write /p/**',
        'allow exec npm install *',
        'allow net GET|HEAD example.org',
      ],
    ],
    ['rye', ['allow tool a/b/*', 'allow tool x (directive)', 'allow spawn x', 'allow tool kiwi-mcp: search']],
    ['ask_deny', ['ask tool x', 'deny read /p/.env']],
    ['ryeos', ['allow tool a/b', 'allow tool kiwi-mcp: load']],
    [
      'front_matter',
      [
        'allow read /p/src/**',
        'allow tool supabase.a, supabase.b',
        'allow write /p/out',
        'allow write /p/logs',
        'deny tool x',
      ],
    ],
    ['none', []],
    ['unmapped', []],
    ['env', []],
  ])('D9: %s', async (name, rules) => {
    expect((await words(name)).rules).toEqual(rules)
  })

  test('D9: what is not understood grants nothing, and is said with its line', async () => {
    expect((await words('unmapped')).reports).toHaveLength(3)
    expect((await words('ryeos')).reports).toEqual([
      expect.stringMatching(/^line 7: "execute: \{service: .*\}" grants nothing/),
    ])
    expect((await words('env')).secrets).toEqual(['X'])
    expect((await words('context_kiwi')).secrets).toEqual(['KEY'])
    expect((await words('ask_deny')).delegate?.map(ruleWords)).toEqual(['allow tool y'])
    expect((await read('permissions/none.md')).permissions).toBeNull()
  })
})

describe('D11: calls and wanted tools', () => {
  test.each(['call', 'tool_call', 'tool_call_parts', 'in_action', 'data'])('D11: %s', async (name) => {
    const { steps } = await read(`calls/${name}.md`)
    expect(steps[0]?.calls).toEqual([{ tool: 'm.t', parameters: { p: 'v' } }])
  })

  test.each(['execute', 'execute_parts', 'execute_data'])(
    'D11: to execute a tool is to call it: %s',
    async (name) => {
      const { steps } = await read(`meta_calls/${name}.md`)
      expect(steps[0]?.calls).toEqual([{ tool: 'x', parameters: { p: 'v' } }])
    },
  )

  test('D11: the four tools by their own names; a text that names one is none', async () => {
    const { steps } = await read('calls_of_kiwi.md')
    expect(steps[0]).toMatchObject({
      action: 'Then filesystem.read_file',
      calls: [
        { tool: 'search', parameters: { item_type: 'tool', query: 'x' } },
        { tool: 'load', parameters: { item_type: 'tool', item_id: 'y' } },
        { tool: 'execute', parameters: { item_type: 'tool', item_id: 'z', action: 'sign' } },
      ],
    })
  })

  test.each(['tools', 'tools_data'])('D8, D4: wanted tools: %s', async (name) => {
    const { wanted, findings } = await read(`${name}.md`)
    const server = {
      required: false,
      alias: null,
      proxy: true,
      refresh: false,
      why: '',
      line: expect.any(Number),
    }
    expect(wanted).toEqual({
      servers: [
        {
          ...server,
          name: 'supabase',
          required: true,
          alias: 'db',
          tools: ['apply_migration', 'execute_sql'],
        },
        { ...server, name: 'github', tools: ['create'], why: 'Pull requests', isOfMcps: true },
        { ...server, name: 'slack', tools: ['a', 'b'], proxy: false, refresh: true, isOfMcps: true },
      ],
      scripts: ['validate_schema'],
      filesystem: { read: ['src/**', 'supabase/**'], write: ['.ai/outputs/**'] },
      shell: ['git', 'npm', 'pnpm'],
      kiwi: { search: ['script', 'knowledge'], execute: ['run'] },
    })
    expect(findings).toEqual([])
  })
})

describe('D1: other dialects', () => {
  test('D1: front matter is the same model', async () => {
    expect(await read('front_matter.md')).toMatchObject({
      name: 'run_migrations',
      version: '1.0.0',
      dialect: 'yaml',
      category: 'deployment',
      inputs: [{ name: 'project_id', type: 'string', required: true, description: 'Target project' }],
      steps: [
        {
          name: 'list',
          action: 'List what is pending',
          calls: [{ tool: 'supabase.list_migrations', parameters: { project_id: '{project_id}' } }],
        },
      ],
      limits: { turns: 20, tokens: 50000, spend_usd: 1.5 },
      wanted: { servers: [{ name: 'supabase', required: true, line: 12 }] },
      more: { model: { tier: 'balanced' } },
      body: 'Free text: the instructions of the directive.',
      permissions: {
        line: 8,
        children: [
          { name: 'read', line: 9 },
          { name: 'execute', line: 10 },
        ],
      },
      findings: [],
    })
  })

  test('D1: so are the keys of another system', async () => {
    expect(await read('ryeos.md')).toMatchObject({
      name: 'ryeos',
      extends: 'base',
      inputs: [{ name: 'who', type: 'string', required: true }],
      steps: [],
      body: 'Greet {who}.',
      limits: { turns: 5, depth: 2 },
      permissions: null,
      more: { outputs: [{ name: 'done' }], hooks: [{ id: 'h' }], continuation: { after: 3 } },
    })
  })

  test('X11: what a skill asks for is wanted, and no grant', async () => {
    const directive = await read('pdf-forms/SKILL.md')
    expect(directive).toMatchObject({
      name: 'pdf-forms',
      dialect: 'skill',
      body: 'Do it with <directive name="x">.',
      permissions: null,
      wanted: {
        servers: [{ name: 'github', tools: ['create_issue'] }],
        scripts: [],
        filesystem: { read: ['**/*'], write: [] },
        shell: ['git', 'npm'],
      },
      more: { license: 'MIT', 'allowed-tools': expect.any(String) },
    })
    expect(messages(directive)).toEqual([
      '"WebFetch" of allowed-tools has no counterpart here: kept, without effect',
    ])
  })
})
