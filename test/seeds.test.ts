// The examples that the first designs of Kiwi gave, as they were written but for their addresses: each can be made by
// an agent, and what can be run here runs.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { JsonObject } from '../src/shared/json.ts'
import type { Reply } from '../src/shared/reply.ts'
import type { LoopbackServer } from './fixtures/loopback-server.ts'
import { openLoopbackServer, reply } from './fixtures/loopback-server.ts'
import { makeWheel } from './fixtures/wheels.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

/** The compiler itself: what is on the PATH may be a shim that looks for it in the home folder. */
const COMPILER = 'rustc'
const RUST = spawnSync(COMPILER, ['--print', 'sysroot'], { encoding: 'utf8' }).stdout?.trim() ?? ''
const PATH = `${RUST === '' ? '' : `${join(RUST, 'bin')}:`}${process.env['PATH'] ?? ''}`
const SECRETS = {
  WEATHER_API_KEY: 'weather-key-0001',
  DEEPL_API_KEY: 'deepl-key-000001',
  SLACK_WEBHOOK: 'T000/B000/secret',
}
let server: LoopbackServer
let temp: TempKiwi
/** The person, who looks at what is asked for and grants it. */
let granted: TempKiwi | null = null

const answers: Readonly<Record<string, unknown>> = {
  '/v1/forecast': { forecast: { daily: Array.from({ length: 10 }, (_, day) => ({ day })) } },
  '/forecast': { forecast: { daily: [{ day: 0 }] } },
  '/v2/translate': { translations: [{ text: 'Hallo' }] },
}

beforeAll(async () => {
  server = await openLoopbackServer((request) => {
    const found = answers[new URL(request.path, 'http://x').pathname] ?? { ok: true }
    reply(request, 200, JSON.stringify(found), { 'content-type': 'application/json' })
  })
  temp = await openTempKiwi({ environment: { ...SECRETS, PATH, SLACK_WEBHOOK_URL: `${server.url}/hook` } })
  makePackages(join(temp.folder, 'wheels'))
})
afterAll(async () => {
  await granted?.close()
  await temp.close()
  await server.close()
})

/** What these examples import, as far as they use it. */
function makePackages(folder: string): void {
  mkdirSync(folder)
  const httpx = `class Answer:
    def __init__(self, url): self.url = url
    def json(self): return {"company_name": "Example", "url": self.url}
async def get(url): return Answer(url)
`
  const textblob = `class TextBlob:
    def __init__(self, text): self.sentiment = type("S", (), {"polarity": float(len(text)), "subjectivity": 0.5})
`
  makeWheel(folder, { name: 'httpx', version: '0.27.0', modules: { 'httpx.py': httpx } })
  makeWheel(folder, { name: 'pydantic', version: '2.7.0', modules: { 'pydantic.py': '' } })
  makeWheel(folder, { name: 'textblob', version: '0.18.0', modules: { 'textblob.py': textblob } })
}

const create = (parameters: JsonObject, item_id?: string): Promise<Reply> =>
  temp.call('execute', { item_type: 'tool', action: 'create', ...(item_id ? { item_id } : {}), parameters })
const Required = z.object({ tool: z.string(), hash: z.string(), names: z.array(z.string()) })

/** Runs a tool after a person gave it what it asked for. */
async function run(id: string, parameters: JsonObject = {}): Promise<Reply> {
  const grants: z.infer<typeof Required>[] = []
  const refused = await temp.run(id, parameters)
  if (refused.error?.code === 'SECRET_NOT_GRANTED')
    grants.push(Required.parse(refused.error.details['required']))
  await granted?.close()
  granted = await openTempKiwi({
    beside: temp,
    environment: { ...SECRETS, PATH, SLACK_WEBHOOK_URL: `${server.url}/hook` },
    settings: {
      grants,
      allow_hosts: [server.host],
      packages: { python: { find_links: [join(temp.folder, 'wheels')], no_index: true } },
    },
  })
  return granted.run(id, parameters)
}

const BUILDS = 120_000

describe('T8, T13: scripts', () => {
  test('seed 000: test_script', async () => {
    const manifest = { version: '1.0.0', description: 'x', config: { entrypoint: 'main.py' } }
    const files = { 'main.py': 'print("Hello from test")' }
    await create({ tool_id: 'test_script', tool_type: 'script', executor: 'python_runtime', manifest, files })
    expect(await run('test_script')).toMatchObject({
      data: { output: 'Hello from test\n' },
      metadata: { executor_chain: ['test_script', 'python_runtime', 'subprocess'] },
    })
  })

  test(
    'seed 001: email_enricher, a folder with a library, packages and a coroutine',
    async () => {
      const tool = `tool_id: email_enricher
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
`
      temp.write('tools/email_enricher/tool.yaml', tool)
      temp.write('tools/email_enricher/requirements.txt', 'httpx>=0.24.0\npydantic>=2.0')
      temp.write(
        'tools/email_enricher/main.py',
        'import httpx\nfrom lib.clearbit import ClearbitClient\n\nasync def run(email: str):\n    return await ClearbitClient().find(email)\n',
      )
      temp.write(
        'tools/email_enricher/lib/clearbit.py',
        'import httpx\n\nclass ClearbitClient:\n    async def find(self, email):\n        found = (await httpx.get("https://clearbit.com")).json()\n        return {"company_name": found["company_name"], "domain": email.split("@")[1]}\n',
      )
      const ran = await run('email_enricher', { email: 'ada@example.com' })
      expect(ran).toMatchObject({ data: { output: { company_name: 'Example', domain: 'example.com' } } })
      expect(ran.metadata.warnings).toEqual([expect.stringContaining('is not signed')])
    },
    BUILDS,
  )

  test(
    'seed 001: analyze_sentiment, with a guard and its arguments by place',
    async () => {
      const made = await create({
        tool_id: 'analyze_sentiment',
        tool_type: 'script',
        executor: 'python_runtime',
        manifest: {
          version: '1.0.0',
          description: 'Analyze text sentiment',
          config: { entrypoint: 'main.py', requires: ['textblob'] },
          parameters: [{ name: 'text', type: 'string', required: true }],
        },
        files: {
          'main.py': `
from textblob import TextBlob
import json
import sys

def run(text):
    blob = TextBlob(text)
    return {"polarity": blob.sentiment.polarity, "subjectivity": blob.sentiment.subjectivity}

if __name__ == "__main__":
    result = run(sys.argv[1])
    print(json.dumps(result))
`,
        },
      })
      expect(made.error).toBeNull()
      expect(await run('analyze_sentiment', { text: 'good' })).toMatchObject({
        data: { output: { polarity: 4, subjectivity: 0.5 } },
      })
    },
    BUILDS,
  )

  test(
    'seed 004: email_enricher of the type python, with executor_config',
    async () => {
      const made = await create({
        content: {
          tool_id: 'email_enricher_004',
          tool_type: 'python',
          version: '1.0.0',
          description: 'Enrich email with company info from Clearbit',
          executor_config: { entrypoint: 'main.py', requires: ['httpx'] },
          parameters: [{ name: 'email', type: 'string', required: true }],
        },
        files: {
          'main.py': `
"""
Enrich email addresses with company information.
"""
import httpx

async def run(email: str) -> dict:
    domain = email.split("@")[1]
    response = await httpx.get(f"https://clearbit.com/v1/companies/{domain}")
    return response.json()
`,
        },
      })
      expect(made.error).toBeNull()
      expect(await run('email_enricher_004', { email: 'ada@example.com' })).toMatchObject({
        data: { output: { company_name: 'Example', url: 'https://clearbit.com/v1/companies/example.com' } },
      })
    },
    BUILDS,
  )

  test('seed 002: a file that says of itself what it is', async () => {
    temp.write(
      'tools/utility/count_words.py',
      `"""Count words in a text.

Config Schema:
    text (string, required): the text
"""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = "utility"

def main(text):
    return {"words": len(text.split())}
`,
    )
    expect(await run('count_words', { text: 'one two' })).toMatchObject({ data: { output: { words: 2 } } })
    expect((await run('count_words')).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      details: { missing: ['text'] },
    })
  })

  test.skipIf(RUST === '')(
    'seed 001: rust_runtime compiles what it runs',
    async () => {
      const made = await create({
        tool_id: 'rust_runtime',
        tool_type: 'runtime',
        executor: 'subprocess',
        manifest: {
          version: '1.0.0',
          description: 'Compiles and runs Rust code',
          config: { compile_command: 'rustc', run_command: './{binary}' },
        },
      })
      expect(made.error).toBeNull()
      const manifest = { tool_type: 'script', executor: 'rust_runtime', description: 'x' }
      await temp.create('hello_rust', manifest, { 'main.rs': 'fn main() { println!("Hello, Rust!"); }' })
      expect(await run('hello_rust')).toMatchObject({ data: { output: 'Hello, Rust!\n' } })
    },
    BUILDS,
  )
})

/** An example as it was written, its addresses replaced by ours. */
const seed = (path: string): string =>
  readFileSync(join(import.meta.dirname, 'fixtures/seeds/tools', path), 'utf8').replaceAll(
    /https:\/\/[a-z.]+/g,
    server.url,
  )

describe('T8, T13: calls of services, with what a person granted', () => {
  const make = async (path: string): Promise<void> => {
    expect((await create({ content: seed(path) })).error).toBeNull()
  }

  test('seed 001: weather_forecast takes a part of the answer', async () => {
    await make('001/weather_forecast.yaml')
    expect(await run('weather_forecast', { lat: 52.5, lon: -13.4 })).toMatchObject({
      data: { output: [{ day: 0 }, { day: 1 }, {}, {}, {}, {}, { day: 6 }] },
    })
    expect(server.received.at(-1)).toMatchObject({
      path: '/v1/forecast?lat=52.5&lon=-13.4&units=metric',
      headers: { 'x-api-key': SECRETS.WEATHER_API_KEY },
    })
  })

  test('seed 004: weather_forecast with executor_config and response_path', async () => {
    const content = seed('004/weather_forecast.json').replace('weather_forecast', 'weather_forecast_004')
    expect((await create({ content })).error).toBeNull()
    expect(await run('weather_forecast_004', { lat: 1, lon: 2 })).toMatchObject({ status: 'success' })
    expect(server.received.at(-1)?.headers['authorization']).toBe(`Bearer ${SECRETS.WEATHER_API_KEY}`)
  })

  test('seed 001: translate_text sends a body', async () => {
    await make('001/translate_text.json')
    expect(await run('translate_text', { text: 'Hello "you"', target_lang: 'DE' })).toMatchObject({
      data: { output: { translations: [{ text: 'Hallo' }] } },
    })
    const { headers, body } = server.received.at(-1) ?? { headers: {}, body: '' }
    expect(headers).toMatchObject({ authorization: `DeepL-Auth-Key ${SECRETS.DEEPL_API_KEY}` })
    expect(JSON.parse(body)).toEqual({ text: ['Hello "you"'], target_lang: 'DE' })
  })

  test('seed 001: slack_webhook, whose address is the secret', async () => {
    await make('001/slack_webhook.yaml')
    expect(await run('slack_webhook', { message: 'hi' })).toMatchObject({ status: 'success' })
    expect(JSON.parse(server.received.at(-1)?.body ?? '')).toEqual({ text: 'hi', channel: '#general' })
  })

  test('seed 004: slack_notify, made and used by an agent', async () => {
    await make('004/slack_notify.json')
    const ran = await run('slack_notify', { message: 'Deployment complete!' })
    expect(ran).toMatchObject({ status: 'success', data: { output: { ok: true } } })
    expect(server.received.at(-1)).toMatchObject({ body: '{"text":"Deployment complete!"}' })
    expect(JSON.stringify(ran)).not.toContain(SECRETS.SLACK_WEBHOOK)
  })

  test('seed 002: an API tool that is written in Python', async () => {
    temp.write('tools/call_service.py', seed('002/http_test.py'))
    expect(await run('call_service')).toMatchObject({ data: { output: { ok: true } } })
  })
})

describe('T8: what needs a server or a model is made and loaded', () => {
  test.each([
    ['supabase_mcp', '001/supabase_mcp.yaml', 'mcp'],
    ['github_mcp', '001/github_mcp.yaml', 'mcp'],
    ['filesystem_mcp', '001/filesystem_mcp.yaml', 'mcp'],
    ['remote_llm_mcp', '001/remote_llm_mcp.yaml', 'mcp'],
    ['hosted_tools_mcp', '001/hosted_tools_mcp.yaml', 'mcp'],
    ['notion_mcp', '001/notion_mcp.json', 'mcp'],
    ['supabase_execute_sql', '001/supabase_execute_sql.yaml', 'tool'],
    ['github_create_pr', '001/github_create_pr.yaml', 'tool'],
    ['research_topic', '001/research_topic.yaml', 'directive'],
    ['research_thread', '001/again/research_thread.yaml', 'tool'],
    ['api_design_patterns', '001/api_design_patterns.yaml', 'knowledge'],
  ])('%s', async (item_id, path, item_type) => {
    const made = await temp.call('execute', {
      item_type,
      action: 'create',
      item_id,
      parameters:
        item_type === 'knowledge' ? { manifest: seed(path), content: 'x' } : { content: seed(path) },
    })
    expect(made.error).toBeNull()
    expect((await temp.load(item_id, { item_type })).data).toMatchObject({ name: item_id })
  })
})

test('seed 000: bash_runtime with rules, under a name of its own', async () => {
  await create({
    tool_id: 'own_bash',
    tool_type: 'runtime',
    executor: 'subprocess',
    manifest: {
      version: '1.0.0',
      description: 'x',
      config: { command: 'bash' },
      validation: {
        rules: [
          { type: 'shebang_required', pattern: '^#!' },
          { type: 'pattern_check', patterns: { dangerous: ['rm -rf /', ':(){ :|:& };:'], block: true } },
        ],
      },
    },
  })
  const script = (text: string): Promise<Reply> =>
    create({
      tool_id: 'own_script',
      tool_type: 'script',
      executor: 'own_bash',
      manifest: { description: 'x' },
      files: { 'main.sh': text },
    })
  expect((await script('echo hi\n:(){ :|:& };:')).error?.details).toMatchObject({
    findings: [{ rule: 'shebang_required' }, { rule: 'pattern_check', line: 2 }],
  })
  expect((await script('#!/bin/bash\necho hi')).error).toBeNull()
  expect(await run('own_script')).toMatchObject({ data: { output: 'hi\n' } })
})
