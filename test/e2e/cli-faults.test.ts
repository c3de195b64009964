import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field, listField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { CLI, kiwi } from './temp-server.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
})
afterAll(() => place.remove())

describe('wrong input on the command line is the fault of the request, exit 2', () => {
  test.each([
    [['audit', '--limit', 'abc'], '--limit'],
    [['audit', '--limit', ''], '--limit'],
    [['audit', '--limit', '9'.repeat(20)], '--limit'],
    [['search', 'x', '--limit', '1e1'], '--limit'],
    [['serve', '--port', 'abc'], '--port'],
    [['serve', '--port', ''], '--port'],
    [['serve', '--port', '99999'], 'port'],
    [['run', 'hello_bash', '--params', '@no-such-file'], '--params'],
    [['run', 'hello_bash', '--params', '{bad'], '--params'],
    [['create', 'no-such-file.yaml'], 'no-such-file.yaml'],
    [['search', '--colour'], '--colour'],
    [['fly'], 'fly'],
  ])('%j', async (args, named) => {
    const shown = await kiwi(place, args)
    expect(shown).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(named) })
    const { code, stdout } = await kiwi(place, [...args, '--json'])
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'error',
      data: null,
      error: { code: expect.any(String), message: expect.stringContaining(named), hint: expect.any(String) },
      metadata: { call_id: expect.any(String) },
    })
  })

  test('--json after -- is a word, not a flag', async () => {
    expect(await kiwi(place, ['create', '--', '--json'])).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('standard output', () => {
  const into = async (device: string): Promise<{ code: unknown; stderr: string }> => {
    const target = openSync(device, 'w')
    const child = spawn(process.execPath, [CLI, 'search'], {
      cwd: place.project,
      env: place.env,
      stdio: ['ignore', target, 'pipe'],
    })
    closeSync(target)
    let stderr = ''
    child.stderr?.on('data', (chunk) => (stderr += String(chunk)))
    const [code]: unknown[] = await once(child, 'close')
    return { code, stderr }
  }

  test('that is full is a failure, and said', async () => {
    expect(await into('/dev/full')).toMatchObject({ code: 6, stderr: expect.stringContaining('ENOSPC') })
    expect(await into('/dev/null')).toMatchObject({ code: 0 })
  })

  test('that nobody reads any more is none: kiwi search | head', async () => {
    const child = spawn(
      'sh',
      ['-c', '{ "$0" "$1" search; echo "exit $?" >&2; } | true', process.execPath, CLI],
      {
        cwd: place.project,
        env: place.env,
      },
    )
    let stderr = ''
    child.stderr.on('data', (chunk) => (stderr += String(chunk)))
    await once(child, 'close')
    expect(stderr).toContain('exit 0')
  })
})

test('a property of a schema may be true or false: load shows it, run takes it', async () => {
  const folder = join(place.project, '.ai/tools/loose')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'tool.yaml'),
    'tool_type: bash\nversion: 1.0.0\ndescription: x\ninput_schema:\n  type: object\n  properties: {a: true, n: {type: integer}}\n',
  )
  writeFileSync(join(folder, 'main.sh'), 'cat')
  expect(await kiwi(place, ['load', 'loose'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/a +any/),
  })
  await kiwi(place, ['trust', '--yes'])
  const { stdout } = await kiwi(place, ['run', 'loose', 'a=1', 'n=2'])
  expect(JSON.parse(stdout)).toEqual({ a: '1', n: 2 })
})

test.each([[['nope']], [['nope', 'name=Ada']], [['hello_bash', 'name=Ada']]])(
  'kiwi run %j is one call on record',
  async (args) => {
    const fresh = makePlace()
    await kiwi(fresh, ['run', ...args])
    const { stdout } = await kiwi(fresh, ['audit', '--json'])
    const records = stdout
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    expect(records.map((record) => field(record, 'operation'))).toEqual(['execute.run', 'execute.run'])
    fresh.remove()
  },
)

test('what a service says besides its status is printed', async () => {
  const service = createServer((_, response) => {
    response.writeHead(422, { 'Content-Type': 'application/json' }).end('{"reason":"too blue"}')
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  try {
    const host = `127.0.0.1:${String(field(service.address(), 'port'))}`
    const manifest = join(place.folder, 'picky.yaml')
    writeFileSync(manifest, `tool_type: api\ndescription: picky\nconfig: { url: 'http://${host}/' }\n`)
    await kiwi(place, ['create', manifest])
    const there = { ...place, env: { ...place.env, KIWI_ALLOW_HOSTS: host } }
    const { stdout, stderr } = await kiwi(there, ['run', 'picky'])
    expect(stderr).toContain('HTTP_STATUS')
    expect(JSON.parse(stdout)).toEqual({ reason: 'too blue' })
  } finally {
    service.close()
  }
})

describe('AUD-05: nothing that came in writes on the terminal', () => {
  // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
  const CONTROL = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u2028\u2029]/

  test('kiwi audit: what an agent calls its actions and tools', async () => {
    const client = new Client({ name: 'x', version: '1' })
    const launch = { command: process.execPath, args: [CLI], cwd: place.project, env: { ...place.env } }
    await client.connect(new StdioClientTransport(launch))
    const action = 'x\u001B[31mRED\nallow'
    await client.callTool({ name: 'execute', arguments: { item_type: 'tool', action, item_id: 'a\u009B2J' } })
    await expect(client.callTool({ name: 'foo\u001B[2J\nbar', arguments: {} })).rejects.toThrow('foo')
    await client.close()
    const { stdout } = await kiwi(place, ['audit', '--limit', '4'])
    expect(stdout).not.toMatch(CONTROL)
    expect(stdout.trimEnd().split('\n')).toHaveLength(5)
    expect(stdout).toContain('execute.x?[31mRED allow')
  })

  test('kiwi search, load and doctor: what a project says about its items', async () => {
    const folder = join(place.project, '.ai/tools/painter')
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, 'tool.yaml'),
      String.raw`{tool_type: bash, version: 1.0.0, description: "paints \e[31m\n FAKE  line", parameters: [{name: a, description: "p \e[2J\n FAKE  too"}]}`,
    )
    writeFileSync(join(folder, 'main.sh'), 'true')
    mkdirSync(join(place.project, '.ai/knowledge'), { recursive: true })
    writeFileSync(
      join(place.project, '.ai/knowledge/paint.md'),
      '---\nversion: 1.0.0\ntitle: paint\n---\n# Paint\n\tthis \u001B[31mred\n',
    )
    writeFileSync(join(place.project, '.ai/tools/broken.yaml'), '"\\e[31m\\nFAKE": [\n')
    for (const args of [
      ['search', 'paints'],
      ['load', 'painter'],
      ['load', 'broken'],
      ['load', '\u001B[31m\nFAKE'],
      ['doctor'],
    ]) {
      const { stdout, stderr } = await kiwi(place, args)
      expect(stdout + stderr).not.toMatch(CONTROL)
      expect(stdout + stderr).not.toMatch(/^ *FAKE/m)
    }
    const { stdout } = await kiwi(place, ['load', 'paint', '--type', 'knowledge'])
    expect(stdout).toContain('# Paint\n\tthis ?[31mred\n')
  })
})

describe('kiwi doctor', () => {
  test('its exit code is that of the first fault in the table of errors', async () => {
    const sick = makePlace()
    const user = join(sick.folder, 'user')
    mkdirSync(user)
    const look = async (): Promise<readonly unknown[]> => {
      const { code, stdout } = await kiwi(sick, ['doctor', '--json'])
      const faults = listField(JSON.parse(stdout), 'findings').filter(
        (each) => field(each, 'state') === 'fail',
      )
      return [code, ...faults.map((fault) => field(fault, 'code'))]
    }
    expect(await look()).toEqual([0])
    writeFileSync(join(user, 'kiwi.token'), '')
    chmodSync(join(user, 'kiwi.token'), 0o600)
    expect(await look()).toEqual([2, 'INVALID_CONFIG'])
    writeFileSync(join(user, 'kiwi.token'), 'a'.repeat(43))
    expect(await look()).toEqual([0])
    writeFileSync(join(user, 'kiwi.db'), 'this is no database, and long enough to be looked at as one')
    expect(await look()).toEqual([6, 'STORE_UNAVAILABLE'])
    sick.remove()
  })
})

test('kiwi demo leaves nothing behind', async () => {
  const fresh = makePlace()
  const temporary = join(fresh.folder, 'tmp')
  mkdirSync(temporary)
  const { code } = await kiwi({ ...fresh, env: { ...fresh.env, TMPDIR: temporary } }, ['demo'])
  expect(code).toBe(0)
  expect(readdirSync(temporary)).toEqual([])
  expect(readdirSync(fresh.folder).toSorted()).toEqual(['project', 'tmp'])
  fresh.remove()
})

test('kiwi is not started from a tool, by whatever program', async () => {
  const tool = join(place.folder, 'starts_kiwi')
  mkdirSync(tool)
  writeFileSync(join(tool, 'tool.yaml'), 'tool_type: bash\ndescription: starts kiwi\n')
  writeFileSync(join(tool, 'main.sh'), `#!/bin/bash\n'${process.execPath}' '${CLI}' run hello_bash`)
  expect(await kiwi(place, ['create', tool])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"starts_kiwi"'),
  })
  const { stdout } = await kiwi(place, ['run', 'starts_kiwi', '--json'])
  expect(JSON.parse(stdout)).toMatchObject({
    error: { code: 'TOOL_FAILED' },
    data: { output: '', stderr: expect.stringContaining('PERMISSION_DENIED') },
  })
})

test('a command whose output nobody reads on is recorded to its end', async () => {
  const own = makePlace()
  const child = spawn(process.execPath, [CLI, 'load', 'hello_bash', '--json'], {
    cwd: own.project,
    env: own.env,
  })
  child.stdin.end()
  child.stdout.destroy()
  expect(await once(child, 'close')).toEqual([0, null])
  const { stdout } = await kiwi(own, ['audit', '--operation', 'load', '--json'])
  expect(stdout).toContain('"success"')
  expect(stdout).not.toContain('"unknown"')
  own.remove()
})
