import { describe, expect, test } from 'vitest'
import { checkExecutor, readManifest } from './manifest.ts'
import { parseDocument } from './parse-document.ts'

/** Examples that the papers write as arguments of a call, and those in the oldest form: `executor_config`, types by language. */
const TEXTS = `
{"tool_id": "rust_runtime", "tool_type": "runtime", "executor": "subprocess", "version": "1.0.0",
      "description": "Compiles and runs Rust code",
      "config": {"compile_command": "rustc", "run_command": "./{binary}"}}
---
{"tool_id": "notion_mcp", "tool_type": "mcp_server", "executor": "subprocess", "version": "1.0.0",
      "description": "Notion API via MCP",
      "config": {"transport": "stdio", "command": "npx", "args": ["-y", "@notionhq/mcp-server"],
                 "env": {"NOTION_API_KEY": "\${NOTION_API_KEY}"}}}
---
{"tool_id": "analyze_sentiment", "tool_type": "script", "executor": "python_runtime", "version": "1.0.0",
      "description": "Analyze text sentiment",
      "config": {"entrypoint": "main.py", "requires": ["textblob"]},
      "parameters": [{"name": "text", "type": "string", "required": true}]}
---
{"tool_id": "translate_text", "tool_type": "api", "executor": "http_client", "version": "1.0.0",
      "description": "Translate text via DeepL",
      "config": {"method": "POST", "url": "https://api.deepl.com/v2/translate",
                 "headers": {"Authorization": "DeepL-Auth-Key \${DEEPL_API_KEY}", "Content-Type": "application/json"},
                 "body_template": {"text": ["{text}"], "target_lang": "{target_lang}"}},
      "parameters": [{"name": "text", "type": "string", "required": true},
                     {"name": "target_lang", "type": "string", "required": true}]}
---
# tool.yaml for an MCP-backed tool
tool_id: supabase_execute_sql
tool_type: mcp
version: 1.0.0
description: Execute SQL queries on Supabase
executor_config:
  mcp_server: supabase              # Which MCP to route to
  mcp_tool: execute_sql             # Which tool on that MCP
  transport: stdio
  command: npx
  args: ["-y", "@supabase/mcp-server"]
  env:
    SUPABASE_ACCESS_TOKEN: "\${SUPABASE_ACCESS_TOKEN}"
parameters:
  - name: project_id
    type: string
    required: true
  - name: query
    type: string
    required: true
---
{"tool_id": "weather_forecast", "tool_type": "api", "version": "1.0.0",
      "description": "Get weather forecast for a location",
      "executor_config": {"method": "GET",
        "url_template": "https://api.weather.com/forecast?lat={lat}&lon={lon}",
        "headers": {"Authorization": "Bearer \${WEATHER_API_KEY}"}, "response_path": "$.forecast.daily"},
      "parameters": [{"name": "lat", "type": "number", "required": true},
                     {"name": "lon", "type": "number", "required": true}]}
---
{"tool_id": "notion_create_page", "tool_type": "mcp", "version": "1.0.0",
      "description": "Create a new page in Notion",
      "executor_config": {"mcp_server": "notion", "mcp_tool": "create_page", "transport": "stdio", "command": "npx",
        "args": ["-y", "@notionhq/mcp-server"], "env": {"NOTION_API_KEY": "\${NOTION_API_KEY}"}},
      "parameters": [{"name": "parent_id", "type": "string", "required": true},
                     {"name": "title", "type": "string", "required": true},
                     {"name": "content", "type": "string", "required": false}]}
---
{"tool_id": "email_enricher", "tool_type": "python", "version": "1.0.0",
      "description": "Enrich email with company info from Clearbit",
      "executor_config": {"entrypoint": "main.py", "requires": ["httpx"]},
      "parameters": [{"name": "email", "type": "string", "required": true}]}
---
{"tool_id": "slack_notify", "tool_type": "api", "version": "1.0.0",
      "description": "Send a notification to Slack",
      "executor_config": {"method": "POST",
        "url_template": "https://hooks.slack.com/services/\${SLACK_WEBHOOK}",
        "headers": {"Content-Type": "application/json"}, "body_template": {"text": "{message}"}},
      "parameters": [{"name": "message", "type": "string", "required": true}]}
`.split('\n---\n')

const EXPECTED: readonly (readonly [string, string, string | null, object])[] = [
  ['rust_runtime', 'runtime', 'subprocess', { compile_command: 'rustc', run_command: './{binary}' }],
  ['notion_mcp', 'mcp_server', 'subprocess', { transport: 'stdio', command: 'npx' }],
  ['analyze_sentiment', 'script', 'python_runtime', { entrypoint: 'main.py', requires: ['textblob'] }],
  [
    'translate_text',
    'api',
    'http_client',
    { body_template: { text: ['{text}'], target_lang: '{target_lang}' } },
  ],
  [
    'supabase_execute_sql',
    'mcp_tool',
    'mcp_supabase',
    { mcp_server: 'supabase', mcp_tool_name: 'execute_sql' },
  ],
  ['weather_forecast', 'api', 'http_client', { response_transform: '$.forecast.daily' }],
  ['notion_create_page', 'mcp_tool', 'mcp_notion', { mcp_server: 'notion', mcp_tool_name: 'create_page' }],
  ['email_enricher', 'script', 'python_runtime', { entrypoint: 'main.py' }],
  ['slack_notify', 'api', 'http_client', { method: 'POST', body_template: { text: '{message}' } }],
]

describe('T8, R1, R38: the older forms of a manifest mean the same', () => {
  test.each(EXPECTED.map((row, at) => [...row, TEXTS[at] ?? ''] as const))(
    '%s, a %s on %s',
    async (...[id, type, executor, config, text]) => {
      const raw = await parseDocument(text, id)
      const before = structuredClone(raw)
      const { manifest, warnings } = readManifest(raw, { stem: null, category: null })
      expect(manifest).toMatchObject({ tool_id: id, tool_type: type, executor, config })
      expect(Object.keys(manifest)).not.toContain('executor_config')
      expect(warnings).toEqual([])
      expect(checkExecutor(manifest)).toEqual([])
      expect(raw).toEqual(before)
    },
  )
})
