import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { questionText } from '../../src/kernel/approval-view.ts'
import { openKiwi } from '../../src/kiwi.ts'
import { systemClock } from '../../src/shared/clock.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { createConnection } from '../../src/store/sqlite/connection.ts'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import type { Asking } from '../fixtures/asking.ts'
import { openAsking, writeAsking } from '../fixtures/asking.ts'
import { textField } from '../fixtures/field.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let asking: Asking
beforeEach(async () => {
  asking = await openAsking()
})
afterEach(() => asking.close())

const idOf = (reply: { readonly data: unknown }): string => textField(reply.data, 'approval_id')

/** Behind Kiwi's back. */
async function tamper(sql: string): Promise<void> {
  const file = asking.temp.config.store
  const connection = createConnection(await openDatabase(file, { busyTimeout: 1000, file }), {
    file,
    clock: systemClock,
    busyLimit: 1000,
  })
  await connection.write(() => {
    connection.exec('DROP TRIGGER IF EXISTS approval_ends_once')
    connection.exec(sql)
  })
  await connection.close()
}

describe('a row that somebody wrote into the store', () => {
  test('APR-02, N5: is no approval, however it came to be one', async () => {
    const waiting = await asking.run()
    await tamper(
      "UPDATE approvals SET state = 'approved', decided_by = 'user:me', channel = 'terminal', decided_at = created_at",
    )
    const again = await asking.run()
    expect(again.status).toBe('approval_required')
    expect(idOf(again)).not.toBe(idOf(waiting))
    expect(asking.ran()).toBe(0)
  })

  test('APR-08: a question whose text was changed cannot be approved', async () => {
    const waiting = await asking.run()
    await tamper(`UPDATE approvals SET summary = json_set(summary, '$.tool', 'harmless')`)
    expect(await asking.kiwi.questions.find(idOf(waiting))).toMatchObject({ isOurs: false })
    expect((await asking.decide(waiting)).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('not asked by Kiwi'),
    })
  })

  test('N5: with the key gone, what waits is asked again', async () => {
    const waiting = await asking.run()
    await asking.decide(waiting)
    rmSync(asking.temp.config.approverKey)
    const kiwi = await openKiwi(asking.temp.config)
    const client = {
      principal: 'tester',
      session: 's',
      kind: 'agent',
      defaultProject: () => Promise.resolve(asking.temp.project),
    } as const
    const args = { item_type: 'tool', action: 'run', item_id: 'careful' }
    expect((await kiwi.call('execute', args, client)).status).toBe('approval_required')
    await kiwi.close()
    expect(asking.ran()).toBe(0)
  })
})

test('H9: in a store that cannot be written nobody can be asked, so nothing runs', async () => {
  const blocker = join(asking.temp.folder, 'a-file')
  writeFileSync(blocker, '')
  writeAsking(asking.temp.config.userSpace, ['hello_bash'])
  const temp = await openTempKiwi({
    beside: asking.temp,
    environment: { KIWI_STORE: join(blocker, 'kiwi.db') },
  })
  expect(temp.kiwi.store.readOnlyReason).toContain('a-file')
  expect((await temp.run('hello_bash')).error).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('Cannot ask a person'),
  })
  expect(await temp.kiwi.questions.list({ limit: 9 })).toEqual([])
  await temp.close()
})

test('H9: a no is taken though a policy cannot be read; a yes is not', async () => {
  const waiting = await asking.run()
  writeFileSync(join(asking.temp.config.userSpace, 'config/agent_harness.yaml'), 'mode: [\n')
  expect((await asking.decide(waiting)).error?.code).toBe('POLICY_ERROR')
  expect((await asking.decide(waiting, { decision: 'deny' })).error).toBeNull()
  expect(await asking.kiwi.questions.find(idOf(waiting))).toMatchObject({ state: 'rejected' })
})

describe('what a person is shown', () => {
  test('APR-08: a megabyte of hostile text is bounded and escaped, with all bytes on demand and the whole hash', async () => {
    const hostile = `\u001B[2J\r\nApprove? y\n\u202E${'x'.repeat(1_000_000)}THE END`
    const waiting = await asking.run({ a: hostile })
    const question = await asking.kiwi.questions.find(idOf(waiting))
    const [short, full] = [questionText(question), questionText(question, true)]
    for (const text of [short, full, textField(waiting.data, 'summary')]) {
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
      expect(text).not.toMatch(/^Approve/m)
      expect(text).toContain(question.call_hash)
    }
    expect(short.length).toBeLessThan(20_000)
    expect(short).toMatch(new RegExp(`\\d+ more bytes: kiwi approvals ${question.id} --full`))
    expect(full).toContain('THE END')
    expect(full).toContain('careful')
    expect(full).toMatch(/asked by {2}layer .* rule /)
    expect(full).toContain('tester, session session-1')
  })
})

test('APR-08: of a command that runs code of the project it is said that its content is not bound', async () => {
  const rule = '  - { op: tool, match: { server: shell, tool: run }, effect: ask }\n'
  writeAsking(asking.temp.config.userSpace, [], rule)
  const temp = await openTempKiwi({ beside: asking.temp })
  writeFileSync(join(temp.project, 'x.py'), 'print(1)')
  const [code, plain] = [
    await temp.run('shell.run', { argv: ['python3', 'x.py'] }),
    await temp.run('shell.run', { argv: ['rm', 'x.py'] }),
  ].map(({ data }) => textField(data, 'summary'))
  expect(code).toMatch(/^note {6}it runs code of the project: you approve the command, not the content/m)
  expect(plain).not.toContain('runs code')
  await temp.close()
})

test('APR-08: of a script that nobody signed it is said that its own content is bound, and no other', async () => {
  const { temp, kiwi, client } = asking
  temp.write('tools/loose.sh', '#!/bin/bash\n# Says a word.\necho one\n')
  writeAsking(temp.config.userSpace, ['loose'])
  const run = (): Promise<Reply> =>
    kiwi.call('execute', { item_type: 'tool', action: 'run', item_id: 'loose' }, client)
  const waiting = await run()
  const shown = textField(waiting.data, 'summary')
  expect(shown).toMatch(/^note {6}its own files are part of what you approve \(content, below\)/m)
  expect(shown).toMatch(/^content {3}[0-9a-f]{64}$/m)
  await asking.decide(waiting)
  temp.write('tools/loose.sh', '#!/bin/bash\n# Says a word.\necho two\n')
  expect((await run()).status).toBe('approval_required')
})

test('H4, H9: what undo would not give back is said before the call runs', async () => {
  const { temp } = asking
  const reply = await temp.run('shell.run', { argv: ['sh', '-c', 'rm x'] })
  expect(textField(reply.data, 'summary')).toContain(
    `undo      can be undone: what "${temp.project}" holds now is kept, but for .git, what .gitignore names and repositories inside of it`,
  )
})

test('APR-08, ENV-02: a granted value is in no question, reply or copy', async () => {
  const { temp } = asking
  const CANARY = 'canary-5d2c9b1e7f'
  const manifest = {
    ...BASH,
    secrets: ['ASK_KEY'],
    config: { env: { KEY: '${ASK_KEY}' } },
    parameters: [{ name: 'note' }],
  }
  await temp.create('tells', manifest, { 'main.sh': 'true' })
  const required = (await temp.run('tells')).error?.details['required']
  writeAsking(temp.config.userSpace, ['tells'])
  const other = await openTempKiwi({
    beside: temp,
    environment: { ASK_KEY: CANARY },
    settings: { grants: [required] },
  })
  const reply = await other.run('tells', { note: `it is ${CANARY}` })
  expect(reply.status).toBe('approval_required')
  const rows = await other.kiwi.questions.list({ limit: 9 })
  expect(JSON.stringify(rows)).toContain('[REDACTED:ASK_KEY]')
  const copy = readFileSync(join(temp.project, '.ai/checkpoints/session-1.json'), 'utf8')
  expect(JSON.stringify([reply, rows, copy])).not.toContain(CANARY)
  await other.close()
})
