import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Item } from './item.ts'
import { checkExecutor } from './manifest.ts'
import { readItem } from './read-item.ts'
import { scan } from './scan.ts'

/** The examples of the first design papers, as they stand there: people have folders full of these. */
const SEEDS = join(import.meta.dirname, '../../test/fixtures/seeds')
const entries = [...scan(SEEDS).values()].filter(({ place }) => place === 'tools')
const full = ({ category, stem }: (typeof entries)[number]): string => `${category}/${stem}`

async function read(id: string): Promise<Item> {
  const entry = entries.find((candidate) => full(candidate) === id)
  if (entry === undefined) throw new Error(`no example "${id}"`)
  return readItem(entry, 'project')
}

const UNDESCRIBED = '"description" is missing: search will hardly find it'

const EXPECTED: readonly (readonly [id: string, type: string, executor: string | null, config: object])[] = [
  ['000/bash_runtime', 'runtime', 'subprocess', { command: 'bash' }],
  ['000/python_runtime', 'runtime', 'subprocess', { command: 'python3', venv: { enabled: true } }],
  ['000/registry/python_runtime', 'runtime', 'subprocess', { venv: { enabled: false } }],
  ['000/registry/subprocess', 'primitive', null, {}],
  ['000/test_script', 'script', 'python_runtime', { entrypoint: 'main.py' }],
  ['000/legacy', 'script', 'bash_runtime', { entrypoint: 'legacy.sh' }],
  ['000/legacy_python', 'script', 'python_runtime', { entrypoint: 'legacy_python.py' }],
  ['001/again/research_thread', 'thread', 'llm_runtime', { directive: 'research_topic', timeout: 300 }],
  ['001/research_thread', 'thread', 'llm_runtime', { directive: 'research_topic' }],
  [
    '001/research_topic',
    'directive',
    'llm_runtime',
    { permissions: { tools: ['web_search', 'read_web_page'] } },
  ],
  ['001/api_design_patterns', 'knowledge', null, { entry_type: 'pattern' }],
  ['001/llm_runtime', 'runtime', 'http_client', { defaults: { max_tokens: 4096 } }],
  ['001/subprocess', 'primitive', null, {}],
  ['001/http_client', 'primitive', null, {}],
  ['001/python_runtime', 'runtime', 'subprocess', { default_packages: [] }],
  ['001/bash_runtime', 'runtime', 'subprocess', { command: 'bash', timeout: 300 }],
  ['001/node_runtime', 'runtime', 'subprocess', { npm_install: true }],
  ['001/deno_runtime', 'runtime', 'subprocess', { args: ['run', '--allow-all'] }],
  ['001/rust_runtime', 'runtime', 'subprocess', { compile_command: 'rustc', run_command: './{binary}' }],
  ['001/supabase_mcp', 'mcp_server', 'subprocess', { startup_timeout: 10 }],
  ['001/github_mcp', 'mcp_server', 'subprocess', { transport: 'stdio' }],
  ['001/filesystem_mcp', 'mcp_server', 'subprocess', { transport: 'stdio' }],
  ['001/notion_mcp', 'mcp_server', 'subprocess', { command: 'npx' }],
  ['001/remote_llm_mcp', 'mcp_server', 'http_client', { transport: 'sse', reconnect: true }],
  ['001/hosted_tools_mcp', 'mcp_server', 'http_client', { auth: { type: 'bearer' } }],
  ['001/supabase_execute_sql', 'mcp_tool', 'supabase_mcp', { mcp_tool_name: 'execute_sql' }],
  ['001/github_create_pr', 'mcp_tool', 'github_mcp', { mcp_tool_name: 'create_pull_request' }],
  ['001/email_enricher', 'script', 'python_runtime', { entrypoint: 'main.py' }],
  ['001/analyze_sentiment', 'script', 'python_runtime', { requires: ['textblob'] }],
  ['001/weather_forecast', 'api', 'http_client', { response_transform: '$.forecast.daily[0:7]' }],
  ['001/slack_webhook', 'api', 'http_client', { body_template: { text: '{message}' } }],
  ['001/translate_text', 'api', 'http_client', { body_template: { text: ['{text}'] } }],
  ['002/hello_world', 'script', 'python_runtime', { args_style: 'call', entry_function: 'main' }],
  ['002/http_test', 'api', 'http_client', { method: 'GET', url: 'https://httpbin.org/get' }],
  [
    '004/supabase_execute_sql',
    'mcp_tool',
    'mcp_supabase',
    {
      mcp_tool_name: 'execute_sql',
      server: {
        transport: 'stdio',
        command: 'npx',
        args: ['-y', '@supabase/mcp-server'],
        env: { SUPABASE_ACCESS_TOKEN: '${SUPABASE_ACCESS_TOKEN}' },
      },
    },
  ],
  ['004/supabase_apply_migration', 'mcp_tool', 'mcp_supabase', { mcp_tool_name: 'apply_migration' }],
  ['004/notion_create_page', 'mcp_tool', 'mcp_notion', { mcp_server: 'notion', server: { command: 'npx' } }],
  ['004/weather_forecast', 'api', 'http_client', { response_transform: '$.forecast.daily' }],
  ['004/email_enricher', 'script', 'python_runtime', { entrypoint: 'main.py', requires: ['httpx'] }],
  ['004/slack_notify', 'api', 'http_client', { method: 'POST', body_template: { text: '{message}' } }],
]

describe('T8, R1, R38: every example manifest is read, in the older forms too', () => {
  test.each(EXPECTED)('%s, a %s on %s', async (id, type, executor, config) => {
    const { manifest, warnings } = await read(id)
    expect(manifest).toMatchObject({ tool_type: type, executor, config })
    expect(Object.keys(manifest)).not.toContain('executor_config')
    expect(warnings.filter((warning) => !/"(?:version|description|category)"/.test(warning))).toEqual([])
    expect(checkExecutor(manifest)).toEqual([])
  })

  test('there are no others', () => {
    expect(entries.map(full).toSorted()).toEqual(EXPECTED.map(([id]) => id).toSorted())
  })

  test('a thread without a description is read, and told of', async () => {
    expect(await read('001/research_thread')).toMatchObject({
      manifest: { description: '' },
      warnings: [UNDESCRIBED],
    })
  })

  test('R44: the shell of a runtime is its command only when it has none', async () => {
    expect((await read('001/bash_runtime')).manifest.config).toEqual({ command: 'bash', timeout: 300 })
  })

  test('what discovery writes down is kept as a schema when it is more than a list can hold', async () => {
    expect((await read('004/supabase_apply_migration')).manifest).toMatchObject({
      parameters: [],
      input_schema: { properties: { name: { type: ['string', 'null'] } } },
    })
  })
})
