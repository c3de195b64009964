import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { vectorFindings } from '../src/commands/vector-finding.ts'
import type { EmbeddingsServer } from './fixtures/embeddings-server.ts'
import { openEmbeddingsServer } from './fixtures/embeddings-server.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi, resultsOf } from './temp-kiwi.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each.close()
})

interface Bed {
  readonly server: EmbeddingsServer
  readonly person: TempKiwi
  readonly agent: TempKiwi
}

/** An embedder that a person made and set, and an agent that knows nothing of it. */
async function openBed({ waitMs = 5000, isTrusted = true } = {}): Promise<Bed> {
  const server = await openEmbeddingsServer()
  opened.push(server)
  const person = await openTempKiwi({
    kind: 'person',
    isTrusted,
    settings: { allow_hosts: [server.host], search: { embedder: 'my_embeddings', wait_ms: waitMs } },
  })
  opened.push(person)
  const made = await person.create('my_embeddings', embedderAt(server), {}, 'user')
  expect(made.error).toBeNull()
  const agent = await openTempKiwi({ beside: person })
  opened.push(agent)
  return { server, person, agent }
}

function embedderAt({ url }: EmbeddingsServer): object {
  return {
    tool_type: 'api',
    executor: 'http_client',
    description: 'makes vectors for the tests',
    mutates_state: false,
    idempotent: true,
    config: {
      method: 'POST',
      url: `${url}/v1/embeddings`,
      body_template: { model: '{model}', input: '{texts}' },
      response_transform: '$.data[*].embedding',
    },
    parameters: [
      { name: 'texts', type: 'array', required: true },
      { name: 'kind', type: 'string', default: 'document' },
      { name: 'model', type: 'string', default: 'concepts' },
    ],
  }
}

const UMBRELLA = 'name: sky\ndescription: tells the forecast\ntags: [barometer]\n'
function writeSky(kiwi: TempKiwi): void {
  kiwi.write('knowledge/sky.md', `---\n${UMBRELLA}---\nThe forecast of meteorology.\n`)
}

/** Until every text has its vector. */
async function filled(temp: TempKiwi, isTrusted = true): Promise<void> {
  const project = { space: 'project', root: join(temp.project, '.ai') } as const
  const places = [{ space: 'builtin', root: '' } as const, ...(isTrusted ? [project] : [])]
  await vi.waitFor(
    async () => {
      await temp.search('anything at all')
      const state = await temp.kiwi.vectors?.state(places)
      expect(state?.made).toBe(state?.texts)
      expect(state?.made).toBeGreaterThan(0)
    },
    { timeout: 20_000, interval: 200 },
  )
}

const idsOf = (reply: Parameters<typeof resultsOf>[0]): string[] => resultsOf(reply).map(({ id }) => id)
const warningsOf = ({ metadata }: Awaited<ReturnType<TempKiwi['search']>>): string =>
  (metadata.warnings ?? []).join('; ')

describe('E1: text and vectors', () => {
  test('E1: a query with no shared word finds the item when an embedder is set, and says why', async () => {
    const { agent } = await openBed()
    writeSky(agent)
    expect(idsOf(await agent.search('flooberwatt'))).not.toContain('sky')
    await filled(agent)
    const reply = await agent.search('flooberwatt')
    expect(idsOf(reply)[0]).toBe('sky')
    expect(resultsOf(reply)[0]).toMatchObject({ why: ['embedder'] })
    expect(warningsOf(reply)).toBe('')
  })
})

describe('E1: a search never waits for its embedder, and says when it is by words alone', () => {
  test('E1: one that is too slow: words alone, and the vector is there the next time', async () => {
    const { server, agent } = await openBed({ waitMs: 300 })
    writeSky(agent)
    await filled(agent)
    server.behave('slowly')
    const before = server.asked.length
    const late = await agent.search('umbrella forecast')
    expect(idsOf(late)).toContain('sky')
    expect(warningsOf(late)).toBe('found without the embedder: it is too slow')
    await vi.waitFor(async () => expect(warningsOf(await agent.search('umbrella forecast'))).toBe(''), 10_000)
    expect(server.asked.length).toBe(before + 1)
  })

  test('E1: one that fails is left alone for a while; switched off, words still answer', async () => {
    const { server, person, agent } = await openBed()
    writeSky(agent)
    await filled(agent)
    server.behave('fails')
    const reply = await agent.search('forecast of rain')
    expect(idsOf(reply)).toContain('sky')
    expect(warningsOf(reply)).toMatch(/^found without the embedder: Cannot run "my_embeddings": .*500/)
    const asked = server.asked.length
    expect(warningsOf(await agent.search('forecast of snow'))).toMatch(/^found without the embedder/)
    expect(server.asked.length).toBe(asked)
    const off = await openTempKiwi({ beside: person, settings: { search: { embedder: 'none' } } })
    opened.push(off)
    expect(off.kiwi.vectors).toBeNull()
    const plain = await off.search('forecast of rain')
    expect(idsOf(plain)).toContain('sky')
    expect(warningsOf(plain)).toBe('')
    expect(server.asked.length).toBe(asked)
  })

  test.each([
    ['fewer', 'it holds 0 vectors for 1 texts'],
    ['null', 'a vector is no list of numbers'],
    ['endless', 'it is no list of vectors'],
    ['text', 'it is no list of vectors'],
    ['huge', /max_response_bytes|over|10485760|selects more/],
  ] as const)('E1: what is no vector is refused: %s', async (as, reason) => {
    const { server, agent } = await openBed()
    writeSky(agent)
    await filled(agent)
    server.behave(as)
    const reply = await agent.search('forecast of rain')
    expect(idsOf(reply)).toContain('sky')
    expect(warningsOf(reply)).toMatch(reason)
  })

  test('E1: a vector of another length than those that were kept is compared with none', async () => {
    const { server, agent } = await openBed()
    writeSky(agent)
    await filled(agent)
    server.behave('longer')
    const reply = await agent.search('forecast of rain')
    expect(idsOf(reply)).toContain('sky')
    expect(resultsOf(reply)[0]).not.toMatchObject({ why: expect.arrayContaining(['embedder']) })
  })
})

describe('E1: vectors are made in the background', () => {
  test('E1: by model and content: nothing is sent twice, and an edit sends one text', async () => {
    const { server, person, agent } = await openBed()
    writeSky(agent)
    await filled(agent)
    const sent = server.asked.flat()
    expect(new Set(sent).size).toBe(sent.length)
    const other = await openTempKiwi({ beside: person })
    opened.push(other)
    await filled(other)
    agent.write('knowledge/sky.md', `---\n${UMBRELLA}---\nThe forecast, written anew.\n`)
    const before = server.asked.length
    await vi.waitFor(
      async () => {
        await agent.search('anything at all')
        expect(server.asked.length).toBeGreaterThan(before)
      },
      { timeout: 10_000, interval: 200 },
    )
    expect(server.asked.slice(before)).toEqual([[expect.stringContaining('written anew')]])
    expect(server.asked.flat().filter((text) => text.includes('barometer'))).toEqual([])
  })

  test('E1: of two processes at once one makes them, and nothing is sent twice', async () => {
    const { server, person, agent } = await openBed()
    await Promise.all([agent.search('anything'), person.search('anything')])
    await Promise.all([filled(agent), filled(person)])
    const documents = server.asked
      .filter((texts) => !texts.some((text) => text.startsWith('anything')))
      .flat()
    expect(documents.length).toBeGreaterThan(32)
    expect(new Set(documents).size).toBe(documents.length)
  })

  test('E1: a failure is waited out by all processes, and told by how far it came', async () => {
    const { server, agent, person } = await openBed()
    server.behave('fails')
    await agent.search('anything')
    const state = (): ReturnType<NonNullable<typeof agent.kiwi.vectors>['state']> | undefined =>
      person.kiwi.vectors?.state([{ space: 'builtin', root: '' }])
    await vi.waitFor(async () => expect((await state())?.failure?.error).toMatch(/500/), 10_000)
    const asked = server.asked.length
    await person.search('anything else')
    expect(await state()).toMatchObject({ made: 0 })
    expect(await vectorFindings(agent, [])).toMatchObject([
      {
        state: 'warn',
        detail: expect.stringMatching(/^my_embeddings: 0 of \d+ texts have a vector; last: .*500/),
      },
    ])
    // The question itself is one; nothing is made meanwhile.
    expect(server.asked.length).toBeLessThanOrEqual(asked + 1)
  })

  test('E1: what a project holds that nobody has trusted is not sent', async () => {
    const { server, agent } = await openBed({ isTrusted: false })
    writeSky(agent)
    await filled(agent, false)
    expect(await vectorFindings(agent, [])).toMatchObject([{ state: 'ok' }])
    expect(idsOf(await agent.search('forecast'))).toContain('sky')
    expect(server.asked.flat().filter((text) => text.includes('meteorology'))).toEqual([])
  })

  test('E1, H2: each call of it is on record by Kiwi itself, with the items and without their texts', async () => {
    const { agent } = await openBed()
    writeSky(agent)
    await filled(agent)
    await agent.search('umbrella')
    const records = await agent.kiwi.store.records({ limit: 1000, operation: 'search.embed' })
    const decisions = records.filter(({ kind }) => kind === 'decision')
    expect(new Set(records.map(({ principal }) => principal))).toEqual(new Set(['kiwi']))
    expect(decisions.length).toBe(records.length / 2)
    expect(decisions.map(({ body }) => body['parameters'])).toContainEqual({
      kind: 'query',
      texts: 1,
      items: [],
    })
    const about = JSON.stringify(decisions.map(({ body }) => body['parameters']))
    expect(about).toContain('"sky"')
    expect(JSON.stringify(records)).not.toContain('meteorology')
  })

  test('E1: an embedder that an agent has written anew is not used', async () => {
    const { server, agent } = await openBed()
    const changed = await agent.call('execute', {
      item_type: 'tool',
      action: 'update',
      item_id: 'my_embeddings',
      parameters: { manifest: { ...embedderAt(server), version: '2.0.0' }, location: 'user' },
    })
    expect(changed.error).toBeNull()
    const asked = server.asked.length
    const reply = await agent.search('umbrella')
    expect(warningsOf(reply)).toMatch(/no person stands behind it/)
    expect(server.asked.length).toBe(asked)
  })

  test('E1: one that is not there is named', async () => {
    const kiwi = await openTempKiwi({ settings: { search: { embedder: 'nowhere' } } })
    opened.push(kiwi)
    const reply = await kiwi.search('git')
    expect(idsOf(reply).length).toBeGreaterThan(0)
    expect(warningsOf(reply)).toBe('found without the embedder: Cannot find tool "nowhere"')
    expect(await vectorFindings(kiwi, [])).toMatchObject([
      { state: 'warn', detail: 'Cannot find tool "nowhere"', fix: expect.stringContaining('kiwi.json') },
    ])
  })
})
