import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LoopbackServer } from './fixtures/loopback-server.ts'
import { openLoopbackServer, reply } from './fixtures/loopback-server.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi } from './temp-kiwi.ts'

const CANARY = 'kiwi-canary-of-the-outputs'
let temp: TempKiwi
let server: LoopbackServer
beforeAll(async () => {
  server = await openLoopbackServer((request) =>
    reply(request, 200, '{"hello":"there"}', { 'content-type': 'application/json' }),
  )
  temp = await openTempKiwi({ environment: { OUTPUT_KEY: CANARY }, settings: { allow_hosts: [server.host] } })
})
afterAll(async () => {
  await temp.close()
  await server.close()
})

const folderOf = (id: string): string => join(temp.project, '.ai/outputs/tools', id)
function lastOf(id: string): unknown {
  const [last = ''] = readdirSync(folderOf(id)).toSorted().toReversed()
  return JSON.parse(readFileSync(join(folderOf(id), last), 'utf8'))
}

test('L6: a run is saved whole, with what it was asked and how it ended', async () => {
  await temp.create(
    'counts',
    { ...BASH, parameters: [{ name: 'n' }, { name: 'api_key' }] },
    { 'main.sh': 'seq "$KIWI_PARAM_N"' },
  )
  const ran = await temp.run('counts', { n: '20000', api_key: 'shown to nobody' })
  expect(ran.data).toMatchObject({ truncated: true })
  expect(lastOf('counts')).toEqual({
    tool_id: 'counts',
    version: '1.0.0',
    call_id: ran.metadata.call_id,
    started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    parameters: { n: '20000', api_key: '[REDACTED]' },
    status: 'success',
    error: null,
    output: `${Array.from({ length: 20_000 }, (_, n) => n + 1).join('\n')}\n`,
    metadata: {
      executor_chain: ['counts', 'bash_runtime', 'subprocess'],
      duration_ms: expect.any(Number),
      return_code: 0,
    },
  })
})

test('L6: so is one that failed, with what it had done', async () => {
  await temp.create('fails', BASH, { 'main.sh': 'echo so far; echo oh >&2; exit 3' })
  await temp.run('fails')
  expect(lastOf('fails')).toMatchObject({
    status: 'error',
    error: { code: 'TOOL_FAILED', message: expect.stringContaining('code 3') },
    output: 'so far\n',
    metadata: { stderr: 'oh\n', return_code: 3 },
  })
})

test('L6: and the answer of a service; a shipped sample too', async () => {
  const config = { url: `${server.url}/x` }
  await temp.create('asks', { tool_type: 'api', description: 'x', config })
  expect((await temp.run('asks')).status).toBe('success')
  expect(lastOf('asks')).toMatchObject({ output: { hello: 'there' }, metadata: { status_code: 200 } })
  await temp.run('hello_bash')
  expect(lastOf('hello_bash')).toMatchObject({ output: 'Hello, World!\n' })
})

test('L6, ENV-02: what was granted stands in no file', async () => {
  const manifest = {
    ...BASH,
    secrets: ['OUTPUT_KEY'],
    config: { env: { KEY: '${OUTPUT_KEY}' } },
    parameters: [{ name: 'note' }],
  }
  await temp.create('tells', manifest, {
    'main.sh': 'echo "$KEY $KIWI_PARAM_NOTE"; printf "%s" "$KEY" | base64 >&2; exit 1',
  })
  const refused = await temp.run('tells')
  const required = refused.error?.details['required']
  const other = await openTempKiwi({
    beside: temp,
    environment: { OUTPUT_KEY: CANARY },
    settings: { grants: [required] },
  })
  try {
    expect((await other.run('tells', { note: `it is ${CANARY}` })).error?.code).toBe('TOOL_FAILED')
  } finally {
    await other.close()
  }
  const text = JSON.stringify(lastOf('tells'))
  expect(text).toContain('[REDACTED:OUTPUT_KEY]')
  expect(text).not.toContain(CANARY)
  expect(text).not.toContain(Buffer.from(CANARY).toString('base64').slice(0, 12))
})

test('L6: what was not run has no result: refused, rehearsed, or only read', async () => {
  await temp.create('needs', { ...BASH, parameters: [{ name: 'x', required: true }] }, { 'main.sh': 'true' })
  await temp.run('needs')
  await temp.call('execute', {
    item_type: 'tool',
    action: 'run',
    item_id: 'needs',
    parameters: { x: '1' },
    dry_run: true,
  })
  await temp.run('kiwi-overview')
  expect(existsSync(folderOf('needs'))).toBe(false)
  expect(existsSync(folderOf('kiwi-overview'))).toBe(false)
})
