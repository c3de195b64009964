import { describe, expect, test } from 'vitest'
import { KiwiError } from '../shared/errors.ts'
import { createRedact, keepAll } from '../shared/redact.ts'
import { textOf } from '../shared/template.ts'
import { auditEntry } from './audit-entry.ts'
import type { Call, Outcome, Work } from './call.ts'
import { newCall } from './new-call.ts'
import type { Demand } from './policy/rule.ts'
import { decisionRecord, outcomeRecord } from './records.ts'

const clock = { now: () => 1_760_000_000_123, monotonic: () => 42.7 }
const caller = {
  principal: 'ada',
  session: 's2',
  parentSession: 's1',
  kind: 'agent',
  protocol: '2026-07-28',
} as const
const ticket = { callId: 'c1', operation: 'execute.run', subject: 'deploy', parameters: {}, caller }

const work = (given: Partial<Work> = {}): Work => ({
  item: { id: 'deploy', version: '1.2.0', space: 'project' },
  action: 'run',
  chain: [],
  demands: [{ op: 'tool', id: 'deploy', action: 'run' }],
  isRepeatable: false,
  isReadOnly: false,
  parameters: { to: 'staging' },
  redact: keepAll,
  preview: () => ({}),
  warnings: [],
  perform: () => Promise.reject(new Error('not reached')),
  ...given,
})
const callOf = (given: Partial<Call> = {}): Call => ({
  ...newCall(ticket, () => Promise.reject(new Error('not reached'))),
  projectPath: '/p',
  redact: given.work?.redact ?? keepAll,
  ...given,
})
const done = (given: Partial<Outcome> = {}): Outcome => ({
  status: 'success',
  data: { output: 'ok' },
  itemId: 'deploy',
  action: 'run',
  chain: [],
  warnings: [],
  ...given,
})
const placed = (record: ReturnType<typeof decisionRecord>) =>
  auditEntry({ ...record, seq: 7, prev: 'p', hash: 'h' })

test('H7: an entry has every field, of a decision and of an outcome', () => {
  const demands: readonly Demand[] = [
    { op: 'tool', id: 'filesystem.write', action: 'run', of: { server: 'filesystem', tool: 'write' } },
    { op: 'write', path: '/p/a.txt', isChosen: true },
  ]
  const call = callOf({
    work: work({ demands, digest: 'd1', trust: 2, undo: { tier: 'files', paths: ['/p/a.txt'] } }),
    verdict: {
      effect: 'allow',
      layer: 'user',
      rule: 'user/fs/1',
      demand: { op: 'tool', id: 'deploy', action: 'run' },
      remedy: '',
      required: null,
      reason: null,
    },
    approval: { id: 'a1', claim: null },
    run: { id: 'r1', parent: null, root: 'r1', directive: 'deploy_feature', layers: [], aliases: new Map() },
  })
  const decision = placed(decisionRecord(call, clock))
  expect(Object.keys(decision)).toEqual(expect.arrayContaining(H7))
  expect(decision).toMatchObject({
    seq: 7,
    timestamp: '2025-10-09T08:53:20.123Z',
    call_id: 'c1',
    operation: 'execute.run',
    tool: 'deploy',
    version: '1.2.0',
    path: '/p/a.txt',
    parameters: { to: 'staging' },
    params_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    directive: 'deploy_feature',
    agent_session: 'r1',
    parent_session: 's2',
    principal: 'ada',
    decision: 'allow',
    layer: 'user',
    rule: 'user/fs/1',
    approval_id: 'a1',
    status: 'allow',
    digest: 'd1',
    trust: 2,
    group: 'filesystem',
    protocol: '2026-07-28',
    prev: 'p',
    hash: 'h',
  })
  const outcome = placed(outcomeRecord(call, clock, 12, done({ data: { output: 'ok', sandbox: 'strict' } })))
  expect(Object.keys(outcome)).toEqual(expect.arrayContaining(H7))
  expect(outcome).toMatchObject({
    decision: null,
    status: 'success',
    duration_ms: 12,
    bytes: '{"output":"ok","sandbox":"strict"}'.length,
    sandbox: 'strict',
    undo: 'files',
    result_hash: expect.any(String),
  })
})

const H7 = [
  ['seq', 'timestamp', 'call_id', 'operation', 'tool', 'version', 'path', 'parameters', 'params_hash'],
  ['directive', 'agent_session', 'parent_session', 'principal', 'decision', 'rule', 'approval_id', 'status'],
  ['duration_ms', 'prev', 'hash'],
].flat()

test.each<[string, Demand]>([
  ['filesystem', { op: 'tool', id: 'x', action: 'run', of: { server: 'filesystem', tool: 'read' } }],
  ['shell', { op: 'tool', id: 'x', action: 'run', of: { server: 'shell', tool: 'run' } }],
  ['git', { op: 'tool', id: 'x', action: 'run', of: { server: 'git', tool: 'push' } }],
  ['mcp', { op: 'tool', id: 'x', action: 'run', of: { server: 'supabase', tool: 'x' } }],
  ['tool', { op: 'tool', id: 'x', action: 'run' }],
  ['thread', { op: 'spawn', directive: 'x' }],
])('H7: the group of a call is %s by its first demand', (group, demand) => {
  const { body } = decisionRecord(callOf({ work: work({ demands: [demand] }) }), clock)
  expect(body['group']).toBe(group)
})

test('H7: a refusal, and a call that waits for a person, are told apart', () => {
  const refused = new KiwiError('RATE_LIMITED', 'Cannot run "deploy": too often')
  expect(decisionRecord(callOf(), clock, refused)).toMatchObject({
    status: 'deny',
    body: { code: 'RATE_LIMITED' },
  })
  expect(outcomeRecord(callOf(), clock, 1, refused).status).toBe('denied')
  expect(decisionRecord(callOf(), clock, done()).status).toBe('ask')
})

describe('RED-01: a live secret is in no record, in no encoding', () => {
  const secret = 'kiwi/canary+0123456789"ü'
  const looks: readonly (readonly [string, string])[] = [
    ['as it is', secret],
    ['base64', Buffer.from(`user:${secret}`).toString('base64')],
    ['base64url', Buffer.from(`x${secret}`).toString('base64url')],
    ['hex', Buffer.from(secret).toString('hex')],
    ['in a url', encodeURIComponent(secret)],
    ['in a form', new URLSearchParams({ v: secret }).toString()],
    ['in json', JSON.stringify({ v: secret })],
  ]
  const redact = createRedact(new Map([['KEY', secret]]))
  test.each(looks)('%s: neither in parameters, demands, paths nor messages', (_, look) => {
    const call = callOf({
      work: work({
        redact,
        parameters: { plain: look, nested: [{ [look]: 1 }] },
        demands: [
          { op: 'exec', program: '/bin/sh', argv: ['sh', '-c', `${'x'.repeat(475)}${look}`] },
          { op: 'read', path: `${'x'.repeat(980)}${look}` },
          { op: 'read', path: `/p/${look}` },
        ],
      }),
    })
    const failure = new KiwiError('TOOL_FAILED', `Cannot run "deploy": it said ${look}`)
    const records = [
      decisionRecord(call, clock, failure),
      outcomeRecord(call, clock, 1, failure),
      decisionRecord(call, clock),
    ]
    for (const text of records.map((record) => JSON.stringify(record))) {
      expect(text).not.toContain(JSON.stringify(look).slice(1, -1))
      expect(text).not.toContain('canary')
      expect(text).not.toContain(Buffer.from('canary').toString('hex'))
    }
    expect(textOf(records[0]?.body)).toContain('[REDACTED:KEY]')
  })

  test('its hash cannot be found by trying: it is taken of what is shown', () => {
    const hashOf = (parameters: Work['parameters']): unknown =>
      decisionRecord(callOf({ work: work({ redact, parameters }) }), clock).body['params_hash']
    expect(hashOf({ password: '1234' })).toBe(hashOf({ password: '9999' }))
    expect(hashOf({ plain: secret })).toBe(hashOf({ plain: '[REDACTED:KEY]' }))
    expect(hashOf({ to: 'a' })).not.toBe(hashOf({ to: 'b' }))
  })
})

test('H7: what is long is cut, so that one call cannot fill the journal', () => {
  const long = 'y'.repeat(1_000_000)
  const demands = Array.from({ length: 1000 }, (): Demand => ({ op: 'read', path: long.slice(0, 5000) }))
  const call = callOf({ work: work({ demands, parameters: { long } }) })
  const failure = new KiwiError('TOOL_FAILED', `Cannot run "x": ${long}`)
  expect(JSON.stringify(decisionRecord(call, clock, failure)).length).toBeLessThan(150_000)
  expect(JSON.stringify(outcomeRecord(call, clock, 1, failure)).length).toBeLessThan(5000)
})
