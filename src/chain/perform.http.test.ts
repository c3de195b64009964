import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LoopbackServer, Received } from '../../test/fixtures/loopback-server.ts'
import { openLoopbackServer, reply } from '../../test/fixtures/loopback-server.ts'
import type { JsonObject } from '../shared/json.ts'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'

let temp: TempChain
let server: LoopbackServer
/** What the server answers to each path. */
const routes = new Map<string, (request: Received) => unknown>()

beforeAll(async () => {
  server = await openLoopbackServer((request) => {
    const route = routes.get(request.path.split('?')[0] ?? '')
    if (route === undefined)
      reply(request, 404, '{"error":"no such path"}', { 'content-type': 'application/json' })
    else route(request)
  })
  temp = await openTempChain({ allowHosts: [server.host] })
})
afterAll(async () => {
  await temp.close()
  await server.close()
})

const api = (id: string, config: JsonObject, more: JsonObject = {}): void =>
  temp.tool(id, { tool_type: 'api', config, ...more })
const json = (request: Received, value: unknown, status = 200): void =>
  reply(request, status, JSON.stringify(value), { 'content-type': 'application/json' })

describe('P10: an answer from the network', () => {
  test('JSON, with status, attempts and headers, but without cookies', async () => {
    routes.set('/ok', (request) =>
      reply(request, 200, '{"a":1}', {
        'content-type': 'application/json',
        'x-served-by': 'kiwi',
        'set-cookie': 'id=1',
      }),
    )
    api('ok', { url: `${server.url}/ok` })
    const { data } = await temp.run('ok')
    expect(data).toMatchObject({
      output: { a: 1 },
      status_code: 200,
      attempts: 1,
      headers: { 'x-served-by': 'kiwi' },
    })
    expect(data['headers']).not.toHaveProperty('set-cookie')
  })

  test('text is text, bytes are base64 and say so, nothing is null', async () => {
    routes.set('/text', (request) => reply(request, 200, 'plain', { 'content-type': 'text/plain' }))
    routes.set('/bytes', (request) =>
      reply(request, 200, Buffer.from([255, 0, 1]), { 'content-type': 'image/png' }),
    )
    routes.set('/none', (request) => reply(request, 204))
    for (const path of ['text', 'bytes', 'none']) api(path, { url: `${server.url}/${path}` })
    expect((await temp.run('text')).data['output']).toBe('plain')
    expect((await temp.run('bytes')).data).toMatchObject({ output: '/wAB', encoding: 'base64' })
    expect((await temp.run('none')).data).toMatchObject({ output: null, status_code: 204 })
  })

  test('JSON with a number that cannot be kept exactly stays text, and a warning says so', async () => {
    const text = '{"id":12345678901234567890}'
    routes.set('/large', (request) => reply(request, 200, text, { 'content-type': 'application/json' }))
    api('large', { url: `${server.url}/large`, response_transform: '$.id' })
    const { data, warnings } = await temp.run('large')
    expect(data).toMatchObject({ output: text, encoding: 'json' })
    expect(warnings).toEqual([expect.stringContaining('a number in it cannot be kept exactly')])
  })

  test('404 is HTTP_STATUS, and the body is kept', async () => {
    api('lost_page', { url: `${server.url}/nowhere`, response_transform: '$.a' })
    await expect(temp.run('lost_page')).rejects.toMatchObject({
      code: 'HTTP_STATUS',
      message: 'Cannot run "lost_page": 404 Not Found',
      partial: { output: { error: 'no such path' }, status_code: 404, attempts: 1 },
      details: { failure: 'status', status_code: 404, attempts: 1 },
    })
  })

  test('P8: 503, 503, 200 with two retries succeeds at the third attempt', async () => {
    let asked = 0
    routes.set('/busy', (request) => (++asked < 3 ? reply(request, 503) : json(request, { asked })))
    api('busy', { url: `${server.url}/busy`, retries: 2, retry_delay: 0.01 })
    expect((await temp.run('busy')).data).toMatchObject({
      output: { asked: 3 },
      attempts: 3,
      status_code: 200,
    })
  })

  test('P8: a POST that may have had an effect is not sent again, unless the manifest says it may', async () => {
    let asked = 0
    routes.set('/effect', (request) => {
      asked += 1
      reply(request, 503)
    })
    const config = { method: 'POST', url: `${server.url}/effect`, body: {}, retries: 2, retry_delay: 0.01 }
    api('effect', config)
    await expect(temp.run('effect')).rejects.toMatchObject({ code: 'HTTP_STATUS', details: { attempts: 1 } })
    api('harmless', config, { idempotent: true })
    await expect(temp.run('harmless')).rejects.toMatchObject({ details: { attempts: 3 } })
    expect(asked).toBe(4)
  })

  test.each<[string, unknown]>([
    ['$.forecast.daily[0:7]', [1, 2, 3, 4, 5, 6, 7]],
    ['forecast.daily[-1]', 9],
    ['$.a.b', null],
    ["$['forecast']['unit name']", 'c'],
  ])('P11: %s selects from the answer', async (response_transform, output) => {
    const forecast = { daily: [1, 2, 3, 4, 5, 6, 7, 8, 9], 'unit name': 'c' }
    routes.set('/forecast', (request) => json(request, { forecast }))
    api('forecast', { url: `${server.url}/forecast`, response_transform })
    expect((await temp.run('forecast')).data['output']).toEqual(output)
  })

  test('P11: the older spelling of the key means the same', async () => {
    routes.set('/forecast', (request) => json(request, { a: { b: 5 } }))
    api('forecast', { url: `${server.url}/forecast`, response_path: 'a.b' })
    expect((await temp.run('forecast')).data['output']).toBe(5)
  })

  test('no answer in time: TIMEOUT', async () => {
    routes.set('/silent', () => {})
    api('silent', { url: `${server.url}/silent`, timeout: 0.2 })
    await expect(temp.run('silent')).rejects.toMatchObject({
      code: 'TIMEOUT',
      partial: { output: null, status_code: 0 },
    })
  })

  test('the caller goes away: CANCELLED', async () => {
    routes.set('/silent', () => {})
    api('silent_post', { url: `${server.url}/silent` })
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 100)
    await expect(temp.run('silent_post', {}, controller.signal)).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  test('an answer over its limit: MESSAGE_TOO_LARGE', async () => {
    routes.set('/large', (request) => reply(request, 200, 'x'.repeat(5000)))
    api('large', { url: `${server.url}/large`, max_response_bytes: 100 })
    await expect(temp.run('large')).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' })
  })

  test('nobody listens: UPSTREAM_UNAVAILABLE', async () => {
    const other = await openTempChain({ allowHosts: ['127.0.0.1:1'] })
    try {
      other.tool('nobody', { tool_type: 'api', config: { url: 'http://127.0.0.1:1/' } })
      await expect(other.run('nobody')).rejects.toMatchObject({
        code: 'UPSTREAM_UNAVAILABLE',
        details: { failure: 'connection', status_code: 0 },
      })
    } finally {
      await other.close()
    }
  })

  test.each(['http://127.0.0.1:9/', 'http://10.0.0.5/', 'http://169.254.169.254/latest', 'http://[::1]:9/'])(
    'SSRF-01: %s is denied, with layer, rule and what is missing',
    async (url) => {
      api('private', { url })
      await expect(temp.run('private')).rejects.toMatchObject({
        code: 'EGRESS_DENIED',
        details: {
          failure: 'egress_denied',
          layer: 'egress',
          rule: 'public-addresses',
          required: { allow_hosts: [new URL(url).host] },
          resource: new URL(url).host,
        },
      })
    },
  )
})
