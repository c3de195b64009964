import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { CLI, kiwi } from './temp-server.ts'

let shared: Place
beforeAll(async () => {
  shared = makePlace()
  mkdirSync(join(shared.project, '.ai'))
  await kiwi(shared, ['run', 'hello_bash', 'name=Ada'])
  await kiwi(shared, ['run', 'nobody'])
})

test('H7: the table has the id of each call, with --wide that of its session, and no line ends in a blank', async () => {
  const { stdout } = await kiwi(shared, ['audit', '--json', '--tool', 'nobody', '--limit', '1'])
  const { call_id, agent_session } = JSON.parse(stdout)
  const shown = await kiwi(shared, ['audit'])
  expect(shown.stdout).toMatch(new RegExp(`^\\d+ +\\S+ \\S+  ${call_id}  outcome .* nobody `, 'm'))
  expect(shown.stdout).not.toMatch(/ $/m)
  expect(shown.stdout).not.toContain(agent_session)
  expect((await kiwi(shared, ['audit', '--wide'])).stdout).toContain(`${call_id}  ${agent_session}  outcome`)
})

test('H7: --denied shows what was refused, and not what was asked for wrongly', async () => {
  const place = makePlace()
  mkdirSync(join(place.project, '.ai/tools'), { recursive: true })
  writeFileSync(join(place.project, '.ai/tools/stranger.sh'), '#!/bin/bash\n# says a word\necho hi\n')
  await kiwi(place, ['run', 'nobody'])
  await kiwi(place, ['run', 'stranger'])
  const { stdout } = await kiwi(place, ['audit', '--denied'])
  expect(stdout).toMatch(/^\d+ .* outcome  denied  execute\.run  stranger .* UNTRUSTED$/m)
  expect(stdout).not.toContain('nobody')
  place.remove()
})

afterAll(() => shared.remove())

test('H7: kiwi audit is filtered by what, who and when, and by that it was refused', async () => {
  const calls = async (...args: string[]): Promise<readonly string[]> => {
    const { stdout } = await kiwi(shared, ['audit', '--json', ...args])
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => `${JSON.parse(line).tool} ${JSON.parse(line).status}`)
  }
  expect(await calls('--denied')).toEqual([])
  expect(await calls('--operation', 'execute.run', '--limit', '1')).toEqual(['nobody error'])
  expect(await calls('--since', '1h', '--tool', 'hello_bash')).toEqual([
    'hello_bash success',
    'hello_bash allow',
  ])
  expect(await calls('--until', '1h')).toEqual([])
  expect(await calls('--principal', 'somebody-else')).toEqual([])
  expect(await kiwi(shared, ['audit', '--since', 'yesterday'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('how long ago'),
  })
})

test('H11: --session shows a session as a tree', async () => {
  const { stdout } = await kiwi(shared, ['audit', '--json', '--limit', '1'])
  const { agent_session, principal } = JSON.parse(stdout)
  const shown = await kiwi(shared, ['audit', '--session', agent_session])
  expect(shown.stdout.split('\n')[0]).toBe(`${agent_session}  ${principal}`)
  expect(shown.stdout).toMatch(/^ {2}\d+ +.*nobody/m)
})

test('AUD-10: --export writes to standard output or into a file', async () => {
  const { stdout } = await kiwi(shared, [
    'audit',
    '--export',
    '-',
    '--format',
    'otel',
    '--tool',
    'hello_bash',
  ])
  expect(JSON.parse(stdout)).toMatchObject({
    resourceSpans: [{ scopeSpans: [{ spans: [{ name: 'tools/call hello_bash' }] }] }],
  })
  expect(stdout).not.toContain('Ada')
  const file = join(shared.folder, 'records.jsonl')
  expect(await kiwi(shared, ['audit', '--export', file, '--with-arguments'])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('4 records'),
  })
  expect(readFileSync(file, 'utf8')).toContain('Ada')
})

test('H7: --follow prints what other processes record, until Ctrl-C', async () => {
  const place = makePlace()
  const child = spawn(process.execPath, [CLI, 'audit', '--follow', '--json'], {
    cwd: place.project,
    env: place.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  const seen = (async () => {
    for await (const chunk of child.stdout) {
      text += String(chunk)
      if (text.split('\n').length > 2) return
    }
  })()
  await kiwi(place, ['search', 'hello'])
  await seen
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).kind),
  ).toEqual(['decision', 'outcome'])
  place.remove()
})

test('AUD-11: --erase asks first; what is gone is gone, and the chain is whole', async () => {
  const place = makePlace()
  await kiwi(place, ['run', 'hello_bash', 'name=forget-me'])
  const { call_id } = JSON.parse((await kiwi(place, ['audit', '--json', '--limit', '1'])).stdout)
  expect(await kiwi(place, ['audit', '--erase', call_id])).toMatchObject({
    stderr: expect.stringContaining('CONFIRM_REQUIRED'),
  })
  expect(await kiwi(place, ['audit', '--erase', call_id, '--yes'])).toMatchObject({ code: 0 })
  const { stdout } = await kiwi(place, ['audit', '--json'])
  expect(stdout).not.toContain('forget-me')
  expect(stdout).toContain('audit.erase')
  expect(await kiwi(place, ['audit', '--verify'])).toMatchObject({ code: 0 })
  place.remove()
})

test('AUD-01: --verify passes, then fails after one byte of the store was changed by hand', async () => {
  const place = makePlace()
  for (const name of ['first-name', 'second-name', 'third-name'])
    await kiwi(place, ['run', 'hello_bash', `name=${name}`])
  expect(await kiwi(place, ['audit', '--verify'])).toMatchObject({
    code: 0,
    stdout: '6 records, the chain is whole, as 3 signed heads say\n',
  })
  const file = join(place.folder, 'user/kiwi.db')
  const bytes = readFileSync(file)
  const at = bytes.indexOf('second-name')
  expect(at).toBeGreaterThan(0)
  bytes[at] = 'S'.charCodeAt(0)
  writeFileSync(file, bytes)
  expect(await kiwi(place, ['audit', '--verify'])).toMatchObject({
    code: 70,
    stdout: 'The chain is broken at record 3: it is not what was written\n',
  })
  expect((await kiwi(place, ['doctor'])).stdout).toMatch(/fail +journal +2 records are sound, then: changed/)
  place.remove()
}, 60_000)

test('AUD-01: --verify fails when the end was cut off, and says what is missing', async () => {
  const place = makePlace()
  await kiwi(place, ['run', 'hello_bash'])
  await kiwi(place, ['run', 'hello_bash'])
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const db = new DatabaseSync(join(place.folder, 'user/kiwi.db'))
  db.exec('DROP TRIGGER record_not_deleted; DELETE FROM journal WHERE seq > 2')
  db.close()
  const { code, stdout } = await kiwi(place, ['audit', '--verify', '--json'])
  expect(code).toBe(70)
  expect(JSON.parse(stdout)).toMatchObject({ records: 2, broken_at: 3, fault: 'cut', head: { size: 4 } })
  expect((await kiwi(place, ['audit', '--verify'])).stdout).toMatch(/the end is missing.*2 records.*counts 4/)
  place.remove()
})

test('H7: what a call does in a project is mirrored there', () => {
  expect(existsSync(join(shared.project, '.ai/logs/tool.jsonl'))).toBe(true)
})

test('AUD-01: --verify fails when the heads, the key or what a record held is gone', async () => {
  const place = makePlace()
  await kiwi(place, ['run', 'hello_bash'])
  await kiwi(place, ['run', 'hello_bash'])
  const verify = (): ReturnType<typeof kiwi> => kiwi(place, ['audit', '--verify'])
  const moved = async (name: string, check: () => Promise<void>): Promise<void> => {
    const path = join(place.folder, 'user', name)
    renameSync(path, `${path}.away`)
    await check()
    renameSync(`${path}.away`, path)
  }
  await moved('kiwi.heads.jsonl', async () =>
    expect(await verify()).toMatchObject({ code: 70, stdout: expect.stringContaining('they are gone') }),
  )
  await moved('kiwi.key', async () =>
    expect(await verify()).toMatchObject({ code: 70, stdout: expect.stringContaining('none of the 2') }),
  )
  expect(await verify()).toMatchObject({ code: 0 })
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const db = new DatabaseSync(join(place.folder, 'user/kiwi.db'))
  db.exec('UPDATE journal SET body = NULL, salt = NULL WHERE seq IN (2, 3)')
  db.close()
  expect(await verify()).toMatchObject({
    code: 70,
    stdout: 'The chain is broken at record 2: what it held is gone, and nobody has erased it\n',
  })
  place.remove()
}, 60_000)
