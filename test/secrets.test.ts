import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Wish } from '../src/kernel/call.ts'
import { decide } from '../src/kernel/policy/decide.ts'
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
let temp: TempKiwi
let server: LoopbackServer
let elsewhere: LoopbackServer

beforeAll(async () => {
  elsewhere = await openLoopbackServer((request) => reply(request, 200, '{}'))
  server = await openLoopbackServer((request) => {
    if (request.path.startsWith('/away'))
      return reply(request, 302, '', { location: `${elsewhere.url}/caught` })
    return reply(request, 200, JSON.stringify({ headers: request.headers }), {
      'content-type': 'application/json',
    })
  })
  temp = await openTempKiwi({
    environment: {
      KIWI_ALLOW_HOSTS: `${server.host},${elsewhere.host}`,
      // Whoever runs the tests may have a keychain.
      KIWI_VAULT_PASSPHRASE: 'of the tests',
      ENV_KEY: 'from-the-environment',
      SHORT: 'abc',
    },
  })
})
afterAll(async () => {
  await temp.close()
  await server.close()
  await elsewhere.close()
})

const person = (): Client => ({
  principal: 'user:ada',
  session: 'terminal',
  kind: 'person',
  defaultProject: () => Promise.resolve(temp.project),
})
const act = (operation: string, subject: string, wish: Wish, client = person()): Promise<Reply> =>
  temp.kiwi.act({ wish: () => wish, operation, subject, parameters: { subject } }, client)
const setSecret = (name: string, value: string | null, client?: Client): Promise<Reply> =>
  act('secret.set', name, { kind: 'secret', name, value }, client)

interface GrantMore {
  readonly sinks?: readonly string[]
  readonly principal?: string
  readonly expectedDigest?: string | null
}
const grant = (
  tool: string,
  names: readonly string[],
  more: GrantMore = {},
  client?: Client,
): Promise<Reply> => {
  const { sinks = [], principal = '*', expectedDigest = null } = more
  return act(
    'grant',
    tool,
    { kind: 'grant', ref: parseItemRef(tool), names, sinks, principal, expectedDigest },
    client,
  )
}
const revoke = (tool: string, name: string | null): Promise<Reply> =>
  act('grant.revoke', tool, { kind: 'revoke_grant', tool, name })
const script = (id: string, text: string, config: JsonObject, more: JsonObject = {}): Promise<Reply> =>
  temp.create(id, { ...BASH, config, ...more }, { 'main.sh': text })
const api = (id: string, config: JsonObject): Promise<Reply> =>
  temp.create(id, { tool_type: 'api', description: 'calls the service', config })
const expectError = (given: Reply, code: string, message?: string): Promise<void> =>
  expectRefusal(temp, given, code, message)
const success = { status: 'success' }

describe('X7: the vault', () => {
  test('RED-01, ENV-06: what is kept and granted reaches the child where the manifest puts it, and nothing shows it', async () => {
    await script('tells', 'env | sort; echo "KEY is $KEY"; echo "$KEY" >&2', { env: { KEY: '${VAULT_KEY}' } })
    expect(await setSecret('VAULT_KEY', CANARY)).toMatchObject({ ...success, data: { name: 'VAULT_KEY' } })
    await expectError(await temp.run('tells'), 'SECRET_NOT_GRANTED', 'VAULT_KEY')
    expect(await grant('tells', ['VAULT_KEY'])).toMatchObject({
      ...success,
      data: { secrets: [{ name: 'VAULT_KEY', places: ['env:KEY'], sinks: [], is_set: true }] },
    })
    const told = await temp.run('tells')
    expect(textField(told.data, 'output')).toContain('KEY is [REDACTED:VAULT_KEY]\n')
    expect(textField(told.data, 'output')).not.toContain('VAULT_KEY=')
    expect(textField(told.data, 'output')).not.toContain('from-the-environment')
    expect(textField(told.data, 'stderr')).toBe('[REDACTED:VAULT_KEY]\n')
    const records = JSON.stringify(await temp.kiwi.store.records({ limit: 1000 }))
    expect(records).toContain('secret.set')
    expect(records).not.toContain(CANARY)
    const found = spawnSync('grep', ['-rlaF', 'kiwi-canary', temp.folder], { encoding: 'utf8' })
    expect(found).toMatchObject({ status: 1, stdout: '' })
  })

  test('X7, ENV-02: a script that only declares a secret has it as a variable once it is granted', async () => {
    await script('declares', 'echo "${#VAULT_KEY} $VAULT_KEY"', {}, { secrets: ['VAULT_KEY'] })
    await expectError(await temp.run('declares'), 'SECRET_NOT_GRANTED', 'VAULT_KEY')
    expect(await grant('declares', ['VAULT_KEY'])).toMatchObject({
      ...success,
      data: { secrets: [{ name: 'VAULT_KEY', places: ['env:VAULT_KEY'] }] },
    })
    const { data } = await temp.run('declares')
    expect(textField(data, 'output')).toBe(`${CANARY.length} [REDACTED:VAULT_KEY]\n`)
  })

  test('RED-01: nor does a page of a large result, or the file it is saved in', async () => {
    const text = 'for i in $(seq 3000); do echo "$i $KEY"; done'
    await script('tells_much', text, { env: { KEY: '${VAULT_KEY}' } })
    await grant('tells_much', ['VAULT_KEY'])
    const { data } = await temp.run('tells_much')
    const { call, arguments: given } = { call: '', arguments: {}, ...Object(field(data, 'rest')) }
    const page = await temp.call(call, given)
    expect(JSON.stringify(page)).toContain('[REDACTED:VAULT_KEY]')
    expect(JSON.stringify([data, page])).not.toContain(CANARY)
    expect(spawnSync('grep', ['-rlaF', CANARY, temp.folder], { encoding: 'utf8' }).status).toBe(1)
  })

  test('counts before the environment, and `.env` of the user space after it; that of a project does not', async () => {
    const config = { env: { A: '${ENV_KEY}', B: '${DOTENV_KEY}', C: '${PROJECT_KEY}' } }
    await script('asks', 'printf "%s " ${#A} ${#B} ${#C}', config)
    await grant('asks', ['ENV_KEY', 'DOTENV_KEY', 'PROJECT_KEY'])
    writeFileSync(
      join(temp.config.userSpace, '.env'),
      'DOTENV_KEY="from a file"\nENV_KEY=not-this-one-here\n',
    )
    writeFileSync(join(temp.project, '.env'), 'PROJECT_KEY=from-a-project\n')
    mkdirSync(join(temp.project, '.ai'), { recursive: true })
    writeFileSync(join(temp.project, '.ai/.env'), 'PROJECT_KEY=from-a-project\n')
    expect((await temp.run('asks')).data).toMatchObject({ output: '20 11 0 ' })
    await setSecret('ENV_KEY', 'kept-in-the-vault-itself')
    expect((await temp.run('asks')).data).toMatchObject({ output: '24 11 0 ' })
    expect(await setSecret('ENV_KEY', null)).toMatchObject(success)
    expect((await temp.run('asks')).data).toMatchObject({ output: '20 11 0 ' })
    await expectError(await setSecret('ENV_KEY', null), 'NOT_FOUND', 'not in the vault')
  })

  test('ENV-09: what is too short to be taken out of results is refused when it is set, and when it is granted', async () => {
    await expectError(await setSecret('TINY', 'abc'), 'INVALID_PARAMETERS', 'fewer than 8 characters')
    await expectError(await setSecret('TINY', '  1234567  '), 'INVALID_PARAMETERS', 'fewer than 8 characters')
    await script('short', 'echo "$KEY"', { env: { KEY: '${SHORT}' } })
    await expectError(await grant('short', ['SHORT']), 'INVALID_PARAMETERS', 'fewer than 8 characters')
    expect((await temp.run('short')).error?.code).toBe('SECRET_NOT_GRANTED')
  })

  test.each([
    '',
    'a b',
    '1A',
    'A-B',
    'PATH',
    'HOME',
    'LC_ALL',
    'PROJECT_PATH',
    'KIWI_STORE',
    'A'.repeat(129),
  ])('%j is no name of a secret', async (name) => {
    await expectError(await setSecret(name, CANARY), 'INVALID_PARAMETERS', 'as the name of a secret')
  })

  test('no tool may read or write it, its key, or `.env` of the user space', async () => {
    const { layers } = await temp.kiwi.policyOf(temp.project)
    const { vault, userSpace } = temp.config
    for (const path of [vault.path, vault.keyFile, join(userSpace, '.env')]) {
      for (const op of ['read', 'write'] as const)
        expect(decide(layers, [{ op, path }], null)).toMatchObject({ effect: 'deny', layer: 'machine' })
    }
  })

  test('one that is damaged stops what needs it, and nothing else; nothing is lost', async () => {
    const path = temp.config.vault.path
    const before = readFileSync(path)
    writeFileSync(path, before.subarray(0, 100))
    try {
      await expectError(await temp.run('tells'), 'STORE_UNAVAILABLE', 'Cannot open the vault')
      await expectError(await setSecret('NEW_KEY', CANARY), 'STORE_UNAVAILABLE', 'Cannot open the vault')
      expect(readFileSync(path)).toEqual(before.subarray(0, 100))
      expect(await temp.run('hello_bash')).toMatchObject(success)
    } finally {
      writeFileSync(path, before)
    }
    expect(await temp.run('tells')).toMatchObject(success)
  })
})

describe('X7: a grant', () => {
  test('ENV-02: without one nothing is sent, the deny is on record, and the command to give it is ready', async () => {
    await api('forecast', { url: `${server.url}/echo`, headers: { 'X-Key': '${VAULT_KEY}' } })
    const before = server.received.length
    const refused = await temp.run('forecast')
    await expectError(
      refused,
      'SECRET_NOT_GRANTED',
      'Cannot run "forecast": it asks for VAULT_KEY without a grant',
    )
    expect(refused.error?.hint).toBe(
      `A person has to run: kiwi grant forecast VAULT_KEY --to host:${server.host} --project ${temp.project}`,
    )
    expect(server.received.length).toBe(before)
    const call_id = refused.metadata.call_id
    expect(await temp.kiwi.store.records({ limit: 9, call_id })).toMatchObject([
      { kind: 'outcome', status: 'denied' },
      { kind: 'decision', status: 'deny' },
    ])
  })

  test('to a service is bound to the host that the manifest writes out, and no redirect takes it elsewhere', async () => {
    expect(await grant('forecast', ['VAULT_KEY'])).toMatchObject({
      data: { secrets: [{ places: ['header:x-key'], sinks: [`host:${server.host}`] }] },
    })
    expect(await temp.run('forecast')).toMatchObject(success)
    expect(server.received.at(-1)?.headers['x-key']).toBe(CANARY)
    await api('wanders', { url: `${server.url}/away`, headers: { 'X-Key': '${VAULT_KEY}' } })
    await grant('wanders', ['VAULT_KEY'])
    expect(await temp.run('wanders')).toMatchObject(success)
    expect(server.received.at(-1)?.headers['x-key']).toBe(CANARY)
    expect(elsewhere.received.at(-1)).toMatchObject({ path: '/caught' })
    expect(elsewhere.received.at(-1)?.headers['x-key']).toBeUndefined()
  })

  test('ENV-01: a parameter that names a granted secret is sent as it is written', async () => {
    await temp.create('echoes', {
      tool_type: 'api',
      description: 'calls the service',
      parameters: [{ name: 'q' }],
      config: { url: `${server.url}/echo?q={q}`, headers: { 'X-Key': '${VAULT_KEY}', 'X-Q': '{q}' } },
    })
    await grant('echoes', ['VAULT_KEY'])
    expect(await temp.run('echoes', { q: '${VAULT_KEY}' })).toMatchObject(success)
    expect(server.received.at(-1)).toMatchObject({
      path: '/echo?q=%24%7BVAULT_KEY%7D',
      headers: { 'x-q': '${VAULT_KEY}', 'x-key': CANARY },
    })
  })

  test('for a host does not reach another one, whatever chooses it', async () => {
    const [, port] = elsewhere.host.split(':')
    await setSecret('SERVICE_HOST', `127.0.0.1:${port}`)
    await api('chooses', { url: 'http://${SERVICE_HOST}/in', headers: { 'X-Key': '${VAULT_KEY}' } })
    await grant('chooses', ['SERVICE_HOST'])
    await grant('chooses', ['VAULT_KEY'], { sinks: [`host:${server.host}`] })
    const before = elsewhere.received.length
    await expectError(await temp.run('chooses'), 'SECRET_NOT_GRANTED', `granted for host:${server.host}`)
    expect(elsewhere.received.length).toBe(before)
    await grant('chooses', ['VAULT_KEY'], { sinks: [`host:${elsewhere.host}`] })
    expect(await temp.run('chooses')).toMatchObject(success)
    expect(elsewhere.received.at(-1)?.headers['x-key']).toBe(CANARY)
  })

  test('for one place does not reach another', async () => {
    const config = { env: { KEY: '${VAULT_KEY}', OTHER: '${VAULT_KEY}' } }
    await script('twice', 'echo "${#KEY} ${#OTHER}"', config)
    await grant('twice', ['VAULT_KEY'], { sinks: ['env:KEY'] })
    await expectError(
      await temp.run('twice'),
      'SECRET_NOT_GRANTED',
      'granted for env:KEY, and would go to env:OTHER',
    )
    await grant('twice', ['VAULT_KEY'], { sinks: ['env:KEY', 'env:OTHER'] })
    expect((await temp.run('twice')).data).toMatchObject({ output: '22 22\n' })
  })

  test('is void as soon as the tool changes, and the refusal says so', async () => {
    await script('changes', 'echo "${#KEY}"', { env: { KEY: '${VAULT_KEY}' } })
    await grant('changes', ['VAULT_KEY'])
    expect(await temp.run('changes')).toMatchObject(success)
    await temp.call('execute', {
      item_type: 'tool',
      action: 'update',
      item_id: 'changes',
      parameters: { files: { 'main.sh': '#!/usr/bin/env bash\necho "$KEY" | rev' } },
    })
    await expectError(
      await temp.run('changes'),
      'SECRET_NOT_GRANTED',
      'it has changed since VAULT_KEY was granted',
    )
    await grant('changes', ['VAULT_KEY'])
    expect(await temp.run('changes')).toMatchObject(success)
    expect(await revoke('changes', 'VAULT_KEY')).toMatchObject({ ...success, data: { count: 2 } })
    await expectError(await temp.run('changes'), 'SECRET_NOT_GRANTED', 'without a grant')
    await expectError(await revoke('changes', null), 'NOT_FOUND', 'there is none')
  })

  test('may be for the calls of one principal', async () => {
    await script('private', 'echo "${#KEY}"', { env: { KEY: '${VAULT_KEY}' } })
    await grant('private', ['VAULT_KEY'], { principal: 'bearer' })
    expect((await temp.run('private')).error?.code).toBe('SECRET_NOT_GRANTED')
    await grant('private', ['VAULT_KEY'], { principal: 'tester' })
    expect(await temp.run('private')).toMatchObject(success)
  })

  test('is for what was shown: when the tool changes before the yes, nothing is granted', async () => {
    await script('slips', 'echo "${#KEY}"', { env: { KEY: '${VAULT_KEY}' } })
    await expectError(
      await grant('slips', ['VAULT_KEY'], { expectedDigest: 'f'.repeat(64) }),
      'CONFLICT',
      'changed',
    )
    expect(await temp.kiwi.store.grants('slips')).toEqual([])
  })

  test('of a secret that is not set yet says so', async () => {
    await script('early', 'echo "${#KEY}"', { env: { KEY: '${LATER_KEY}' } })
    const given = await grant('early', ['LATER_KEY'])
    expect(given.metadata.warnings).toContain('LATER_KEY is not set yet: kiwi secret set LATER_KEY')
    await api('early_api', { url: `${server.url}/echo`, headers: { 'X-Key': '${LATER_KEY}' } })
    await grant('early_api', ['LATER_KEY'])
    const missing = await temp.run('early_api')
    await expectError(missing, 'MISSING_SECRET', 'LATER_KEY is not set')
    expect(missing.error?.hint).toBe('Ask the person to run: kiwi secret set LATER_KEY')
  })
})

describe('X7: what is no grant', () => {
  beforeEach(async () => {
    await script('plain', 'echo "${#KEY}"', { env: { KEY: '${VAULT_KEY}' } })
  })

  test.each<[string, readonly string[], readonly string[], string]>([
    ['a name it does not ask for', ['OTHER_KEY'], [], 'it asks for VAULT_KEY'],
    ['everything, when it inherits nothing', ['*'], [], 'inherit_env'],
    ['no place at all', ['VAULT_KEY'], ['somewhere'], 'it is none of env:NAME, header:Name and host:name'],
    ['a place where the manifest does not put it', ['VAULT_KEY'], ['env:OTHER'], 'puts VAULT_KEY in env:KEY'],
    ['a header of a program', ['VAULT_KEY'], ['header:x-key'], 'puts VAULT_KEY in env:KEY'],
    ['a host for a program', ['VAULT_KEY'], ['host:a.example.com'], 'a program reaches hosts by itself'],
  ])('%s', async (_, names, sinks, message) => {
    await expectError(await grant('plain', names, { sinks }), 'INVALID_PARAMETERS', message)
    expect(await temp.kiwi.store.grants('plain')).toEqual([])
  })

  test('another host than the one it calls, and a tool that is not there', async () => {
    const refused = await grant('forecast', ['VAULT_KEY'], { sinks: ['host:evil.example.com'] })
    await expectError(refused, 'INVALID_PARAMETERS', `"forecast" calls host:${server.host}`)
    await expectError(await grant('nobody', ['VAULT_KEY']), 'NOT_FOUND')
  })

  test('an agent keeps no secrets and grants none, and its attempts are on record', async () => {
    const agent: Client = { ...person(), kind: 'agent', principal: 'local' }
    const attempts = [
      await setSecret('AGENT_KEY', CANARY, agent),
      await setSecret('VAULT_KEY', null, agent),
      await grant('plain', ['VAULT_KEY'], {}, agent),
      await act('grant.revoke', 'tells', { kind: 'revoke_grant', tool: 'tells', name: null }, agent),
    ]
    for (const refused of attempts) {
      await expectError(refused, 'PERMISSION_DENIED', 'only a person can')
      expect(await temp.kiwi.store.records({ limit: 2, call_id: refused.metadata.call_id })).toMatchObject([
        { status: 'denied' },
        { status: 'deny' },
      ])
    }
    expect(await temp.run('tells')).toMatchObject(success)
    expect((await temp.kiwi.secrets()).secrets.map(({ name }) => name)).not.toContain('AGENT_KEY')
  })
})
