import { rmSync, utimesSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ItemRef } from '../shared/ids.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Resolver } from './resolve.ts'
import { sampleFile, sampleItem } from '../../test/fixtures/sample-item.ts'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'

let temp: TempChain
let resolver: Resolver
const ref = (id: string): ItemRef => parseItemRef(id)
const api = (tool_id: string): JsonObject => ({
  tool_id,
  tool_type: 'api',
  executor: 'http_client',
  version: '1.0.0',
  description: 'A sample',
  config: { url: 'https://example.com/' },
})
const commandOf = (config: JsonObject): unknown => config['command']

beforeEach(async () => {
  temp = await openTempChain()
  ;({ resolver } = temp.chain)
  temp.lookup.freshen(true)
})
afterEach(() => temp.close())

describe('C1: resolved once, kept, and never stale', () => {
  test('a second resolve is at once, and asks the store nothing', async () => {
    const first = await resolver.resolve(ref('hello_world'), temp.lookup)
    temp.queries.length = 0
    const second = resolver.resolve(ref('hello_world'), temp.lookup)
    expect(second).not.toBeInstanceOf(Promise)
    expect(second).toBe(first)
    expect(resolver.current(ref('hello_world'), temp.lookup)).toBe(first)
    expect(temp.queries).toEqual([])
  })

  test('an edited runtime file is seen by the next call', async () => {
    const runtime = (command: string): JsonObject => ({
      tool_type: 'runtime',
      executor: 'subprocess',
      config: { command },
    })
    temp.tool('own_runtime', runtime('cat'))
    temp.tool('one', { tool_type: 'script', executor: 'own_runtime' }, { 'main.txt': 'one' })
    expect(commandOf((await temp.plan('one')).config)).toBe('cat')
    const kept = resolver.resolve(ref('one'), temp.lookup)
    temp.write('tools/own_runtime/tool.yaml', JSON.stringify({ tool_id: 'own_runtime', ...runtime('head') }))
    expect(resolver.resolve(ref('one'), temp.lookup)).toBe(kept)
    expect(commandOf((await temp.plan('one')).config)).toBe('head')
  })

  test('an edited runtime is also seen by the first call of another script', async () => {
    const runtime = (command: string): JsonObject => ({
      tool_type: 'runtime',
      executor: 'subprocess',
      config: { command },
    })
    temp.tool('own_runtime', runtime('cat'))
    temp.tool('one', { tool_type: 'script', executor: 'own_runtime' }, { 'main.txt': 'one' })
    temp.tool('two', { tool_type: 'script', executor: 'own_runtime' }, { 'main.txt': 'two' })
    await temp.plan('one')
    temp.write('tools/own_runtime/tool.yaml', JSON.stringify({ tool_id: 'own_runtime', ...runtime('head') }))
    expect(commandOf((await temp.plan('two')).config)).toBe('head')
  })

  test('an edited script of a folder is seen by the next call', async () => {
    temp.tool('one', { tool_type: 'script', executor: 'bash_runtime' }, { 'main.sh': 'echo 1' })
    const before = await temp.plan('one')
    temp.write('tools/one/main.sh', 'echo 2')
    const after = await temp.plan('one')
    expect(after.item.contentHash).not.toBe(before.item.contentHash)
    expect(after.digest).not.toBe(before.digest)
  })

  test('what was missing a moment ago is found by the next call', async () => {
    await expect(temp.plan('late')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    temp.write('tools/late.json', JSON.stringify(api('late')))
    expect((await temp.plan('late')).chain).toEqual(['late', 'http_client'])
  })

  test('E2: a nearer file is run by the next call, and one of the same id beside it is told', async () => {
    expect((await temp.plan('hello_bash')).item.space).toBe('builtin')
    temp.write('tools/a/hello_bash.json', JSON.stringify(api('hello_bash')))
    expect((await temp.plan('hello_bash')).chain).toEqual(['hello_bash', 'http_client'])
    temp.write('tools/b/hello_bash.json', JSON.stringify(api('hello_bash')))
    await expect(temp.plan('hello_bash')).rejects.toMatchObject({ code: 'AMBIGUOUS_ID' })
  })

  test('a chain is whole again as soon as its missing executor is there', async () => {
    temp.tool('one', { tool_type: 'script', executor: 'late_runtime' }, { 'main.txt': '' })
    await expect(temp.plan('one')).rejects.toMatchObject({ code: 'EXECUTOR_MISSING' })
    temp.write(
      'tools/late_runtime.json',
      '{"tool_type":"runtime","executor":"subprocess","config":{"command":"cat"}}',
    )
    expect((await temp.plan('one')).chain).toEqual(['one', 'late_runtime', 'subprocess'])
  })

  test('C14: a version that is published is seen by the next call', async () => {
    await temp.publish(sampleItem(api('shared')))
    expect((await temp.plan('shared')).links[0]?.version).toBe('1.0.0')
    await temp.publish(sampleItem({ ...api('shared'), version: '1.1.0' }))
    expect((await temp.plan('shared')).links[0]?.version).toBe('1.1.0')
    expect((await temp.plan('shared@1.0.0')).links[0]?.version).toBe('1.0.0')
  })

  test('a removed file is gone for the next call', async () => {
    const path = temp.write('tools/brief.json', JSON.stringify(api('brief')))
    temp.lookup.freshen(true)
    await temp.plan('brief')
    rmSync(path)
    await expect(temp.plan('brief')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('C2: many at once', () => {
  test('50 uncached ids cause one query, and what is missing maps to null', async () => {
    const ids = Array.from({ length: 50 }, (_, at) => `api_${at}`)
    for (const id of ids) await temp.publish(sampleItem(api(id)))
    await resolver.resolve(ref('http_test'), temp.lookup)
    temp.queries.length = 0
    const plans = await resolver.resolveBatch([...ids, 'missing'].map(ref), temp.lookup)
    expect(temp.queries).toEqual([`nodes ${[...ids, 'missing'].join()}`])
    expect(ids.map((id) => plans.get(id))).toMatchObject(ids.map((id) => ({ chain: [id, 'http_client'] })))
    expect(plans.get('missing')).toBeNull()
  })

  test('what is kept is not asked for again', async () => {
    await temp.publish(sampleItem(api('api_1')))
    await temp.publish(sampleItem(api('api_2')))
    const kept = await resolver.resolve(ref('api_1'), temp.lookup)
    temp.queries.length = 0
    const plans = await resolver.resolveBatch([ref('api_1'), ref('api_2')], temp.lookup)
    expect(plans.get('api_1')).toBe(kept)
    expect(temp.queries).toEqual(['nodes api_2'])
    temp.queries.length = 0
    await resolver.resolveBatch([ref('api_1'), ref('api_2')], temp.lookup)
    expect(temp.queries).toEqual([])
  })

  test('scripts share the one query for their rows', async () => {
    const ids = ['script_1', 'script_2', 'script_3']
    for (const id of ids) {
      const raw = {
        tool_id: id,
        tool_type: 'script',
        executor: 'bash_runtime',
        version: '1.0.0',
        description: 'A sample',
      }
      await temp.publish(sampleItem(raw, [sampleFile('main.sh', `echo ${id}`)]))
    }
    await resolver.resolve(ref('http_test'), temp.lookup)
    temp.queries.length = 0
    const plans = await resolver.resolveBatch(ids.map(ref), temp.lookup)
    expect(temp.queries).toEqual([`nodes ${ids.join()}`])
    expect(plans.get('script_2')).toMatchObject({ chain: ['script_2', 'bash_runtime', 'subprocess'] })
  })

  test('one faulty chain is told and does not spoil the others', async () => {
    await temp.publish(sampleItem(api('api_1')))
    temp.tool('orphan', { tool_type: 'script', executor: 'cobol_runtime' })
    const plans = await resolver.resolveBatch(['orphan', 'api_1'].map(ref), temp.lookup)
    expect(plans.get('orphan')).toMatchObject({ code: 'EXECUTOR_MISSING' })
    expect(plans.get('api_1')).toMatchObject({ chain: ['api_1', 'http_client'] })
  })
})

describe('C6: preload', () => {
  test('takes one query for what nearly every chain ends in', async () => {
    temp.queries.length = 0
    await resolver.preload(temp.lookup)
    expect(temp.queries).toEqual(['nodes python_runtime,bash_runtime,node_runtime,subprocess,http_client'])
  })

  test('leaves the first script run nothing to ask for but the script itself', async () => {
    await resolver.preload(temp.lookup)
    await resolver.resolve(ref('http_test'), temp.lookup)
    temp.queries.length = 0
    expect((await temp.run('hello_bash')).data['output']).toBe('Hello, World!\n')
    expect(new Set(temp.queries)).toEqual(new Set(['nodes hello_bash', 'files hello_bash 1.0.0']))
    expect(temp.queries.filter((query) => query.startsWith('nodes'))).toEqual(['nodes hello_bash'])
  })
})

describe('a plan', () => {
  test('is frozen to its last link', async () => {
    const plan = await temp.plan('hello_world')
    for (const part of [plan, plan.config, plan.chain, plan.links, plan.links[0], plan.items, plan.effect]) {
      expect(Object.isFrozen(part)).toBe(true)
    }
    expect(() => Object.assign(plan.config, { command: 'sh' })).toThrow(TypeError)
  })

  test('shares what is compiled with another file of equal content', async () => {
    const other = await openTempChain()
    const manifest = { tool_type: 'script', executor: 'bash_runtime' }
    try {
      temp.tool('same', manifest, { 'main.sh': 'echo 1' })
      other.tool('same', manifest, { 'main.sh': 'echo 1' })
      const [here, there] = [await temp.plan('same'), await resolver.resolve(ref('same'), other.lookup)]
      expect(there.item.path).not.toBe(here.item.path)
      expect(there.effect).toBe(here.effect)
      expect(there.digest).toBe(here.digest)
      other.tool('same', manifest, { 'main.sh': 'echo 2' })
      expect((await resolver.current(ref('same'), other.lookup)).effect).not.toBe(here.effect)
    } finally {
      await other.close()
    }
  })

  test('of an item in no space yet is made, but not kept', async () => {
    const item = sampleItem(api('not_yet'))
    expect((await resolver.plan(item, temp.lookup)).chain).toEqual(['not_yet', 'http_client'])
    await expect(temp.plan('not_yet')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('carries the warnings of its manifest', async () => {
    temp.tool('odd', {
      tool_type: 'api',
      executor: 'http_client',
      config: { url: 'https://example.com' },
      colour: 'red',
    })
    expect((await temp.plan('odd')).warnings).toEqual([
      '"colour" is not a key Kiwi knows: kept, without effect',
    ])
  })

  test('is kept for each spelling of its id, and by version', async () => {
    await temp.publish(sampleItem({ ...api('v'), version: '1.0.0' }))
    await temp.publish(sampleItem({ ...api('v'), version: '2.0.0' }))
    expect((await temp.plan('v')).links[0]?.version).toBe('2.0.0')
    expect((await temp.plan('v@^1')).links[0]?.version).toBe('1.0.0')
    expect((await temp.plan('v@2.0.0')).links[0]?.version).toBe('2.0.0')
    await expect(temp.plan('v@3')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

test('a file that is only touched does not change the plan', async () => {
  const path = temp.write('tools/quiet.json', JSON.stringify(api('quiet')))
  temp.lookup.freshen(true)
  const before = await temp.plan('quiet')
  utimesSync(path, new Date(0), new Date(0))
  const after = await temp.plan('quiet')
  expect(after.effect).toBe(before.effect)
  expect(after.digest).toBe(before.digest)
})
