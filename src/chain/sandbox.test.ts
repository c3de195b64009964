import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'
import type { SandboxHost } from '../primitives/subprocess/confinement.ts'
import type { JsonObject } from '../shared/json.ts'
import { holdOf } from './hold.ts'
import type { SandboxFloor, SandboxWish } from './sandbox.ts'
import { withFloor } from './sandbox.ts'

let temp: TempChain
beforeAll(async () => {
  temp = await openTempChain()
})
afterAll(() => temp.close())

/** What the chain of a tool and its runtime asks for, each with these keys of its manifest. */
async function wishOf(tool: JsonObject, runtime: JsonObject = {}): Promise<SandboxWish | null> {
  temp.tool('box_runtime', {
    tool_type: 'runtime',
    executor: 'subprocess',
    config: { command: 'cat' },
    ...runtime,
  })
  temp.tool('boxed', { tool_type: 'script', executor: 'box_runtime', ...tool })
  return (await temp.plan('boxed')).sandbox
}

describe('X8: what a chain asks for', () => {
  test('X8: nothing, unless a manifest says so, at its top or in its config', async () => {
    expect(await wishOf({})).toBeNull()
    const strict = { level: 'strict', net: 'none', read: [], write: [], isRequired: false }
    expect(await wishOf({ sandbox: {} })).toEqual(strict)
    expect(await wishOf({ config: { sandbox: { level: 'strict' } } })).toEqual(strict)
    expect(await wishOf({ sandbox: { level: 'fs', required: true } })).toEqual({
      ...strict,
      level: 'fs',
      net: 'all',
      isRequired: true,
    })
  })

  test('N11: a tool may be stricter than its runtime', async () => {
    const runtime = { sandbox: { level: 'fs', write: ['/data'], net: 'all' } }
    const tool = { sandbox: { level: 'strict', write: ['/data/mine'], net: 'none', required: true } }
    expect(await wishOf(tool, runtime)).toMatchObject({ level: 'strict', write: ['/data/mine'], net: 'none' })
    expect(await wishOf({}, runtime)).toMatchObject({ level: 'fs', write: ['/data'] })
  })

  test.each<[string, JsonObject, JsonObject]>([
    ['level', { level: 'fs' }, { level: 'strict' }],
    ['level', { level: 'off' }, { level: 'fs' }],
    ['net', { net: 'all' }, { level: 'strict' }],
    ['net', { net: 'proxy' }, { level: 'fs', net: 'none' }],
    ['write', { write: ['/data', '/etc'] }, { write: ['/data'] }],
    ['write', { write: ['/database'] }, { write: ['/data'] }],
    ['write', { write: ['/data/../etc'] }, { write: ['/data'] }],
    ['read', { read: ['~'] }, { read: [] }],
    ['required', { required: false }, { required: true }],
  ])('N11: a tool may not loosen %s: %j under %j', async (key, tool, runtime) => {
    for (const given of [{ sandbox: tool }, { config: { sandbox: tool } }]) {
      await expect(wishOf(given, { sandbox: runtime })).rejects.toMatchObject({
        code: 'INVALID_CONFIG',
        details: { key: `sandbox.${key}`, protected_by: 'box_runtime', tool: 'boxed' },
      })
    }
  })

  test('N11: nor may it take all of it away', async () => {
    const runtime = { config: { command: 'cat', sandbox: { required: true } } }
    await expect(wishOf({ config: { sandbox: null } }, runtime)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      details: { key: 'sandbox', protected_by: 'box_runtime' },
    })
    expect(await wishOf({ config: { sandbox: null } })).toBeNull()
  })

  test.each<[JsonObject, string]>([
    [{ levle: 'strict' }, 'levle'],
    [{ level: 'paranoid' }, 'level'],
    [{ write: '/data' }, 'write'],
    [{ net: 'some' }, 'net'],
  ])('X8: a misspelt protection does not pass: %j', async (sandbox, name) => {
    await expect(wishOf({ sandbox })).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining(name),
    })
  })
})

const LEVELS = ['off', 'fs', 'strict'] as const
const NETS = ['none', 'proxy', 'all'] as const

describe('X8: what holds everything at least', () => {
  test('N11: with a floor nothing is ever looser than without it, nor than the floor', () => {
    const floors = fc.record(
      { level: fc.constantFrom(...LEVELS), isRequired: fc.boolean(), net: fc.constantFrom(...NETS) },
      { requiredKeys: ['level', 'isRequired'] },
    )
    const wishes = fc.record({
      level: fc.constantFrom(...LEVELS),
      net: fc.constantFrom(...NETS),
      read: fc.constant([]),
      write: fc.constant([]),
      isRequired: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.option(wishes), floors, (wish, floor: SandboxFloor) => {
        const held = withFloor(wish, floor)
        const level = LEVELS.indexOf(held?.level ?? 'off')
        expect(level).toBe(Math.max(LEVELS.indexOf(wish?.level ?? 'off'), LEVELS.indexOf(floor.level)))
        if (held === null) return
        const most = floor.net ?? (floor.level === 'strict' ? 'none' : 'all')
        expect(NETS.indexOf(held.net)).toBe(Math.min(NETS.indexOf(wish?.net ?? 'all'), NETS.indexOf(most)))
        expect(held.isRequired).toBe((wish?.isRequired ?? false) || floor.isRequired)
      }),
    )
  })

  test('X8: a tool that asks for nothing is held by it', async () => {
    temp.tool(
      'free',
      { tool_type: 'script', executor: 'bash_runtime' },
      { 'main.sh': '#!/bin/sh\necho $HOME/*' },
    )
    const request = {
      callId: 'c',
      principal: 'tester',
      parameters: {},
      projectPath: temp.project,
      spaceRoot: null,
    }
    const draft = await temp.chain.draft(await temp.plan('free'), {
      ...request,
      sandbox: { level: 'strict', isRequired: true },
    })
    expect(draft.hold?.shown).toEqual({ level: 'strict', mechanism: 'bubblewrap', net: 'none' })
    expect((await temp.chain.perform(draft)).data).toMatchObject({ sandbox: { level: 'strict' } })
    expect((await temp.draft('free')).hold).toBeNull()
  })
})

describe('X8: on a host that has less', () => {
  const own = {
    home: '/home/me',
    userSpace: '/home/me/.ai',
    cache: '/home/me/.cache/kiwi',
    secret: [],
    plain: [],
    machineHarness: '/etc/kiwi/agent_harness.yaml',
  }
  const host = (fs: string | null, strict: string | null): SandboxHost => ({
    mechanism: 'bubblewrap',
    program: '/usr/bin/bwrap',
    missing: { own: fs, fs, strict },
  })
  const wish: SandboxWish = { level: 'strict', net: 'none', read: [], write: [], isRequired: false }
  const required = { ...wish, isRequired: true }
  const hold = (given: SandboxWish, here: SandboxHost) =>
    holdOf('scrape', given, { host: here, own, projectPath: null, policies: [] })

  test('X8: required refuses before anything runs, and says what this host lacks', () => {
    for (const here of [
      host('no user namespaces', 'no user namespaces'),
      host(null, 'no network namespace'),
    ]) {
      expect(() => hold(required, here)).toThrow(
        expect.objectContaining({
          code: 'SANDBOX_UNAVAILABLE',
          message: expect.stringMatching(/^Cannot run "scrape": it requires sandbox "strict"/),
          details: expect.objectContaining({ level: 'strict', rule: 'sandbox.required' }),
        }),
      )
    }
  })

  test('X8: what is only wished for runs weaker or bare, and both are said loudly', () => {
    const weaker = hold(wish, host(null, 'no network namespace'))
    expect(weaker.shown).toMatchObject({ level: 'fs', asked: 'strict', mechanism: 'bubblewrap' })
    expect(weaker.warnings).toEqual([expect.stringContaining('WEAKER SANDBOX')])
    const bare = hold(wish, host('bubblewrap is not installed', 'bubblewrap is not installed'))
    expect(bare.shown).toEqual({ level: 'off', mechanism: null, asked: 'strict' })
    expect(bare.warnings).toEqual([
      'NOT SANDBOXED: "scrape" asks for sandbox "strict", and this host has none: bubblewrap is not installed',
    ])
  })
})
