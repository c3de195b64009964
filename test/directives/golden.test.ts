// Every example of a directive that the first designs gave runs to ready, with real servers that stand in by name. What
// is handed over is compared with a file whole, but for ids, paths and the schemas of tools that are shipped.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { JsonValue } from '../../src/shared/json.ts'
import { begin, exampleServers, sendCalls } from '../fixtures/directive-kiwi.ts'
import { field, listField, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

const EXAMPLES = {
  deploy_to_supabase: {},
  run_migrations: {},
  create_pr: { branch: 'feature', title: 'A feature', reviewers: ['ada'] },
  deploy_feature: {},
  // What was shown of a directive in parts, each part in one of its own.
  tool_filtering: {},
  aliasing: {},
  hybrid_proxy: {},
  tools_tag: {},
  permission_integration: {},
  // A manifest with its text in a file.
  research_topic: {},
} as const
const fileOf = (kind: string, name: string): string =>
  fileURLToPath(new URL(`../fixtures/seeds/directives/${kind}${name}`, import.meta.url))

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
  exampleServers(temp)
  for (const id of ['validate_schema', 'run_e2e_tests', 'web_search', 'read_web_page'])
    await temp.create(
      id,
      {
        ...BASH,
        description: `Does ${id}`,
        parameters: [{ name: 'target', type: 'string', default: 'staging' }],
      },
      { 'main.sh': 'echo done' },
    )
  const manifest = new URL('../fixtures/seeds/tools/001/research_topic.yaml', import.meta.url)
  temp.write('tools/research_topic/tool.yaml', readFileSync(manifest, 'utf8'))
  temp.write('tools/research_topic/directive.md', 'Search the web, read what is found, and sum it up.\n')
  for (const name of Object.keys(EXAMPLES).filter((each) => each !== 'research_topic'))
    temp.write(`directives/${name}.md`, readFileSync(fileOf('', `${name}.md`), 'utf8'))
})
afterAll(() => temp.close())

const SHIPPED = /^(?:filesystem|shell|git)\./

function masked(value: JsonValue, runId: string): JsonValue {
  if (typeof value === 'string')
    return value.replaceAll(runId, '<run_id>').replaceAll(temp.project, '<project>')
  if (Array.isArray(value)) return value.map((entry: JsonValue) => masked(entry, runId))
  if (value === null || typeof value !== 'object') return value
  const isShipped = SHIPPED.test(String(field(value, 'name')))
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      isShipped && (key === 'inputSchema' || key === 'description') ? '<shipped>' : masked(entry, runId),
    ]),
  )
}

test.each(Object.entries(EXAMPLES))(
  'D13, D1: %s is handed over as its golden file says',
  async (name, parameters) => {
    const { status, data, error } = await begin(temp, name, { parameters })
    expect({ status, error }).toEqual({ status: 'ready', error: null })
    const shown = masked(z.json().parse(data), textField(data, 'run_id'))
    const golden = fileOf('golden/', `${name}.json`)
    expect(shown).toEqual(JSON.parse(readFileSync(golden, 'utf8')))
  },
)

test.each(Object.entries(EXAMPLES))(
  'D11, D14: every call of %s is one that can be made',
  async (name, parameters) => {
    const { data } = await begin(temp, name, { parameters })
    for (const { call, reply } of await sendCalls(temp, data))
      expect(reply.error?.code ?? '', JSON.stringify(call)).not.toMatch(/NOT_FOUND|UNKNOWN/)
  },
)

test('D13: deploy_feature has the two granted tools, both scripts, and a warning for the third', async () => {
  const { data } = await begin(temp, 'deploy_feature')
  const namesIn = (key: string): readonly unknown[] =>
    listField(data, 'tool_context', key, 'tools').map((tool) => field(tool, 'name'))
  expect(namesIn('supabase')).toEqual(['supabase.apply_migration', 'supabase.deploy_edge_function'])
  expect(namesIn('github')).toEqual(['github.create_pull_request'])
  expect(namesIn('scripts')).toEqual(['validate_schema', 'run_e2e_tests'])
  expect(field(data, 'tool_context', 'filesystem', 'constraints')).toEqual({
    read_paths: ['src/**', 'supabase/**'],
    write_paths: ['.ai/outputs/**'],
  })
  expect(field(data, 'tool_context', 'shell', 'constraints')).toEqual({
    allowed_commands: ['git', 'npm', 'pnpm'],
  })
  expect(field(data, 'warnings')).toContain(
    '"supabase.get_project" is left out: add <execute resource="mcp" name="supabase" tools="get_project"/> to <permissions> of the directive "deploy_feature"',
  )
})
