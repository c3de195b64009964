import { describe, expect, test } from 'vitest'
import { checkExecutor, readManifest } from './manifest.ts'
import { parseDocument } from './parse-document.ts'

/** The example manifests of the first design paper, as they stand there: people have folders full of these. */
const TEXTS = `
tool_id: research_topic
tool_type: directive
executor: llm_runtime
version: "1.0.0"
description: "Research a topic thoroughly"
config:
  model_tier: balanced
  max_tokens: 50000
  permissions:
    tools: [web_search, read_web_page]
# Content stored in tool_version_files as "directive.md"
---
tool_id: api_design_patterns
tool_type: knowledge
executor: null # No execution, just retrieval
version: "1.0.0"
description: "Common REST API design patterns"
config:
  entry_type: pattern
  source_type: docs
  source_url: https://example.com/api-guide
# Content stored in tool_version_files as "content.md"
---
tool_id: research_thread
tool_type: thread
executor: llm_runtime
version: "1.0.0"
description: "Spawn a research sub-thread"
config:
  directive: research_topic # Which directive to execute
  model_tier: fast # Model selection
  max_tokens: 50000 # Budget limit
  timeout: 300 # Seconds
  inherit_permissions: true # Scope down from parent
parameters:
  - name: topic
    type: string
    required: true
  - name: depth
    type: string
    enum: [shallow, deep]
    default: shallow
---
tool_id: llm_runtime
tool_type: runtime
executor: http_client
version: "1.0.0"
description: "Runtime for spawning LLM threads"
config:
  providers:
    anthropic:
      url: https://api.anthropic.com/v1/messages
      auth: "Bearer \${ANTHROPIC_API_KEY}"
    openai:
      url: https://api.openai.com/v1/chat/completions
      auth: "Bearer \${OPENAI_API_KEY}"
  model_tiers:
    fast: { provider: anthropic, model: claude-3-haiku-20240307 }
    balanced: { provider: anthropic, model: claude-sonnet-4-20250514 }
    powerful: { provider: anthropic, model: claude-sonnet-4-20250514 }
  defaults:
    max_tokens: 4096
    temperature: 0
---
# subprocess primitive
tool_id: subprocess
tool_type: primitive
version: "1.0.0"
description: "Spawns and manages subprocesses"
capabilities:
  - spawn
  - stdio
  - signals
  - timeout
---
# http_client primitive
tool_id: http_client
tool_type: primitive
version: "1.0.0"
description: "Makes HTTP/HTTPS requests"
capabilities:
  - request
  - streaming
  - websocket
  - sse
---
tool_id: python_runtime
tool_type: runtime
executor: subprocess
version: "1.0.0"
description: "Executes Python scripts in isolated venv"
config:
  command: python3
  venv:
    enabled: true
    cache_dir: ~/.cache/kiwi/venvs
  default_packages: []
---
tool_id: bash_runtime
tool_type: runtime
executor: subprocess
version: "1.0.0"
description: "Executes Bash scripts"
config:
  command: bash
  shell: /bin/bash
  timeout_default: 300
---
tool_id: node_runtime
tool_type: runtime
executor: subprocess
version: "1.0.0"
description: "Executes Node.js scripts"
config:
  command: node
  npm_install: true
---
tool_id: deno_runtime
tool_type: runtime
executor: subprocess
version: "1.0.0"
description: "Executes Deno TypeScript/JavaScript"
config:
  command: deno
  args: ["run", "--allow-all"]
---
tool_id: supabase_mcp
tool_type: mcp_server
executor: subprocess
version: "1.0.0"
description: "Supabase MCP server for database operations"
config:
  transport: stdio
  command: npx
  args: ["-y", "@supabase/mcp-server-supabase@latest"]
  env:
    SUPABASE_ACCESS_TOKEN: "\${SUPABASE_ACCESS_TOKEN}"
  startup_timeout: 10
# schema_cache: populated after first connection
---
tool_id: github_mcp
tool_type: mcp_server
executor: subprocess
version: "1.0.0"
description: "GitHub MCP server for repository operations"
config:
  transport: stdio
  command: npx
  args: ["-y", "@modelcontextprotocol/server-github"]
  env:
    GITHUB_TOKEN: "\${GITHUB_TOKEN}"
---
tool_id: filesystem_mcp
tool_type: mcp_server
executor: subprocess
version: "1.0.0"
description: "Filesystem MCP for file operations"
config:
  transport: stdio
  command: npx
  args: ["-y", "@modelcontextprotocol/server-filesystem", "\${ALLOWED_PATH}"]
---
tool_id: remote_llm_mcp
tool_type: mcp_server
executor: http_client
version: "1.0.0"
description: "Remote LLM provider via MCP"
config:
  transport: sse
  url: "https://api.example.com/mcp/sse"
  headers:
    Authorization: "Bearer \${REMOTE_API_KEY}"
  reconnect: true
  reconnect_delay: 5
---
tool_id: hosted_tools_mcp
tool_type: mcp_server
executor: http_client
version: "1.0.0"
description: "Hosted tool execution service"
config:
  transport: websocket
  url: "wss://tools.example.com/mcp"
  auth:
    type: bearer
    token: "\${HOSTED_TOOLS_TOKEN}"
---
tool_id: supabase_execute_sql
tool_type: mcp_tool
executor: supabase_mcp
version: "1.0.0"
description: "Execute SQL queries on Supabase"
config:
  mcp_tool_name: execute_sql
parameters:
  - name: project_id
    type: string
    required: true
    description: "Supabase project ID"
  - name: query
    type: string
    required: true
    description: "SQL query to execute"
---
tool_id: github_create_pr
tool_type: mcp_tool
executor: github_mcp
version: "1.0.0"
description: "Create a pull request"
config:
  mcp_tool_name: create_pull_request
parameters:
  - name: repo
    type: string
    required: true
  - name: title
    type: string
    required: true
  - name: head
    type: string
    required: true
  - name: base
    type: string
    required: true
    default: "main"
---
tool_id: email_enricher
tool_type: script
executor: python_runtime
version: "1.2.0"
description: "Enrich email addresses with company data from Clearbit"
config:
  entrypoint: main.py
  requires:
    - httpx>=0.24.0
    - pydantic>=2.0
parameters:
  - name: email
    type: string
    required: true
    description: "Email address to enrich"
outputs:
  type: object
  properties:
    company_name: { type: string }
    domain: { type: string }
    industry: { type: string }
---
tool_id: weather_forecast
tool_type: api
executor: http_client
version: "1.0.0"
description: "Get weather forecast for coordinates"
config:
  method: GET
  url_template: "https://api.weather.com/v1/forecast?lat={lat}&lon={lon}&units=metric"
  headers:
    X-API-Key: "\${WEATHER_API_KEY}"
  response_transform: "$.forecast.daily[0:7]"
parameters:
  - name: lat
    type: number
    required: true
  - name: lon
    type: number
    required: true
---
tool_id: slack_webhook
tool_type: api
executor: http_client
version: "1.0.0"
description: "Send message to Slack webhook"
config:
  method: POST
  url: "\${SLACK_WEBHOOK_URL}"
  headers:
    Content-Type: application/json
  body_template:
    text: "{message}"
    channel: "{channel}"
parameters:
  - name: message
    type: string
    required: true
  - name: channel
    type: string
    default: "#general"
`.split('\n---\n')

const EXPECTED: readonly (readonly [string, string, string | null])[] = [
  ['research_topic', 'directive', 'llm_runtime'],
  ['api_design_patterns', 'knowledge', null],
  ['research_thread', 'thread', 'llm_runtime'],
  ['llm_runtime', 'runtime', 'http_client'],
  ['subprocess', 'primitive', null],
  ['http_client', 'primitive', null],
  ['python_runtime', 'runtime', 'subprocess'],
  ['bash_runtime', 'runtime', 'subprocess'],
  ['node_runtime', 'runtime', 'subprocess'],
  ['deno_runtime', 'runtime', 'subprocess'],
  ['supabase_mcp', 'mcp_server', 'subprocess'],
  ['github_mcp', 'mcp_server', 'subprocess'],
  ['filesystem_mcp', 'mcp_server', 'subprocess'],
  ['remote_llm_mcp', 'mcp_server', 'http_client'],
  ['hosted_tools_mcp', 'mcp_server', 'http_client'],
  ['supabase_execute_sql', 'mcp_tool', 'supabase_mcp'],
  ['github_create_pr', 'mcp_tool', 'github_mcp'],
  ['email_enricher', 'script', 'python_runtime'],
  ['weather_forecast', 'api', 'http_client'],
  ['slack_webhook', 'api', 'http_client'],
]

describe('T8: every example manifest is read unchanged', () => {
  test.each(EXPECTED.map((row, at) => [...row, TEXTS[at] ?? ''] as const))(
    '%s, a %s on %s',
    async (id, type, executor, text) => {
      const raw = await parseDocument(text, id)
      const before = structuredClone(raw)
      const { manifest, warnings } = readManifest(raw, { stem: null, category: null })
      expect(manifest).toMatchObject({ tool_id: id, tool_type: type, executor, category: null, tags: [] })
      expect(warnings).toEqual([])
      expect(checkExecutor(manifest)).toEqual([])
      expect(raw).toEqual(before)
    },
  )

  test('a thread without a description is read, and told of', async () => {
    const text =
      'tool_id: research_thread\ntool_type: thread\nexecutor: llm_runtime\nversion: "1.0.0"\nconfig:\n  directive: research_topic'
    const { manifest, warnings } = readManifest(await parseDocument(text, 'a'), {
      stem: null,
      category: null,
    })
    expect(manifest.description).toBe('')
    expect(warnings).toEqual(['"description" is missing: search will hardly find it'])
  })

  test('R44: the shell of a runtime is its command only when it has none', async () => {
    const text = TEXTS.find((candidate) => candidate.includes('tool_id: bash_runtime')) ?? ''
    const { manifest } = readManifest(await parseDocument(text, 'a'), { stem: null, category: null })
    expect(manifest.config).toEqual({ command: 'bash', timeout: 300 })
  })
})
