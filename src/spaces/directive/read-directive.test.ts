import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readItem } from '../read-item.ts'
import { scan } from '../scan.ts'
import type { Directive } from './model.ts'
import { readDirective } from './read-directive.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kiwi-directives-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

async function read(path: string, text: string): Promise<Directive> {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
  const [entry] = scan(root).values()
  if (entry === undefined) throw new Error('nothing was found')
  return readDirective(await readItem(entry, 'project'))
}

const SEEDS = join(import.meta.dirname, '../../../test/fixtures/seeds/directives')

test.each<[string, object]>([
  [
    'deploy_to_supabase',
    {
      steps: [],
      wanted: {
        servers: [
          { name: 'supabase', required: true, tools: null, why: 'Database operations and edge functions' },
          { name: 'filesystem', required: true, tools: null, why: 'Read migration files' },
        ],
      },
    },
  ],
  [
    'run_migrations',
    {
      steps: [
        {
          name: 'list_pending',
          description: 'Find pending migrations',
          calls: [
            { tool: 'filesystem.list_directory', parameters: { path: 'supabase/migrations' } },
            { tool: 'supabase.list_migrations', parameters: { project_id: '{project_id}' } },
          ],
        },
        { name: 'apply_each', action: expect.stringMatching(/^For each pending migration:\n1\. Read SQL/) },
      ],
      findings: [{ line: 27, message: '{project_id} is no input of it: it stays as it is written' }],
    },
  ],
  [
    'create_pr',
    {
      permissions: null,
      inputs: [
        { name: 'branch', type: 'string', required: true },
        { name: 'title', type: 'string', required: true },
        { name: 'reviewers', type: 'array', required: false },
      ],
      wanted: { shell: ['git'] },
      findings: [],
    },
  ],
  [
    'deploy_feature',
    {
      permissions: { children: { length: 5 } },
      steps: [
        { calls: [{ tool: 'validate_schema', parameters: {} }] },
        { calls: [{ tool: 'supabase.apply_migration' }] },
        { calls: [{ tool: 'supabase.deploy_edge_function' }] },
        { calls: [{ tool: 'run_e2e_tests' }] },
        { condition: 'tests_pass', calls: [{ tool: 'github.create_pull_request' }] },
      ],
      wanted: { scripts: ['validate_schema', 'run_e2e_tests'], shell: ['git', 'npm', 'pnpm'] },
    },
  ],
])('D1: the example "%s" is read', async (name, expected) => {
  const text = readFileSync(join(SEEDS, `${name}.md`), 'utf8')
  expect(await read(`directives/${name}.md`, text)).toMatchObject({
    name,
    version: '1.0.0',
    dialect: 'xml',
    ...expected,
  })
})

test('D1: lines are those of the file, signature lines included', async () => {
  const line = `<!-- kiwi-mcp:validated:2026-01-28T12:34:56Z:${'a'.repeat(64)} -->\n`
  const { permissions } = await read(
    'directives/d.md',
    `${line}<directive name="d">\n<permissions/></directive>`,
  )
  expect(permissions).toMatchObject({ line: 3, column: 1 })
})

test('D15: a manifest with a text beside it says what it takes and may do', async () => {
  mkdirSync(join(root, 'tools/d'), { recursive: true })
  writeFileSync(join(root, 'tools/d/directive.md'), '# Research\nAbout {topic}.\n')
  const manifest = 'tool_id: d\ntool_type: directive\nversion: 1.0.0\ndescription: x\n'
  const more =
    'config: {permissions: {tools: [web_search, read_page]}}\nparameters: [{name: topic, required: true}]\n'
  expect(await read('tools/d/tool.yaml', manifest + more)).toMatchObject({
    name: 'd',
    inputs: [{ name: 'topic', type: 'string', required: true }],
    body: '# Research\nAbout {topic}.',
    permissions: {
      children: [{ name: 'execute', attributes: { resource: 'tool', id: 'web_search,read_page' } }],
    },
  })
})
