import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import type { Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { expectRefusal } from '../fixtures/expect-refusal.ts'
import { field, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
let service: Server
let origin: string
const seen: { method: string; url: string; headers: Record<string, unknown>; body: string }[] = []
let fails = 0

beforeAll(async () => {
  service = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
      answer(request.url ?? '', body, response)
    })
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  const port = String(field(service.address(), 'port'))
  origin = `http://127.0.0.1:${port}`
  temp = await openTempKiwi({
    environment: {
      KIWI_ALLOW_HOSTS: `127.0.0.1:${port}, 127.0.0.1:1`,
      ECHO_KEY: 'kiwi-canary-0123456789',
      OTHER: 'never-granted-value',
    },
  })
})
afterAll(async () => {
  await temp.close()
  service.closeAllConnections()
  service.close()
})

function answer(url: string, body: string, response: ServerResponse): void {
  const json = (status: number, value: unknown): void =>
    void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
  if (url.startsWith('/flaky')) return json(fails++ < 2 ? 503 : 200, { ok: true })
  if (url.startsWith('/500')) return json(500, { reason: 'broken' })
  if (url.startsWith('/big')) return void response.end('x'.repeat(2_000_000))
  if (url.startsWith('/hang')) return
  if (url.startsWith('/dies')) return void response.socket?.destroy()
  return json(200, { json: body === '' ? null : JSON.parse(body), headers: seen.at(-1)?.headers })
}

const api = (id: string, config: object, more: object = {}): Promise<Reply> =>
  temp.create(id, { tool_type: 'api', description: 'calls the service', config, ...more })
const expectError = (reply: Reply, code: string, message?: string): Promise<void> =>
  expectRefusal(temp, reply, code, message)

describe('services', () => {
  test('P8: 503, 503, 200 with two retries succeeds and says how often it tried', async () => {
    fails = 0
    await api('flaky', { url: `${origin}/flaky`, retries: 2, retry_delay: 0.01 })
    expect(await temp.run('flaky')).toMatchObject({
      status: 'success',
      data: { output: { ok: true }, status_code: 200, attempts: 3 },
    })
  })

  test('P6: the shipped sample runs against another origin, with every key of its manifest', async () => {
    const { data } = await temp.call('load', { item_type: 'tool', item_id: 'http_test' })
    const manifest = JSON.parse(
      JSON.stringify(field(data, 'metadata')).replaceAll('https://httpbin.org', origin),
    )
    delete manifest.tool_id
    await temp.create('http_local', manifest)
    expect(await temp.run('http_local', { text: 'hi', topic: 'a b/c', count: 3 })).toMatchObject({
      status: 'success',
      data: { output: { text: 'hi', tags: ['a b/c'], count: 3 } },
    })
    expect(seen.at(-1)).toMatchObject({
      method: 'POST',
      url: '/anything/a%20b%2Fc?lang=en',
      headers: { 'x-sample': 'kiwi', authorization: 'Bearer sample' },
    })
    await expectError(
      await temp.run('http_local', { text: 'hi', topic: '..' }),
      'INVALID_PARAMETERS',
      'topic',
    )
  })

  test('500 is an error that keeps the answer', async () => {
    await api('broken_service', { url: `${origin}/500` })
    const reply = await temp.run('broken_service')
    await expectError(reply, 'HTTP_STATUS')
    expect(reply.data).toMatchObject({ output: { reason: 'broken' }, status_code: 500 })
  })

  test('a refused connection and a name nobody knows', async () => {
    await api('refused', { url: 'http://127.0.0.1:1/' })
    await expectError(await temp.run('refused'), 'UPSTREAM_UNAVAILABLE')
    await api('unnamed', { url: 'http://nobody.invalid/', timeout: 10 })
    await expectError(await temp.run('unnamed'), 'UPSTREAM_UNAVAILABLE', 'nobody.invalid')
  })

  test('an answer over its cap is not taken', async () => {
    await api('big', { url: `${origin}/big`, max_response_bytes: 1000 })
    await expectError(await temp.run('big'), 'MESSAGE_TOO_LARGE')
  })

  test('a service that does not answer', async () => {
    await api('hangs', { url: `${origin}/hang`, timeout: 0.3 })
    await expectError(await temp.run('hangs'), 'TIMEOUT')
  })

  test('N16: a POST that may have arrived is not sent again, and says that nobody knows', async () => {
    const before = seen.length
    await api('dies', {
      method: 'POST',
      url: `${origin}/dies`,
      body: { a: 1 },
      retries: 3,
      retry_delay: 0.01,
    })
    await expectError(await temp.run('dies'), 'OUTCOME_UNKNOWN')
    expect(seen.length - before).toBe(1)
  })

  test('SSRF-01: an address that is not public is refused unless a person allowed it', async () => {
    for (const host of [
      '127.0.0.1:2',
      '10.0.0.1',
      '169.254.169.254',
      '[::1]',
      '0.0.0.0',
      'localhost:2',
      '2130706433',
    ]) {
      const id = `private_${host.replaceAll(/\W/g, '_')}`
      await api(id, { url: `http://${host}/`, timeout: 5 })
      const reply = await temp.run(id)
      await expectError(reply, 'EGRESS_DENIED')
      expect(reply.error?.details).toMatchObject({ layer: 'egress' })
    }
  })

  test('ENV-01: a parameter that looks like a variable is sent as it is', async () => {
    const before = seen.length
    await api('echo', { url: `${origin}/echo?q={q}` }, { parameters: [{ name: 'q' }] })
    await temp.run('echo', { q: '${OTHER}' })
    expect(seen[before]?.url).toBe('/echo?q=%24%7BOTHER%7D')
  })
})

describe('secrets', () => {
  const manifest = () => ({
    tool_type: 'api',
    description: 'echoes what it was sent',
    secrets: ['ECHO_KEY'],
    config: { url: `${origin}/echo`, auth: { type: 'bearer', token: '${ECHO_KEY}' } },
  })

  test('ENV-02: without a grant nothing is sent, and the grant to add is ready to paste', async () => {
    await temp.create('keyed', manifest())
    const before = seen.length
    const reply = await temp.run('keyed')
    await expectError(reply, 'SECRET_NOT_GRANTED', 'ECHO_KEY')
    expect(reply.error?.details).toMatchObject({ required: { tool: 'keyed', names: ['ECHO_KEY'] } })
    expect(seen.length).toBe(before)
  })

  test('RED-01, P7: with a grant it is sent, and shows up in no reply, record or file', async () => {
    const { data } = await temp.call('load', { item_type: 'tool', item_id: 'keyed' })
    const grant_hash = textField(data, 'grant_hash')
    const granted = await openTempKiwi({
      beside: temp,
      settings: {
        allow_hosts: [new URL(origin).host],
        grants: [{ tool: 'keyed', hash: grant_hash, names: ['ECHO_KEY'] }],
      },
      environment: { ECHO_KEY: 'kiwi-canary-0123456789' },
    })
    try {
      const reply = await granted.run('keyed')
      expect(seen.at(-1)?.headers['authorization']).toBe('Bearer kiwi-canary-0123456789')
      expect(JSON.stringify(reply)).not.toContain('kiwi-canary')
      expect(JSON.stringify(reply)).toContain('[REDACTED:ECHO_KEY]')
      const records = await granted.kiwi.store.records({ limit: 1000 })
      expect(JSON.stringify(records)).not.toContain('kiwi-canary')
      // A changed tool loses its grant.
      writeFileSync(
        join(temp.project, '.ai/tools/keyed.yaml'),
        JSON.stringify({ ...manifest(), version: '1.0.1' }),
      )
      expect((await granted.run('keyed')).error?.code).toBe('SECRET_NOT_GRANTED')
    } finally {
      await granted.close()
    }
    // By a process of its own: a file of the store that is opened and closed here would lose the store's locks.
    const found = spawnSync('grep', ['-rlF', 'kiwi-canary', temp.folder], { encoding: 'utf8' })
    expect(found).toMatchObject({ status: 1, stdout: '' })
  })
})
