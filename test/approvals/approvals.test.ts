import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { decide } from '../../src/kernel/policy/decide.ts'
import type { Reply } from '../../src/shared/reply.ts'
import { field, textField } from '../fixtures/field.ts'
import type { Asking } from '../fixtures/asking.ts'
import { openAsking, writeAsking, yesTo } from '../fixtures/asking.ts'

let asking: Asking
beforeEach(async () => {
  asking = await openAsking()
})
afterEach(() => asking.close())

const HOUR = 3_600_000
const idOf = (reply: { readonly data: unknown }): string => textField(reply.data, 'approval_id')

async function statusesOf(callId: string): Promise<readonly string[]> {
  const records = await asking.kiwi.store.records({ limit: 10, call_id: callId })
  return records.map(({ kind, status }) => `${kind} ${status}`).toSorted()
}

describe('a call that a layer asks about', () => {
  test('H9: waits, is answered, runs once and never again', async () => {
    const waiting = await asking.run()
    expect(waiting).toMatchObject({
      status: 'approval_required',
      error: null,
      data: {
        approval_id: expect.stringMatching(/^[2-9a-z]{12}$/),
        summary: expect.stringContaining('careful'),
        expires_at: expect.stringMatching(/^20/),
        how: [expect.stringContaining(`kiwi approve ${idOf(waiting)}`), expect.any(String)],
        call_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    })
    expect(await statusesOf(waiting.metadata.call_id)).toEqual(['decision ask', 'outcome parked'])
    expect(idOf(await asking.run())).toBe(idOf(waiting))
    expect(asking.ran()).toBe(0)
    expect(await asking.decide(waiting)).toMatchObject({ status: 'success', data: { state: 'approved' } })
    const done = await asking.runAgain()
    expect(done).toMatchObject({ status: 'success', data: { output: 'done\n' } })
    const [, decision] = await asking.kiwi.store.records({ limit: 2, call_id: done.metadata.call_id })
    expect(decision).toMatchObject({
      status: 'allow',
      body: { approval_id: idOf(waiting), layer: expect.any(String) },
    })
    const again = await asking.runAgain()
    expect(again.status).toBe('approval_required')
    expect(idOf(again)).not.toBe(idOf(waiting))
    expect(asking.ran()).toBe(1)
  })

  test('APR-01, N5: with another argument, or for another principal, it is another call', async () => {
    const waiting = await asking.run({ a: 'x' })
    await asking.decide(waiting)
    expect(await asking.run({ a: 'y' })).toMatchObject({ status: 'approval_required' })
    expect(await asking.run({ a: 'x' }, { principal: 'other' })).toMatchObject({
      status: 'approval_required',
    })
    expect(asking.ran()).toBe(0)
    expect((await asking.run({ a: 'x' })).status).toBe('success')
  })

  test('APR-01: what was approved and is changed before it runs is asked about again', async () => {
    const waiting = await asking.run()
    await asking.decide(waiting)
    const files = { 'main.sh': '#!/bin/bash\necho changed >> "$KIWI_PROJECT_PATH/ran"\n' }
    const update = { item_type: 'tool', action: 'update', item_id: 'careful', parameters: { files } }
    expect((await asking.temp.call('execute', update)).status).toBe('success')
    const changed = await asking.run()
    expect(changed.status).toBe('approval_required')
    expect(idOf(changed)).not.toBe(idOf(waiting))
    expect(asking.ran()).toBe(0)
  })

  test('APR-01, N5: so is a call whose rules were changed, though they still ask', async () => {
    const waiting = await asking.run()
    await asking.decide(waiting)
    const rule = '  - { op: tool, match: { tool: another }, effect: deny }\n'
    writeAsking(asking.temp.config.userSpace, ['careful'], rule)
    const changed = await asking.run()
    expect(changed.status).toBe('approval_required')
    expect(idOf(changed)).not.toBe(idOf(waiting))
    expect(asking.ran()).toBe(0)
    writeAsking(asking.temp.config.userSpace, ['careful'])
    expect((await asking.run()).status).toBe('success')
    expect(asking.ran()).toBe(1)
  })

  test('APR-01: so is a call whose path leads elsewhere by now', async () => {
    const { temp, kiwi, client } = asking
    writeAsking(temp.config.userSpace, ['filesystem.write'])
    for (const name of ['docs', 'src']) mkdirSync(join(temp.project, name))
    const link = join(temp.project, 'current')
    symlinkSync('docs', link)
    const parameters = { path: 'current/notes', content: 'x' }
    const call = { item_type: 'tool', action: 'run', item_id: 'filesystem.write', parameters }
    const waiting = await kiwi.call('execute', call, client)
    await asking.decide(waiting)
    rmSync(link)
    symlinkSync('src', link)
    const changed = await kiwi.call('execute', call, client)
    expect(changed.status).toBe('approval_required')
    expect(idOf(changed)).not.toBe(idOf(waiting))
    rmSync(link)
    symlinkSync('docs', link)
    expect((await kiwi.call('execute', call, client)).status).toBe('success')
    expect([
      existsSync(join(temp.project, 'docs/notes')),
      existsSync(join(temp.project, 'src/notes')),
    ]).toEqual([true, false])
  })

  test('APR-01: so is a tool whose library was changed', async () => {
    const { temp, kiwi, client } = asking
    temp.write('tools/lib/part.py', 'WORD = "one"\n')
    temp.write('tools/imports.py', '"""Says a word."""\nfrom lib.part import WORD\nprint(WORD)\n')
    writeAsking(temp.config.userSpace, ['imports'])
    const run = (): Promise<Reply> =>
      kiwi.call('execute', { item_type: 'tool', action: 'run', item_id: 'imports' }, client)
    const waiting = await run()
    expect(waiting.status).toBe('approval_required')
    await asking.decide(waiting)
    temp.write('tools/lib/part.py', 'WORD = "another"\n')
    const changed = await run()
    expect(changed.status).toBe('approval_required')
    expect(idOf(changed)).not.toBe(idOf(waiting))
  })

  test('APR-02: of many calls at once that come with one approval, one runs and the others are told', async () => {
    await asking.decide(await asking.run())
    const replies = await Promise.all(Array.from({ length: 8 }, () => asking.run()))
    expect(replies.filter(({ status }) => status === 'success')).toHaveLength(1)
    for (const { status, error } of replies.filter((reply) => reply.status !== 'success'))
      expect([status, error?.code ?? null]).toEqual(
        error === null ? ['approval_required', null] : ['error', 'APPROVAL_USED'],
      )
    expect(asking.ran()).toBe(1)
    const { kiwi } = asking
    const [row] = await kiwi.questions.list({ limit: 9, states: ['used'] })
    expect(row).toMatchObject({ state: 'used', decided_by: 'user:me', channel: 'terminal', isOurs: true })
  })

  test('H9: a no is told with its reason, stays until it expires, and never runs', async () => {
    const waiting = await asking.run()
    await asking.decide(waiting, { decision: 'deny', reason: 'not on a Friday' })
    for (const reply of [await asking.run(), await asking.runAgain()]) {
      expect(reply.error).toMatchObject({
        code: 'APPROVAL_REJECTED',
        message: expect.stringContaining('not on a Friday'),
        details: { approval_id: idOf(waiting), by: 'user:me' },
      })
      expect(await statusesOf(reply.metadata.call_id)).toEqual(['decision deny', 'outcome rejected'])
    }
    asking.moveClock(2 * HOUR)
    expect((await asking.run()).status).toBe('approval_required')
    expect(asking.ran()).toBe(0)
  })

  test('H9: a person who sees the no may change their mind, and take back a yes that was not used', async () => {
    const waiting = await asking.run()
    await asking.decide(waiting, { decision: 'deny' })
    expect(await asking.decide(waiting)).toMatchObject({ status: 'success' })
    expect(await asking.decide(waiting, { decision: 'deny', reason: 'after all' })).toMatchObject({
      status: 'success',
    })
    expect((await asking.run()).error?.code).toBe('APPROVAL_REJECTED')
    expect(asking.ran()).toBe(0)
  })

  test('H9: of two answers the first stands, and the other is a conflict', async () => {
    const waiting = await asking.run()
    const { mac } = await asking.kiwi.questions.find(idOf(waiting))
    const answers = await Promise.all([
      asking.decide(waiting, { seen: mac }),
      asking.decide(waiting, { seen: mac, decision: 'deny' }),
    ])
    expect(answers.map(({ status }) => status).toSorted()).toEqual(['error', 'success'])
    expect(answers.find(({ error }) => error !== null)?.error?.code).toBe('CONFLICT')
  })

  test('H9: nobody answered in time is told once, and then asked again', async () => {
    const waiting = await asking.run()
    asking.moveClock(HOUR + 1)
    expect((await asking.decide(waiting)).error?.code).toBe('APPROVAL_TIMEOUT')
    const late = await asking.run()
    expect(late.error?.code).toBe('APPROVAL_TIMEOUT')
    expect(await statusesOf(late.metadata.call_id)).toEqual(['decision deny', 'outcome rejected'])
    const again = await asking.run()
    expect(again.status).toBe('approval_required')
    expect(idOf(again)).not.toBe(idOf(waiting))
  })

  test('H9: a yes that is not used in time is no yes, and a clock that went back makes none last longer', async () => {
    const waiting = await asking.run()
    await asking.decide(waiting)
    asking.moveClock(HOUR + 1)
    expect((await asking.run()).error?.code).toBe('APPROVAL_TIMEOUT')
    await asking.decide(await asking.run())
    asking.moveClock(-2 * HOUR)
    expect((await asking.run()).error?.code).toBe('APPROVAL_TIMEOUT')
    expect(asking.ran()).toBe(0)
  })

  test('H9: for this session is a grant that is listed, covers other arguments, and can be withdrawn', async () => {
    const waiting = await asking.run({ a: '1' })
    await asking.decide(waiting, { scope: 'run' })
    for (const a of ['1', '2', '3']) expect((await asking.run({ a })).status).toBe('success')
    expect((await asking.runAgain({ a: '2' })).status).toBe('approval_required')
    expect(await asking.kiwi.questions.find(idOf(waiting))).toMatchObject({ scope: 'run', state: 'approved' })
    await asking.decide(waiting, { decision: 'deny' })
    expect((await asking.run({ a: '4' })).status).toBe('approval_required')
    expect(asking.ran()).toBe(3)
  })

  test('H9: where several clients have the session, a yes is for the one call, whatever was wanted', async () => {
    const shared = { isShared: true }
    const waiting = await asking.run({ a: '1' }, shared)
    const said = textField((await asking.decide(waiting, { scope: 'run' })).data, 'output')
    expect(said).toContain('runs once')
    expect(said).toContain('several clients have this session')
    expect((await asking.run({ a: '1' }, shared)).status).toBe('success')
    for (const a of ['1', '2']) expect((await asking.run({ a }, shared)).status).toBe('approval_required')
    expect(asking.ran()).toBe(1)
  })

  test('H9: other arguments of a person are judged anew, approved at once, and told to whoever asked', async () => {
    const waiting = await asking.run({ a: 'all' })
    expect(await asking.decide(waiting, { parameters: { a: 'one' } })).toMatchObject({ status: 'success' })
    const refused = await asking.run({ a: 'all' })
    expect(refused.error).toMatchObject({
      code: 'APPROVAL_MISMATCH',
      details: { parameters: { a: 'one' } },
      fix: { call: 'execute', arguments: { item_id: 'careful', parameters: { a: 'one' } } },
    })
    const args = refused.error?.fix.arguments
    const { kiwi, client } = asking
    expect(await kiwi.call('execute', args, client)).toMatchObject({ status: 'success' })
    expect((await kiwi.call('execute', args, client)).status).toBe('approval_required')
    expect(asking.ran()).toBe(1)
  })

  test('H9: a session may have twenty questions open, and is told so', async () => {
    const replies = []
    for (let at = 0; at < 21; at++) replies.push(await asking.run({ a: String(at) }))
    expect(replies.slice(0, 20).every(({ status }) => status === 'approval_required')).toBe(true)
    expect(replies[20]?.error).toMatchObject({ code: 'OVERLOADED', message: expect.stringContaining('20') })
    expect((await asking.runAgain({ a: '20' })).status).toBe('approval_required')
  })

  test('H9: a dry run says that it would ask, and asks nobody', async () => {
    const { temp, kiwi } = asking
    const args = { item_type: 'tool', action: 'run', item_id: 'careful', dry_run: true }
    const client = {
      principal: 'tester',
      session: 's',
      kind: 'agent',
      defaultProject: () => Promise.resolve(temp.project),
    } as const
    expect(await kiwi.call('execute', args, client)).toMatchObject({
      status: 'dry_run',
      data: { would_ask: true },
    })
    expect(await kiwi.questions.list({ limit: 9 })).toEqual([])
  })

  test('N5: the file in .ai/checkpoints is a read-only copy that is never read back', async () => {
    const waiting = await asking.run()
    const file = join(asking.temp.project, '.ai/checkpoints/session-1.json')
    expect(field(JSON.parse(readFileSync(file, 'utf8')), 'waiting', 0, 'approval_id')).toBe(idOf(waiting))
    await asking.decide(waiting, { decision: 'deny' })
    expect(existsSync(file)).toBe(false)
    asking.temp.write('checkpoints/session-1.json', JSON.stringify({ state: 'approved', waiting: [] }))
    expect((await asking.run()).error?.code).toBe('APPROVAL_REJECTED')
  })
})

describe('who answers', () => {
  test('APR-04: an agent has no action for it, and one that acts as itself is refused', async () => {
    const waiting = await asking.run()
    const id = idOf(waiting)
    const { kiwi, temp } = asking
    for (const action of ['approve', 'decide', 'deny', 'resume'])
      for (const item_type of ['tool', 'directive', 'knowledge', 'mcp'])
        expect(
          (await temp.call('execute', { item_type, action, item_id: id, parameters: { approval_id: id } }))
            .error?.code,
        ).toMatch(/^UNKNOWN_ACTION|^UNKNOWN_ITEM_TYPE|^NOT_FOUND/)
    const { mac } = await kiwi.questions.find(id)
    const wish = { kind: 'decide', answer: yesTo(id, mac) } as const
    const act = { wish: () => wish, operation: 'approve', subject: id }
    const agent = { ...asking.client, defaultProject: () => Promise.resolve(null) }
    expect((await kiwi.act(act, agent)).error?.code).toBe('PERMISSION_DENIED')
    expect((await asking.decide(waiting, { channel: 'key' }, 'tester')).error?.code).toBe('PERMISSION_DENIED')
    expect((await asking.decide(waiting, { channel: 'client' }, 'other')).error?.code).toBe(
      'PERMISSION_DENIED',
    )
    expect((await asking.run()).status).toBe('approval_required')
    expect(asking.ran()).toBe(0)
  })

  test('APR-04: no tool may read or write the key of the approver', async () => {
    const { layers } = await asking.kiwi.policyOf(asking.temp.project)
    for (const op of ['read', 'write'] as const) {
      const demand = { op, path: asking.temp.config.approverKey, isChosen: true }
      expect(decide(layers, [demand], {})).toMatchObject({ effect: 'deny', layer: 'machine' })
    }
  })

  test('H9: every answer is on record, with who gave it and where', async () => {
    const waiting = await asking.run()
    const reply = await asking.decide(waiting, { reason: 'because' })
    const records = await asking.kiwi.store.records({ limit: 4, call_id: reply.metadata.call_id })
    expect(records.find(({ kind }) => kind === 'decision')).toMatchObject({
      operation: 'approve',
      principal: 'user:me',
      tool: idOf(waiting),
      body: { parameters: { channel: 'terminal', reason: 'because' } },
    })
  })
})
