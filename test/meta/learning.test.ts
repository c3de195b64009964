import { rmSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
  // By its words alone the first comes first.
  await temp.create('quagga_counter', { ...BASH, description: 'quagga stripes counter' }, FILES)
  await temp.create('zoo_helper', { ...BASH, description: 'helps with a quagga, and with much else' }, FILES)
  await temp.create('fails', { ...BASH, description: 'quagga stripes that fail' }, { 'main.sh': 'exit 3' })
})
afterAll(() => temp.close())

const FILES = { 'main.sh': 'echo done' }
const WORDS = 'stripes quagga'

type Session = { readonly call: (tool: string, args: object) => Promise<Reply> }

/** A connection: of somebody else, unless it is said whose. */
function session(name: string, kiwi = temp, principal = name): Session {
  const client = {
    principal,
    session: name,
    kind: 'agent',
    defaultProject: () => Promise.resolve(kiwi.project),
  } as const
  return { call: (tool, args) => kiwi.kiwi.call(tool, args, client) }
}

const run = (item_id: string): object => ({ item_type: 'tool', action: 'run', item_id, parameters: {} })

async function use(item_id: string, query: string, { call }: Session): Promise<void> {
  await call('search', { query })
  await call('execute', run(item_id))
}

/** Behind the reply, so a moment later. */
const learned = (count: number, kiwi = temp): Promise<void> =>
  vi.waitFor(
    async () => {
      const uses = await kiwi.kiwi.store.uses()
      expect(uses.reduce((sum, { times }) => sum + Math.round(times), 0)).toBe(count)
    },
    { timeout: 5000, interval: 50 },
  )
const idsOf = async (query: string, kiwi = temp): Promise<readonly string[]> =>
  resultsOf(await kiwi.search(query)).map(({ id }) => id)

const forget = (what: string | null, kind: 'agent' | 'person' = 'person'): Promise<Reply> =>
  temp.kiwi.act(
    {
      wish: () => ({ kind: 'forget', itemId: what }),
      operation: 'learned.forget',
      subject: what ?? 'all',
      parameters: {},
    },
    { principal: 'user:me', session: 'at-the-terminal', kind, defaultProject: async () => temp.project },
  )

describe('S3: search learns from use', () => {
  beforeEach(async () => expect(await idsOf(WORDS)).not.toEqual([]))
  afterEach(async () => expect((await forget(null)).error).toBeNull())

  test('S3: after three uses it is first for like searches, and says why', async () => {
    expect((await idsOf(WORDS))[0]).not.toBe('zoo_helper')
    for (const name of ['one', 'two', 'three']) await use('zoo_helper', WORDS, session(name))
    await learned(3)
    const [first] = resultsOf(await temp.search('quagga stripes please', { limit: 3 }))
    expect(first).toMatchObject({
      id: 'zoo_helper',
      why: expect.arrayContaining(['description', 'used after like searches']),
    })
    expect((await idsOf('stripes', temp))[0]).not.toBe('hello_bash')
    expect((await idsOf('read a file'))[0]).not.toBe('zoo_helper')
  })

  test('S3: the very next search knows of it, and its scores are of the same scale', async () => {
    const before = resultsOf(await temp.search(WORDS, { limit: 3 }))
    await use('zoo_helper', WORDS, session('at-once'))
    const after = resultsOf(await temp.search(WORDS, { limit: 3 }))
    expect(after.find(({ id }) => id === 'zoo_helper')).toMatchObject({
      why: expect.arrayContaining(['used after like searches']),
    })
    expect(field(after[0], 'score')).toBe(field(before[0], 'score'))
  })

  test('S3: it counts through load too, and for what was asked for by another order', async () => {
    const { call } = session('loads')
    await call('search', { query: WORDS })
    await call('load', { item_type: 'tool', item_id: 'zoo_helper' })
    await call('execute', run('zoo_helper'))
    await learned(1)
    expect(await temp.kiwi.store.uses()).toMatchObject([
      { space: 'project', item_id: 'zoo_helper', words: ['quagga', 'strip'], times: 1 },
    ])
  })

  test('S3: not what failed, was refused, was only checked, or was found by nobody', async () => {
    const { call } = session('other')
    await call('execute', run('zoo_helper'))
    await call('search', { query: WORDS })
    expect((await call('execute', run('fails'))).error).not.toBeNull()
    await call('execute', { ...run('zoo_helper'), dry_run: true })
    await call('execute', { ...run('zoo_helper'), action: 'sign' })
    await call('execute', run('hello_bash'))
    await use('quagga_counter', 'counter', session('last'))
    await learned(1)
    expect(await temp.kiwi.store.uses()).toMatchObject([{ item_id: 'quagga_counter' }])
  })

  test('S3: nobody can push an item, by connecting again neither, and none above one that is called by its name', async () => {
    for (let n = 0; n < 10; n++)
      await use('zoo_helper', 'quagga counter', session(`loud-${n % 3}`, temp, 'loud'))
    const again = await openTempKiwi({ beside: temp })
    await use('zoo_helper', 'quagga counter', session('loud-4', again, 'loud'))
    await again.kiwi.close()
    await learned(1)
    for (let n = 0; n < 6; n++) await use('zoo_helper', 'quagga counter', session(`many-${n}`))
    await learned(7)
    expect((await idsOf('quagga counter')).slice(0, 2)).toEqual(['quagga_counter', 'zoo_helper'])
    expect((await idsOf('quagga_counter'))[0]).toBe('quagga_counter')
  })

  test('S3: what was learnt is forgotten on a person’s word alone, which is on record', async () => {
    await use('zoo_helper', WORDS, session('a'))
    await use('quagga_counter', WORDS, session('b'))
    await learned(2)
    expect((await forget(null, 'agent')).error?.code).toBe('PERMISSION_DENIED')
    expect((await forget('nothing')).error?.code).toBe('NOT_FOUND')
    expect(await forget('zoo_helper')).toMatchObject({ status: 'success', data: { forgotten: 1 } })
    expect(await temp.kiwi.store.uses()).toMatchObject([{ item_id: 'quagga_counter' }])
    const [record] = await temp.kiwi.store.records({ limit: 1 })
    expect(record).toMatchObject({ operation: 'learned.forget', status: 'success', tool: 'zoo_helper' })
  })

  test('S3: what one project taught is not told to another; what is everybody’s is', async () => {
    const other = await openTempKiwi({ beside: temp, project: 'other' })
    try {
      const twin = { ...BASH, description: 'helps with a quagga, and with much else' }
      await other.create('zoo_helper', twin, FILES)
      await other.create('quagga_counter', { ...BASH, description: 'quagga stripes counter' }, FILES)
      for (const name of ['here-1', 'here-2', 'here-3']) {
        await use('zoo_helper', WORDS, session(name))
        await use('hello_bash', 'say hello greeting bash', session(name))
      }
      await learned(6)
      expect((await idsOf(WORDS))[0]).toBe('zoo_helper')
      expect((await idsOf(WORDS, other))[0]).toBe('quagga_counter')
      expect((await idsOf('greeting bash hello', other))[0]).toBe('hello_bash')
    } finally {
      await other.close()
    }
  })
})

test('S3: a project that nobody trusts teaches nothing, whatever is run in it', async () => {
  const untrusted = await openTempKiwi({ beside: temp, project: 'untrusted', isTrusted: false })
  const before = await untrusted.kiwi.store.uses()
  for (const name of ['u1', 'u2', 'u3'])
    await use('hello_bash', 'hello bash greeting', session(name, untrusted))
  await untrusted.kiwi.close()
  expect(await temp.kiwi.store.uses()).toEqual(before)
})

test('S3: whoever wants nothing remembered says so in the settings, and nothing raises anything', async () => {
  const quiet = await openTempKiwi({ settings: { search: { learn: false } } })
  await quiet.create('zoo_helper', { ...BASH, description: 'helps with a quagga' }, FILES)
  await use('zoo_helper', WORDS, session('one', quiet))
  // What waits to be written is written by then.
  await quiet.kiwi.close()
  const after = await openTempKiwi({ beside: quiet })
  expect(await after.kiwi.store.uses()).toEqual([])
  await after.close()
  rmSync(quiet.folder, { recursive: true, force: true })
})

test('S3: a secret in a query is not kept, nor the words around one', async () => {
  const kept = await openTempKiwi()
  try {
    await kept.create('zoo_helper', { ...BASH, description: 'helps with a quagga' }, FILES)
    await use('zoo_helper', 'quagga sk-live-51HxQ2eZvKYlo2C letmein@home', session('one', kept))
    await use('zoo_helper', 'quagga password hunter', session('two', kept))
    await learned(1, kept)
    expect(field(await kept.kiwi.store.uses(), 0, 'words')).toEqual(['quagga'])
  } finally {
    await kept.close()
  }
})
