import { chmodSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { StartFailure } from '../primitives/subprocess/command.ts'
import { notRun } from '../primitives/subprocess/command.ts'
import type { LoopbackServer, Received } from '../../test/fixtures/loopback-server.ts'
import { openLoopbackServer, reply } from '../../test/fixtures/loopback-server.ts'
import type { JsonObject } from '../shared/json.ts'
import type { PerformMeans } from './perform-means.ts'
import { perform } from './perform.ts'
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

const bash = (id: string, text: string, more: JsonObject = {}): void =>
  temp.tool(id, { tool_type: 'script', executor: 'bash_runtime', ...more }, { 'main.sh': text })
const api = (id: string, config: JsonObject, more: JsonObject = {}): void =>
  temp.tool(id, { tool_type: 'api', config, ...more })
const json = (request: Received, value: unknown, status = 200): void =>
  reply(request, status, JSON.stringify(value), { 'content-type': 'application/json' })

describe('R21: what a program wrote', () => {
  test.each<[string, unknown]>([
    ['{"a":[1,null]}', { a: [1, null] }],
    ['  [1,2]\n', [1, 2]],
    ['"text"', 'text'],
    ['42\n', 42],
    ['-1.5', -1.5],
    ['true', true],
    ['null', null],
  ])('%j is one JSON value: it is the output, and the text is kept beside it', async (text, output) => {
    bash('prints', 'printf %s "$KIWI_PARAM_TEXT"', { parameters: [{ name: 'text' }] })
    expect((await temp.run('prints', { text })).data).toEqual({ output, stdout: text, return_code: 0 })
  })

  test.each([
    'hello\n',
    '',
    '{"a":1} {"b":2}',
    '{a:1}',
    'not json',
    'nil',
    '{"__proto__":{"a":1}}',
    '1e999',
    `${'['.repeat(100)}${']'.repeat(100)}`,
  ])('%j is text', async (text) => {
    bash('prints', 'printf %s "$KIWI_PARAM_TEXT"', { parameters: [{ name: 'text' }] })
    expect((await temp.run('prints', { text })).data).toEqual({ output: text, return_code: 0 })
  })

  test('to standard error is shown when there is something', async () => {
    bash('warns', 'echo careful >&2; echo done')
    expect((await temp.run('warns')).data).toEqual({ output: 'done\n', stderr: 'careful\n', return_code: 0 })
  })

  test('beyond the limit is cut, and a warning says so', async () => {
    bash('floods', 'head -c 5000 /dev/zero | tr "\\0" x', { config: { max_output_bytes: 100 } })
    const { data, warnings } = await temp.run('floods')
    expect(data).toMatchObject({ output: 'x'.repeat(100), truncated: true })
    expect(warnings).toEqual(['the output was over its limit and is cut'])
  })

  test('P1: nothing is kept when the config says so', async () => {
    bash('quiet', 'echo out; echo err >&2', { config: { capture_output: false } })
    expect((await temp.run('quiet')).data).toEqual({ output: '', return_code: 0 })
  })
})

describe('T8: an output that is not what the manifest promises', () => {
  const outputs = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n', 'm'] }

  test('is a warning that names the fields, not a failure', async () => {
    bash('breaks', `echo '{"n":"x"}'`, { outputs })
    const { data, warnings } = await temp.run('breaks')
    expect(data['output']).toEqual({ n: 'x' })
    expect(warnings).toEqual([
      'the output is not what the manifest promises: "m" is missing; "n" must be integer',
    ])
  })

  test('is not filled up with defaults', async () => {
    bash('fills', `echo '{}'`, { outputs: { type: 'object', properties: { n: { default: 1 } } } })
    expect(await temp.run('fills')).toEqual({
      data: { output: {}, stdout: '{}\n', return_code: 0 },
      warnings: [],
    })
  })

  test('is also seen on an answer from the network', async () => {
    routes.set('/promised', (request) => json(request, { n: 1 }))
    api('promised', { url: `${server.url}/promised` }, { outputs })
    expect((await temp.run('promised')).warnings).toEqual([
      'the output is not what the manifest promises: "m" is missing',
    ])
  })

  test('what keeps the promise is not remarked on', async () => {
    bash('keeps', `echo '{"n":1,"m":2}'`, { outputs })
    expect((await temp.run('keeps')).warnings).toEqual([])
  })
})

describe('P2: a program that does not succeed', () => {
  test('with a code that is not 0: TOOL_FAILED, and everything it wrote is kept', async () => {
    bash('fails', `echo '{"done":1}'; echo first >&2; echo last >&2; exit 3`)
    await expect(temp.run('fails')).rejects.toMatchObject({
      code: 'TOOL_FAILED',
      message: 'Cannot run "fails": it ended with code 3: last',
      partial: { output: { done: 1 }, stdout: '{"done":1}\n', stderr: 'first\nlast\n', return_code: 3 },
      details: { command: expect.stringMatching(/^\/.*bash$/) },
    })
  })

  test.each([
    ['hint: one\nfatal: not a repository\nusage: git', 'fatal: not a repository'],
    ['error: pathspec\nerror: second', 'error: pathspec'],
    ['an error: within\nlast', 'last'],
    ['warning: Not a repository\nusage: git diff\n  --output', 'warning: Not a repository'],
    ['usage: x [-h]\nx: error: no file', 'x: error: no file'],
  ])('of %j the line that says why is told', async (told, why) => {
    bash('says', `printf '%s\\n' ${JSON.stringify(told).replaceAll('\\n', '\n')} >&2; exit 128`)
    await expect(temp.run('says')).rejects.toMatchObject({
      message: `Cannot run "says": it ended with code 128: ${why}`,
    })
  })

  test('by a signal', async () => {
    bash('dies', 'kill -SEGV $$')
    await expect(temp.run('dies')).rejects.toMatchObject({
      code: 'TOOL_FAILED',
      message: expect.stringContaining('it ended with SIGSEGV'),
      partial: { return_code: -1, signal: 'SIGSEGV' },
    })
  })

  test('in its time: TIMEOUT, with what it wrote before', async () => {
    bash('hangs', 'echo begun; sleep 60', { config: { timeout: 0.3, kill_grace: 0.1 } })
    await expect(temp.run('hangs')).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: 'Cannot run "hangs": it took longer than 0.3 s and was ended',
      partial: { output: 'begun\n', return_code: -1 },
    })
  })

  test.each<[JsonObject, boolean]>([
    [{}, false],
    [{ mutates_state: true }, false],
    [{ mutates_state: false }, true],
    [{ idempotent: true }, true],
  ])('N16: with %j a call that ran out of time may be sent again: %s', async (more, retryable) => {
    bash('late', 'sleep 60', { config: { timeout: 0.1, kill_grace: 0.1 }, ...more })
    const hint = /^Check what it did/
    await expect(temp.run('late')).rejects.toMatchObject({
      code: 'TIMEOUT',
      retryable,
      hint: retryable ? expect.not.stringMatching(hint) : expect.stringMatching(hint),
    })
  })

  test('because the caller went away: CANCELLED', async () => {
    bash('waits', 'echo begun; sleep 60', { config: { kill_grace: 0.1 } })
    const controller = new AbortController()
    const running = temp.run('waits', {}, controller.signal)
    setTimeout(() => controller.abort(), 200)
    await expect(running).rejects.toMatchObject({
      code: 'CANCELLED',
      message: 'Cannot run "waits": it was cancelled',
    })
    await expect(temp.run('waits', {}, AbortSignal.abort())).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  test('because its folder is not there: INVALID_CONFIG', async () => {
    bash('lost', 'echo', { config: { cwd: '/no/such/folder' } })
    await expect(temp.run('lost')).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: 'Cannot run "lost": Folder not found: /no/such/folder',
    })
  })

  test('because its interpreter is missing: COMMAND_NOT_FOUND', async () => {
    chmodSync(temp.write('odd-program', '#!/no/such/interpreter\n'), 0o755)
    temp.tool('odd_runtime', {
      tool_type: 'runtime',
      executor: 'subprocess',
      config: { command: `${temp.project}/.ai/odd-program` },
    })
    temp.tool('odd', { tool_type: 'script', executor: 'odd_runtime' }, { 'main.x': '' })
    await expect(temp.run('odd')).rejects.toMatchObject({
      code: 'COMMAND_NOT_FOUND',
      message: expect.stringContaining('its interpreter is missing'),
    })
  })
})

describe('P2: what kept a program from starting has a code of its own', () => {
  test.each<[StartFailure, string, string]>([
    ['not_found', 'COMMAND_NOT_FOUND', 'why'],
    ['not_executable', 'COMMAND_NOT_EXECUTABLE', 'why'],
    ['missing_command', 'INVALID_CONFIG', 'why'],
    ['bad_folder', 'INVALID_CONFIG', 'why'],
    ['overloaded', 'OVERLOADED', 'too many programs are running'],
    ['not_started', 'TOOL_FAILED', 'it could not be started: why'],
  ])('%s', async (failure, code, reason) => {
    bash('never', 'echo')
    const unused = (): never => expect.unreachable()
    const means: PerformMeans = {
      subprocess: {
        run: async () => notRun({ failure, stderr: 'why' }),
        runLine: unused,
        open: unused,
        find: unused,
        sandbox: unused,
        close: unused,
      },
      listChanges: { note: () => {} },
      knownEra: unused,
      said: new Map(),
      upstreams: {
        request: unused,
        describe: unused,
        listing: unused,
        hold: unused,
        notify: unused,
        onNotice: unused,
        release: unused,
        status: unused,
        close: unused,
      },
      oauth: { credential: unused, logIn: unused, logOut: unused },
      httpClient: {
        request: unused,
        stream: unused,
        events: unused,
        websocket: unused,
        judge: unused,
        close: unused,
      },
      workFolders: { place: unused, prepare: async () => '/nowhere', close: unused },
      environments: { prepare: unused, close: unused },
      httpClients: { of: unused, close: unused },
    }
    await expect(perform(await temp.draft('never'), means)).rejects.toMatchObject({
      code,
      message: `Cannot run "never": ${reason}`,
      partial: { output: '', stderr: 'why', return_code: -1 },
    })
  })
})

describe('D16: knowledge', () => {
  test('is handed over as it is written', async () => {
    temp.write('knowledge/notes.md', '---\ntitle: Notes\n---\n# Héading\n')
    temp.lookup.freshen(true)
    expect(await temp.run('notes')).toEqual({ data: { output: '# Héading\n' }, warnings: [] })
  })

  test('of several files is its content.md, and of none is empty', async () => {
    temp.tool('folder_notes', { tool_type: 'knowledge' }, { 'a.md': 'aside', 'content.md': 'the content' })
    temp.tool('empty_notes', { tool_type: 'knowledge' })
    expect((await temp.run('folder_notes')).data).toEqual({ output: 'the content' })
    expect((await temp.run('empty_notes')).data).toEqual({ output: '' })
  })
})
