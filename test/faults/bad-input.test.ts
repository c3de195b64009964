import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field, textField } from '../fixtures/field.ts'
import { isAlive } from '../fixtures/probe.ts'
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
const BASH = { tool_type: 'bash', description: 'a tool of the tests' }
const bash = (id: string, lines: string, config: object = {}): Promise<Reply> =>
  temp.create(id, { ...BASH, config }, { 'main.sh': lines })

/** Typed, with a hint, on record, and nothing died. */
async function expectError(reply: Reply, code: string, message?: string): Promise<void> {
  expect(reply.error).toMatchObject({ code, hint: expect.stringMatching(/\S/) })
  if (message !== undefined) expect(reply.error?.message).toContain(message)
  const records = await temp.kiwi.store.journal.read({ limit: 5, call_id: reply.metadata.call_id })
  expect(records.map(({ kind }) => kind).toSorted()).toEqual(['decision', 'outcome'])
  expect(await temp.run('hello_bash')).toMatchObject({ status: 'success' })
}

describe('parameters', () => {
  test('5 MB are refused with the limit', async () => {
    await expectError(
      await temp.run('hello_bash', { name: 'x'.repeat(5_000_000) }),
      'MESSAGE_TOO_LARGE',
      '4194304',
    )
  })

  test('1 MB reach a script by standard input', async () => {
    await bash('counts', 'wc -c')
    await temp.create(
      'counts_all',
      { ...BASH, parameters: [{ name: 'text', type: 'string' }] },
      { 'main.sh': 'wc -c' },
    )
    expect(await temp.run('counts_all', { text: 'x'.repeat(1_000_000) })).toMatchObject({
      data: { output: 1_000_011 },
    })
  })

  test('a NUL byte is refused by name, in a parameter and in an id', async () => {
    await expectError(await temp.run('hello_bash', { name: 'a\0b' }), 'INVALID_PARAMETERS', 'NUL')
    await expectError(await temp.run('hello\0bash'), 'INVALID_PARAMETERS')
  })

  test('PAR-06: keys that reach a prototype are refused', async () => {
    await expectError(
      await temp.run('hello_bash', JSON.parse('{"__proto__": {"isAdmin": true}}')),
      'INVALID_PARAMETERS',
      '__proto__',
    )
    expect(field({}, 'isAdmin')).toBeUndefined()
  })

  test('nesting without end is refused', async () => {
    await expectError(
      await temp.run('hello_bash', { name: JSON.parse('['.repeat(1000) + ']'.repeat(1000)) }),
      'TOO_DEEP',
    )
  })

  test('CMD-01: what would mean something to a shell is one plain argument', async () => {
    await temp.create(
      'says',
      {
        ...BASH,
        tool_type: 'script',
        executor: 'bash_runtime',
        config: { args_style: 'positional' },
        parameters: [{ name: 'text' }],
      },
      { 'main.sh': 'printf %s "$1"' },
    )
    const text = `x; touch ${temp.folder}/PWNED; $(touch ${temp.folder}/PWNED) \`id\` | cat\nnext`
    expect(await temp.run('says', { text })).toMatchObject({ data: { output: text } })
    expect(existsSync(join(temp.folder, 'PWNED'))).toBe(false)
  })
})

describe('manifests and chains', () => {
  test('C4, CHN-01: a loop is refused, naming the way round', async () => {
    temp.write('tools/a.yaml', 'tool_type: runtime\nexecutor: b\nversion: 1.0.0\ndescription: x\n')
    temp.write('tools/b.yaml', 'tool_type: runtime\nexecutor: a\nversion: 1.0.0\ndescription: x\n')
    const reply = await temp.run('a')
    await expectError(reply, 'EXECUTOR_CYCLE', 'loops at "a"')
    expect(reply.error?.details['chain']).toEqual(['a', 'b', 'a'])
  })

  test('a missing executor names the tool and the executor', async () => {
    temp.write(
      'tools/orphan.yaml',
      'tool_type: script\nexecutor: cobol_runtime\nversion: 1.0.0\ndescription: x\n',
    )
    const reply = await temp.run('orphan')
    await expectError(reply, 'EXECUTOR_MISSING', '"cobol_runtime"')
    expect(reply.error?.fix).toMatchObject({ call: 'search' })
    await expectError(
      await temp.create(
        'orphan2',
        { tool_type: 'script', executor: 'cobol_runtime', description: 'x' },
        { 'main.cob': '' },
      ),
      'EXECUTOR_MISSING',
    )
    expect(existsSync(join(temp.project, '.ai/tools/orphan2'))).toBe(false)
  })

  test('broken YAML names the file, the line and the column', async () => {
    const path = temp.write(
      'tools/crooked.yaml',
      'tool_type: script\nexecutor: bash_runtime\n  version: [1.0\n',
    )
    await expectError(await temp.run('crooked'), 'PARSE_ERROR', path)
    await expectError(
      await temp.call('execute', {
        item_type: 'tool',
        action: 'create',
        item_id: 'x',
        parameters: { content: 'a: 1\na: 2' },
      }),
      'PARSE_ERROR',
      'line 2',
    )
  })

  test('CHN-03: a script cannot change the program of its runtime', async () => {
    const reply = await bash('loose', 'true', { command: '/bin/sh', args: ['-c', 'id'] })
    await expectError(reply, 'INVALID_CONFIG', '"command"')
  })

  test('C7: a config that does not fit its primitive is refused before anything starts', async () => {
    await expectError(await api('nowhere', { method: 'GET' }), 'INVALID_CONFIG', 'url')
    await expectError(await bash('bad_timeout', 'true', { timeout: 'soon' }), 'INVALID_CONFIG', 'timeout')
  })
})

describe('programs', () => {
  test('a command that is not there', async () => {
    await temp.create('ghost_runtime', {
      tool_type: 'runtime',
      executor: 'subprocess',
      description: 'x',
      config: { command: 'no-such-program-here' },
    })
    await temp.create(
      'ghost',
      { tool_type: 'script', executor: 'ghost_runtime', description: 'x' },
      { 'main.x': '' },
    )
    await expectError(await temp.run('ghost'), 'COMMAND_NOT_FOUND', 'no-such-program-here')
  })

  test('a command that may not be started', async () => {
    const program = join(temp.folder, 'plain-file')
    writeFileSync(program, 'not a program', { mode: 0o644 })
    await temp.create('plain_runtime', {
      tool_type: 'runtime',
      executor: 'subprocess',
      description: 'x',
      config: { command: program },
    })
    await temp.create(
      'plain',
      { tool_type: 'script', executor: 'plain_runtime', description: 'x' },
      { 'main.x': '' },
    )
    const reply = await temp.run('plain')
    await expectError(reply, 'COMMAND_NOT_EXECUTABLE', 'plain-file')
  })

  test('a timeout keeps what was written before it, and leaves nobody behind', async () => {
    await bash('slow', `echo before; sleep 300 & echo $! > '${temp.folder}/pid'; wait`, {
      timeout: 0.5,
      kill_grace: 0.2,
    })
    const reply = await temp.run('slow')
    await expectError(reply, 'TIMEOUT')
    expect(reply).toMatchObject({ data: { output: 'before\n' }, error: { retryable: true } })
    expect(isAlive(Number(readFileSync(join(temp.folder, 'pid'), 'utf8')))).toBe(false)
  })

  test('10 MB of output are cut at their limit, said so, and paged', async () => {
    await bash('floods', 'head -c 10000000 /dev/zero | tr "\\\\0" x')
    const reply = await temp.run('floods')
    expect(reply).toMatchObject({
      status: 'success',
      data: { truncated: true, output_bytes: 8 * 1024 * 1024, rest: { call: 'load' } },
    })
    expect(reply.metadata.warnings?.join()).toContain('cut')
    expect(Buffer.byteLength(JSON.stringify(reply))).toBeLessThan(40_000)
    const rest = field(reply.data, 'rest', 'arguments')
    const page = await temp.call('load', {
      ...(typeof rest === 'object' ? rest : {}),
      offset: 8 * 1024 * 1024 - 10,
    })
    expect(page.data).toMatchObject({ text: 'x'.repeat(10), next_offset: null })
  })

  test('ENV-06: a child sees the allow-list, what was declared, and nothing else of ours', async () => {
    await bash('shows_env', 'env', { env: { DECLARED: 'yes' } })
    const { data } = await temp.run('shows_env')
    const names = textField(data, 'output')
      .split('\n')
      .map((line) => line.split('=')[0])
    expect(names).toContain('DECLARED')
    expect(JSON.stringify(data)).not.toContain('never-granted-value')
    const allowed =
      /^(?:PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|USER|SHELL|TERM|DECLARED|KIWI_\w+|PWD|OLDPWD|SHLVL|_|)$/
    expect(names.filter((name) => !allowed.test(name ?? ''))).toEqual([])
  })
})

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
      headers: { 'x-sample': 'kiwi' },
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
      const records = await granted.kiwi.store.journal.read({ limit: 1000 })
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

test('SANDBOX: what requires a sandbox is refused rather than run bare', async () => {
  await temp.create('caged', { ...BASH, sandbox: { level: 'strict', required: true } }, { 'main.sh': 'true' })
  await expectError(await temp.run('caged'), 'SANDBOX_UNAVAILABLE')
})
