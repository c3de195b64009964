import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Wish } from '../src/kernel/call.ts'
import type { Client } from '../src/meta/meta.ts'
import { parseItemRef } from '../src/shared/ids.ts'
import type { JsonObject } from '../src/shared/json.ts'
import type { Reply } from '../src/shared/reply.ts'
import { expectRefusal } from './fixtures/expect-refusal.ts'
import { field, textField } from './fixtures/field.ts'
import type { LoopbackServer } from './fixtures/loopback-server.ts'
import { openLoopbackServer, reply } from './fixtures/loopback-server.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi } from './temp-kiwi.ts'

const CANARY = 'kiwi-canary-0123456789'
const SERVER = fileURLToPath(new URL('./fixtures/upstream.mjs', import.meta.url))
const MARK = '[REDACTED:GIVEN_KEY]'
/** No file holds it: the program puts it together. */
const GIVES = 'printf "kiwi-%s-%s\\n" canary 0123456789'
const success = { status: 'success' }
let temp: TempKiwi
let server: LoopbackServer

beforeAll(async () => {
  server = await openLoopbackServer((request) => reply(request, 200, JSON.stringify(request.headers)))
  temp = await openTempKiwi({
    environment: {
      KIWI_ALLOW_HOSTS: server.host,
      KIWI_VAULT_PASSPHRASE: 'of the tests',
      GIVEN_KEY: 'from-the-environment',
      UNRELATED: 'hush-hush-hush',
    },
  })
  const parameters = [{ name: 'turn', type: 'integer' }]
  const config = { env: { KEY: '${GIVEN_KEY}' } }
  await temp.create(
    'tells',
    { ...BASH, parameters, config },
    { 'main.sh': 'echo "KEY is $KEY"; echo "$KEY" >&2' },
  )
})
afterAll(async () => {
  await temp.close()
  await server.close()
})

const person = (): Client => ({
  principal: 'user:ada',
  session: 'terminal',
  kind: 'person',
  defaultProject: () => Promise.resolve(temp.project),
})
const act = (operation: string, subject: string, wish: Wish, client = person()): Promise<Reply> =>
  temp.kiwi.act({ wish: () => wish, operation, subject }, client)
const setCommand = (argv: readonly string[], name = 'GIVEN_KEY', client?: Client): Promise<Reply> =>
  act('secret.set', name, { kind: 'secret_command', name, argv }, client)
const remove = (name: string): Promise<Reply> => act('secret.rm', name, { kind: 'secret', name, value: null })
const grant = (tool: string, names: readonly string[] = ['GIVEN_KEY']): Promise<Reply> =>
  act('grant', tool, {
    kind: 'grant',
    ref: parseItemRef(tool),
    names,
    sinks: [],
    principal: '*',
    expectedDigest: null,
  })
const script = (
  id: string,
  text: string,
  config: JsonObject = { env: { KEY: '${GIVEN_KEY}' } },
): Promise<Reply> => temp.create(id, { ...BASH, config }, { 'main.sh': text })

let turn = 0
/** Each time another call: the same one over and over is a loop. */
const tells = (): Promise<Reply> => temp.run('tells', { turn: ++turn })

/** A real program that notes each time it is run. */
function program(name: string, text: string): { readonly path: string; readonly runs: () => number } {
  const folder = join(temp.folder, 'programs')
  mkdirSync(folder, { recursive: true })
  const [path, noted] = [join(folder, name), join(folder, `${name}.runs`)]
  writeFileSync(path, `#!/bin/bash\necho run >> "${noted}"\n${text}\n`)
  chmodSync(path, 0o755)
  return {
    path,
    runs: () => (existsSync(noted) ? readFileSync(noted, 'utf8').split('\n').length - 1 : 0),
  }
}

const everySaid = async (...replies: readonly Reply[]): Promise<string> =>
  JSON.stringify([
    replies,
    await temp.kiwi.store.records({ limit: 1000 }),
    await temp.kiwi.questions.list({ limit: 100 }),
    await temp.kiwi.secrets(),
  ])

describe('X7: a secret that a program gives', () => {
  test('RED-01: is asked for when a granted tool needs it, before the environment, and no file, record or reply shows it', async () => {
    const giver = program('gives', GIVES)
    const set = await setCommand([giver.path, 'auth', 'token'])
    expect(set).toMatchObject({ ...success, data: { command: [giver.path, 'auth', 'token'] } })
    await expectRefusal(temp, await tells(), 'SECRET_NOT_GRANTED', 'GIVEN_KEY')
    expect(await grant('tells')).toMatchObject({ data: { secrets: [{ is_set: true }] } })
    await temp.search('tells')
    await temp.load('tells')
    const dry = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'tells',
      dry_run: true,
    })
    expect(dry.status).toBe('dry_run')
    expect((await temp.kiwi.secrets()).secrets).toMatchObject([
      { name: 'GIVEN_KEY', command: [giver.path, 'auth', 'token'] },
    ])
    expect(giver.runs()).toBe(0)

    const told = await tells()
    expect(told).toMatchObject({ ...success, data: { output: `KEY is ${MARK}\n`, stderr: `${MARK}\n` } })
    // Known to all other calls from then on.
    const echoed = await temp.run('shell.run', { argv: ['echo', CANARY] })
    expect(textField(echoed.data, 'output')).toBe(`${MARK}\n`)
    expect(await tells()).toMatchObject(success)
    expect(giver.runs()).toBe(1)

    const said = await everySaid(set, dry, told, echoed)
    expect(said).toContain('"command":["')
    for (const text of ['kiwi-canary', 'stand-in', Buffer.from(CANARY).toString('base64').slice(0, 20)])
      expect(said).not.toContain(text)
    const found = spawnSync('grep', ['-rlaF', 'kiwi-canary', temp.folder], { encoding: 'utf8' })
    expect(found).toMatchObject({ status: 1, stdout: '' })
  })

  test('reaches a service whole, in a header and in what is made of it', async () => {
    const { path } = program('gives_to_service', GIVES)
    await setCommand([path])
    const auth = { type: 'basic', username: 'ada', password: '${GIVEN_KEY}' }
    const config = { url: `http://${server.host}/`, headers: { 'X-Key': '${GIVEN_KEY}' }, auth }
    await temp.create('calls', { tool_type: 'api', description: 'calls the service', config })
    await grant('calls')
    const called = await temp.run('calls')
    expect(called).toMatchObject(success)
    expect(server.received.at(-1)?.headers).toMatchObject({
      'x-key': CANARY,
      authorization: `Basic ${Buffer.from(`ada:${CANARY}`).toString('base64')}`,
    })
    const said = await everySaid(called)
    expect(said).toContain(MARK)
    for (const text of ['kiwi-canary', Buffer.from(`ada:${CANARY}`).toString('base64')])
      expect(said).not.toContain(text)
  })

  test('is asked for once by ten calls at a time, and again when a person sets it again', async () => {
    const giver = program('gives_slowly', `sleep 0.3; ${GIVES}`)
    await setCommand([giver.path])
    const replies = await Promise.all(Array.from({ length: 10 }, () => tells()))
    for (const told of replies) expect(told).toMatchObject({ data: { output: `KEY is ${MARK}\n` } })
    expect(giver.runs()).toBe(1)
    await setCommand([giver.path])
    expect(await tells()).toMatchObject(success)
    expect(giver.runs()).toBe(2)
  })

  test('is not asked for by a tool that has changed since the grant, nor for one that has no use for it', async () => {
    const giver = program('gives_to_nobody', GIVES)
    await setCommand([giver.path])
    await script('changes', 'echo before')
    await grant('changes')
    await temp.call('execute', {
      item_type: 'tool',
      action: 'update',
      item_id: 'changes',
      parameters: { files: { 'main.sh': '#!/usr/bin/env bash\necho "$KEY"' } },
    })
    await expectRefusal(temp, await temp.run('changes'), 'SECRET_NOT_GRANTED', 'GIVEN_KEY')
    await script('defaults', 'echo "$KEY"', { env: { KEY: '${GIVEN_KEY:-none}' } })
    expect(await temp.run('defaults')).toMatchObject({ data: { output: 'none\n' } })
    // Granted to what it was: what it is now goes without, and asks nobody.
    await grant('defaults')
    await temp.call('execute', {
      item_type: 'tool',
      action: 'update',
      item_id: 'defaults',
      parameters: { files: { 'main.sh': '#!/usr/bin/env bash\necho "now $KEY"' } },
    })
    expect(await temp.run('defaults')).toMatchObject({ data: { output: 'now none\n' } })
    expect(giver.runs()).toBe(0)
  })

  test('is not asked for by a call that a rule refuses, or that waits for a person', async () => {
    const giver = program('gives_when_allowed', GIVES)
    await setCommand([giver.path])
    const harness = (effect: string): string =>
      temp.write(
        'config/agent_harness.yaml',
        `mode: direct\nrules: [{op: tool, match: {tool: tells}, effect: ${effect}}]\n`,
      )
    harness('deny')
    await expectRefusal(temp, await tells(), 'PERMISSION_DENIED')
    harness('ask')
    expect((await tells()).status).toBe('approval_required')
    expect(giver.runs()).toBe(0)
    temp.write('config/agent_harness.yaml', 'mode: direct\n')
    expect(await tells()).toMatchObject(success)
    expect(giver.runs()).toBe(1)
  })

  test('M6: starts a server that needs it, and the next call goes over the same connection', async () => {
    const giver = program('gives_to_server', GIVES)
    await setCommand([giver.path], 'SERVER_KEY')
    mkdirSync(join(temp.config.userSpace, 'config'), { recursive: true })
    const entry = { command: process.execPath, args: [SERVER], env: { KEY: '${SERVER_KEY}' } }
    writeFileSync(
      join(temp.config.userSpace, 'config/mcp_registry.yaml'),
      JSON.stringify({ mcps: { needy: entry } }),
    )
    await expectRefusal(temp, await temp.run('needy.told'), 'SECRET_NOT_GRANTED', 'SERVER_KEY')
    await grant('needy', ['SERVER_KEY'])
    await temp.search('needy told')
    expect(giver.runs()).toBe(0)
    const first = await temp.run('needy.told')
    expect(first).toMatchObject({ ...success, data: { output: { env: { KEY: '[REDACTED:SERVER_KEY]' } } } })
    const second = await temp.run('needy.told')
    expect(Number(field(field(second.data, 'output'), 'calls'))).toBeGreaterThan(
      Number(field(field(first.data, 'output'), 'calls')),
    )
    expect(giver.runs()).toBe(1)
    expect(await everySaid(first, second)).not.toContain('kiwi-canary')
    await remove('SERVER_KEY')
  })

  test('has the home and the PATH of the person, no other variable, no input, no shell, and no folder of a project', async () => {
    const seen = join(temp.folder, 'seen.txt')
    const text = `{ env; echo "in $PWD"; echo "args $*"; cat; } > "${seen}"; ${GIVES}`
    const { path } = program('looks', text)
    expect(await setCommand([path, '$(id); echo "x"'])).toMatchObject(success)
    expect(await tells()).toMatchObject(success)
    const lines = readFileSync(seen, 'utf8')
    expect(lines).toContain(`HOME=${temp.config.home}\n`)
    expect(lines).toMatch(/^PATH=\//m)
    expect(lines).toContain(`in ${temp.config.home}\nargs $(id); echo "x"\n`)
    expect(lines).not.toMatch(/hush-hush|of the tests|KIWI_VAULT/)
  })

  test.each([
    ['fails', `${GIVES}; ${GIVES} >&2; exit 3`, 'ended with code 3'],
    ['says_nothing', 'echo', 'wrote nothing'],
    ['says_little', 'echo abc', 'fewer than 8 characters'],
    ['says_much', 'head -c 1000000 /dev/zero | tr "\\0" x', 'wrote more than 64 KiB'],
    ['says_nul', 'printf "kiwi-canary\\0-0123456789"', 'a character that no variable can'],
    ['says_bytes', 'printf "kiwi-canary\\xff-0123456789"', 'wrote what is no text'],
    ['is_killed', 'kill -KILL $$', 'was ended by SIGKILL'],
  ])('that %s is told without what it wrote, and the tool is not run', async (name, text, message) => {
    const { path, runs } = program(name, text)
    await setCommand([path])
    const refused = await tells()
    await expectRefusal(temp, refused, 'SECRET_UNAVAILABLE', message)
    expect(refused.error?.message).toContain(`"${name}", which gives GIVEN_KEY`)
    expect(refused.error?.hint).toContain('kiwi secret list')
    expect(runs()).toBe(1)
    expect(await everySaid(refused)).not.toContain('kiwi-canary')
  })

  test('whose program is gone is told as that, and never looked for on the PATH again', async () => {
    const { path } = program('goes', GIVES)
    await setCommand([path])
    spawnSync('rm', [path])
    const refused = await tells()
    await expectRefusal(temp, refused, 'SECRET_UNAVAILABLE', 'is not there')
    expect(refused.error?.hint).toContain('kiwi secret set GIVEN_KEY --command')
  })

  test('may not lead a call elsewhere than it was judged for', async () => {
    const { path, runs } = program('gives_host', `echo ${server.host}`)
    await setCommand([path], 'GIVEN_HOST')
    await temp.create('roams', {
      tool_type: 'api',
      description: 'goes where it is told',
      secrets: ['GIVEN_HOST'],
      config: { url: 'http://${GIVEN_HOST}/' },
    })
    await grant('roams', ['GIVEN_HOST'])
    const before = server.received.length
    await expectRefusal(temp, await temp.run('roams'), 'INVALID_CONFIG', 'would depend on GIVEN_HOST')
    expect([runs(), server.received.length]).toEqual([1, before])
    await remove('GIVEN_HOST')
  })
})

describe('X7: only a person says which program gives a secret', () => {
  beforeEach(() => remove('GIVEN_KEY'))

  test('an agent does not, and its attempt is on record', async () => {
    const { path, runs } = program('of_an_agent', GIVES)
    const agent: Client = { ...person(), kind: 'agent', principal: 'local' }
    await expectRefusal(
      temp,
      await setCommand([path], 'GIVEN_KEY', agent),
      'PERMISSION_DENIED',
      'only a person',
    )
    expect((await temp.kiwi.secrets()).secrets).toEqual([])
    expect(runs()).toBe(0)
  })

  test('a project does not, by a config, a vault or a manifest of its own', async () => {
    const { path, runs } = program('of_a_project', GIVES)
    const command = [path]
    temp.write('kiwi.json', JSON.stringify({ secrets: { GIVEN_KEY: { command } } }))
    temp.write('kiwi.vault', JSON.stringify({ GIVEN_KEY: { command, set_at: '' } }))
    await temp.create(
      'brings',
      { ...BASH, secrets: [{ name: 'OWN_KEY', command }], config: {} },
      { 'main.sh': 'echo "${#OWN_KEY}"' },
    )
    await temp.run('brings')
    // What counts is the environment Kiwi was started with.
    await script('measures', 'echo "${#KEY}"')
    await grant('measures')
    expect(await temp.run('measures')).toMatchObject({ data: { output: 'from-the-environment'.length } })
    expect(runs()).toBe(0)
  })

  test.each([
    ['a program that is not there', ['kiwi-no-such-program'], 'COMMAND_NOT_FOUND', 'not on the PATH'],
    ['a path that follows the folder', ['./gives'], 'COMMAND_NOT_FOUND', 'its path is relative'],
    ['no program', [], 'INVALID_PARAMETERS', 'no program is named'],
    ['a byte that ends texts', ['env', 'a\0b'], 'INVALID_PARAMETERS', 'no argument can'],
    ['too many arguments', Array.from({ length: 65 }, () => 'env'), 'INVALID_PARAMETERS', 'more than 64'],
  ])('%s is refused, and nothing is kept', async (_, argv, code, message) => {
    await expectRefusal(temp, await setCommand(argv), code, message)
    expect((await temp.kiwi.secrets()).secrets).toEqual([])
  })

  test('is found by its name once, and kept by its whole path; the change is on record', async () => {
    const first = await setCommand(['env', 'A'])
    const second = await setCommand(['env', 'B'])
    const kept = (await temp.kiwi.secrets()).secrets[0]?.command
    expect(kept).toEqual([expect.stringMatching(/^\/.*\/env$/), 'B'])
    for (const [{ metadata }, word] of [
      [first, 'A'],
      [second, 'B'],
    ] as const) {
      const records = await temp.kiwi.store.records({ limit: 2, call_id: metadata.call_id })
      expect(JSON.stringify(records)).toMatch(new RegExp(`"command":\\["/[^"]*/env","${word}"\\]`))
    }
  })
})
