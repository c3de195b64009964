import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { LoopbackServer } from '../../test/fixtures/loopback-server.ts'
import { openLoopbackServer, reply } from '../../test/fixtures/loopback-server.ts'
import type { JsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'

const CANARY = 'kiwi-canary-0123456789'
const SECRETS = { FAKE_SECRET: CANARY, AWS_SECRET: CANARY, DEEPL_API_KEY: CANARY }
let temp: TempChain

const text = { type: 'string', required: true }
const bash = (id: string, lines: string, more: JsonObject = {}): void =>
  temp.tool(id, { tool_type: 'script', executor: 'bash_runtime', ...more }, { 'main.sh': lines })
const output = async (id: string, parameters?: JsonObject): Promise<string> =>
  textOf((await temp.run(id, parameters)).data['output'])
async function grant(id: string): Promise<void> {
  const { digest, secrets } = await temp.plan(id)
  temp.grants.push({ tool: id, hash: digest, names: [...secrets] })
}

describe('from an id to a program', () => {
  beforeAll(async () => {
    temp = await openTempChain({
      environment: {
        ...SECRETS,
        NODE_OPTIONS: '--no-such-option',
        BASH_ENV: '/evil',
        LD_TEST: 'x',
        LC_TIME: 'C',
      },
    })
  })
  afterAll(() => temp.close())

  test.each(['hello_world', 'hello_bash', 'hello_node'])('S15: the sample %s says hello', async (id) => {
    expect((await temp.run(id, { name: 'Ada' })).data).toEqual({ output: 'Hello, Ada!\n', return_code: 0 })
  })

  test('T2: a runtime for a language Kiwi has never heard of is a manifest, and a script on it runs', async () => {
    temp.tool('sed_runtime', {
      tool_type: 'runtime',
      executor: 'subprocess',
      locked: ['command', 'args'],
      config: { command: 'sed', args: ['-n', '-f', '{entrypoint}'], input_data: '{text}' },
    })
    const shout = { tool_type: 'script', executor: 'sed_runtime', parameters: [{ name: 'text', ...text }] }
    temp.tool('shout', shout, { 'main.sed': 's/hello/HELLO/p\n' })
    expect((await temp.plan('shout')).chain).toEqual(['shout', 'sed_runtime', 'subprocess'])
    expect((await temp.run('shout', { text: 'well hello' })).data['output']).toBe('well HELLO')
  })

  test('T9: lib/clearbit.py can be imported from main.py, and the folder is where it runs', async () => {
    temp.tool(
      'email_enricher',
      { tool_type: 'script', executor: 'python_runtime', parameters: [{ name: 'email', ...text }] },
      {
        'main.py':
          'import json, os, sys\nfrom lib.clearbit import company\nprint(json.dumps([company(json.load(sys.stdin)["email"]), sorted(os.listdir("."))]))\n',
        'lib/clearbit.py': 'def company(email):\n    return email.split("@")[1]\n',
        'lib/__init__.py': '',
      },
    )
    expect((await temp.run('email_enricher', { email: 'ada@example.com' })).data['output']).toEqual([
      'example.com',
      ['lib', 'main.py'],
    ])
  })

  test('ENV-06: a child sees the allow-list, what is declared and what was granted, and nothing else', async () => {
    bash('shows', 'env', { config: { env: { MODE: 'test' } } })
    const shown = await output('shows')
    const names = new Set(shown.split('\n').map((line) => line.split('=')[0] ?? ''))
    for (const name of ['PATH', 'HOME', 'LC_TIME', 'MODE', 'KIWI_PROJECT_PATH', 'KIWI_CALL_ID'])
      expect(names).toContain(name)
    for (const name of ['FAKE_SECRET', 'NODE_OPTIONS', 'BASH_ENV', 'LD_TEST'])
      expect(names).not.toContain(name)
    expect(shown).not.toContain(CANARY)
  })

  test('ENV-06: a granted secret reaches the child only where the manifest puts it', async () => {
    bash('keyed', '[ "$KEY" = kiwi-canary-0123456789 ] && echo same; env | grep -c canary', {
      secrets: ['FAKE_SECRET'],
      config: { env: { KEY: '${FAKE_SECRET}' } },
    })
    await expect(temp.run('keyed')).rejects.toMatchObject({ code: 'SECRET_NOT_GRANTED' })
    await grant('keyed')
    expect((await temp.run('keyed')).data['output']).toBe('same\n1\n')
  })

  test('ENV-02: a grant is void as soon as the tool changes', async () => {
    const manifest = { secrets: ['FAKE_SECRET'], config: { env: { KEY: '${FAKE_SECRET}' } } }
    bash('changing', 'echo 1', manifest)
    await grant('changing')
    expect((await temp.run('changing')).data['output']).toBe(1)
    bash('changing', 'echo 2', manifest)
    await expect(temp.run('changing')).rejects.toMatchObject({ code: 'SECRET_NOT_GRANTED' })
  })

  test('ENV-07: parameters reach the child as KIWI_PARAM_*, whatever they are called', async () => {
    bash(
      'params',
      'echo "$PATH|$KIWI_PARAM_PATH|$KIWI_PARAM_LD_PRELOAD|${LD_PRELOAD-unset}|$KIWI_PARAM___PROTO__"',
      {
        input_schema: { type: 'object' },
      },
    )
    const parameters: JsonObject = JSON.parse('{"PATH":"/evil","ld_preload":"x","__proto__":1}')
    const [path, ...rest] = (await output('params', parameters)).trim().split('|')
    expect(path).not.toContain('/evil')
    expect(rest).toEqual(['/evil', 'x', 'unset', '1'])
    await expect(temp.run('params', { 'a-b': 1, a_b: 2 })).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
    })
  })

  test('P4: what is too large for a variable comes by standard input', async () => {
    bash('large', 'echo "${#KIWI_PARAM_BIG} ${KIWI_PARAM_SMALL}"; wc -c', {
      parameters: [{ name: 'big' }, { name: 'small' }],
    })
    const parameters = { big: 'x'.repeat(100_000), small: 'y' }
    expect((await output('large', parameters)).split(/\s+/).filter(Boolean)).toEqual([
      '0',
      'y',
      String(JSON.stringify(parameters).length),
    ])
  })

  test.each([
    'x; touch PWNED',
    '$(touch PWNED)',
    '`touch PWNED`',
    '| touch PWNED',
    '\ntouch PWNED\n',
    "'; touch PWNED '",
    '&& touch PWNED',
  ])('CMD-01: %j is one argument of the program, and no shell reads it', async (value) => {
    temp.tool('echo_runtime', {
      tool_type: 'runtime',
      executor: 'subprocess',
      config: { command: 'printf', args: ['%s|', 'a={v}', '{v}'], cwd: '${PROJECT_PATH}' },
    })
    temp.tool('says', { tool_type: 'script', executor: 'echo_runtime', parameters: [{ name: 'v' }] })
    expect((await temp.run('says', { v: value })).data['output']).toBe(`a=${value}|${value}|`)
    expect(existsSync(join(temp.project, 'PWNED'))).toBe(false)
  })

  test('R20: a script gets its parameters on the command line in the order of its manifest', async () => {
    bash('copies', 'echo "$1 -> $2"', {
      config: { args_style: 'positional' },
      parameters: [{ name: 'from' }, { name: 'to', default: 'b' }],
    })
    expect((await temp.run('copies', { to: 'y', from: 'x' })).data['output']).toBe('x -> y\n')
    expect((await temp.run('copies', { from: 'x' })).data['output']).toBe('x -> b\n')
  })

  test('C7: a config that does not fit starts nothing', async () => {
    bash('unfit', `touch ${temp.project}/STARTED`, { config: { timeout: 'soon' } })
    await expect(temp.run('unfit')).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      details: { invalid: [{ name: 'timeout' }] },
    })
    expect(existsSync(join(temp.project, 'STARTED'))).toBe(false)
  })
})

describe('a chain of its own', () => {
  beforeEach(async () => {
    temp = await openTempChain()
  })
  afterEach(() => temp.close())

  test('T9: without a cache to write to, it runs from a folder of its own', async () => {
    writeFileSync(temp.cache, 'in the way')
    bash('anywhere', 'pwd; echo "$0"')
    const [cwd = '', script] = (await output('anywhere')).trim().split('\n')
    expect(cwd).toContain('kiwi-work-')
    expect(script).toBe(join(cwd, 'main.sh'))
    await temp.chain.close()
    expect(existsSync(cwd)).toBe(false)
  })

  test('after it is closed nothing is started, and what ran has ended', async () => {
    bash('long', 'sleep 60')
    const running = temp.run('long').catch((error: unknown) => error)
    const draft = await temp.draft('long')
    await temp.chain.close()
    expect(await running).toMatchObject({ code: expect.stringMatching(/^(?:CANCELLED|TOOL_FAILED)$/) })
    await expect(temp.chain.perform(draft)).rejects.toMatchObject({ code: 'TOOL_FAILED' })
  })
})

describe('from an id to a request', () => {
  let server: LoopbackServer

  beforeEach(async () => {
    server = await openLoopbackServer((request) =>
      reply(request, 200, JSON.stringify({ forecast: { daily: [1, 2, 3, 4, 5, 6, 7, 8] } }), {
        'content-type': 'application/json',
      }),
    )
    temp = await openTempChain({
      environment: { ...SECRETS, SLACK_WEBHOOK_URL: `${server.url}/services/T1/B2/x` },
      allowHosts: [server.host],
    })
  })
  afterEach(async () => {
    await temp.close()
    await server.close()
  })

  test('P6: the weather example', async () => {
    temp.tool('weather_forecast', {
      tool_type: 'api',
      executor: 'http_client',
      config: {
        method: 'GET',
        url_template: `${server.url}/v1/forecast?lat={lat}&lon={lon}&units=metric`,
        headers: { 'X-API-Key': '${AWS_SECRET}' },
        response_transform: '$.forecast.daily[0:7]',
      },
      secrets: ['AWS_SECRET'],
      parameters: ['lat', 'lon'].map((name) => ({ name, type: 'number', required: true })),
    })
    await grant('weather_forecast')
    expect((await temp.run('weather_forecast', { lat: 46.9, lon: -7.4 })).data['output']).toEqual([
      1, 2, 3, 4, 5, 6, 7,
    ])
    expect(server.received).toMatchObject([
      {
        method: 'GET',
        path: '/v1/forecast?lat=46.9&lon=-7.4&units=metric',
        headers: { 'x-api-key': CANARY },
      },
    ])
  })

  test('P6: the Slack example', async () => {
    temp.tool('slack_webhook', {
      tool_type: 'api',
      executor: 'http_client',
      config: {
        method: 'POST',
        url: '${SLACK_WEBHOOK_URL}',
        headers: { 'Content-Type': 'application/json' },
        body_template: { text: '{message}', channel: '{channel}' },
      },
      secrets: ['SLACK_WEBHOOK_URL'],
      parameters: [
        { name: 'message', ...text },
        { name: 'channel', type: 'string', default: '#general' },
      ],
    })
    await expect(temp.run('slack_webhook', { message: 'hi' })).rejects.toMatchObject({
      code: 'SECRET_NOT_GRANTED',
    })
    expect(server.received).toEqual([])
    await grant('slack_webhook')
    await temp.run('slack_webhook', { message: 'done "now"' })
    expect(server.received).toMatchObject([
      { method: 'POST', path: '/services/T1/B2/x', body: '{"text":"done \\"now\\"","channel":"#general"}' },
    ])
  })

  test('P6: the translate example', async () => {
    temp.tool('translate_text', {
      tool_type: 'api',
      executor: 'http_client',
      config: {
        method: 'POST',
        url: `${server.url}/v2/translate`,
        headers: { Authorization: 'DeepL-Auth-Key ${DEEPL_API_KEY}', 'Content-Type': 'application/json' },
        body_template: { text: ['{text}'], target_lang: '{target_lang}' },
      },
      secrets: ['DEEPL_API_KEY'],
      parameters: [
        { name: 'text', ...text },
        { name: 'target_lang', ...text },
      ],
    })
    await grant('translate_text')
    await temp.run('translate_text', { text: 'Guten Tag', target_lang: 'EN' })
    expect(server.received).toMatchObject([
      {
        headers: { authorization: `DeepL-Auth-Key ${CANARY}` },
        body: '{"text":["Guten Tag"],"target_lang":"EN"}',
      },
    ])
  })

  test('ENV-01: the sink receives the name of a variable, never its value', async () => {
    temp.tool('leaky', {
      tool_type: 'api',
      config: {
        method: 'POST',
        url: `${server.url}/?q={q}`,
        headers: { 'X-Q': '{q}' },
        body: { q: '{q}', list: ['a {q}'] },
      },
      parameters: [{ name: 'q' }],
    })
    await temp.run('leaky', { q: '${AWS_SECRET}' })
    const [received] = server.received
    expect(received).toMatchObject({
      path: '/?q=%24%7BAWS_SECRET%7D',
      headers: { 'x-q': '${AWS_SECRET}' },
      body: '{"q":"${AWS_SECRET}","list":["a ${AWS_SECRET}"]}',
    })
    expect(JSON.stringify([received?.path, received?.headers, received?.body])).not.toContain(CANARY)
  })

  test('ENV-02, SSRF-05, SSRF-07: what is refused never reaches the network', async () => {
    const tools: Readonly<Record<string, JsonObject>> = {
      greedy: { url: `${server.url}/`, headers: { X: '${AWS_SECRET}' } },
      chooses: { url: 'http://{v}/' },
      climbs: { url: `${server.url}/items/{v}` },
      breaks: { url: `${server.url}/`, headers: { X: '{v}' } },
      smuggles: { url: `${server.url}/`, headers: { 'Transfer-Encoding': 'chunked' } },
    }
    const codes: string[] = []
    for (const [id, config] of Object.entries(tools)) {
      temp.tool(id, { tool_type: 'api', config, parameters: [{ name: 'v' }] })
      const error: unknown = await temp
        .run(id, { v: id === 'climbs' ? '../admin' : 'a\r\nb' })
        .catch((thrown: unknown) => thrown)
      codes.push(error instanceof Error && 'code' in error ? String(error.code) : 'none')
    }
    expect(codes).toEqual([
      'SECRET_NOT_GRANTED',
      'INVALID_CONFIG',
      'INVALID_PARAMETERS',
      'INVALID_PARAMETERS',
      'INVALID_CONFIG',
    ])
    expect(server.received).toEqual([])
  })
})
