import { afterEach, expect, test } from 'vitest'
import type { JsonObject } from '../../src/shared/json.ts'
import { shiftingServer, writeServers } from '../fixtures/shifting-server.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
afterEach(() => temp.close())

const tool = (name: string): JsonObject => ({ name, description: `does ${name}` })

async function served(tools: readonly string[]): Promise<void> {
  temp = await openTempKiwi()
  const { entry } = shiftingServer(temp, 'everything', { tools: tools.map(tool) })
  writeServers(temp, 'user', { everything: entry })
  await temp.call('load', { item_type: 'mcp', item_id: 'everything' })
}

test('S6 M6: an id that is nearly one of a server is not run, and the answer says what may be meant', async () => {
  await served(['echo', 'get-sum', 'get-env'])
  for (const [given, meant] of [
    ['everything.get_sum', 'everything.get-sum'],
    ['Everything.Echo', 'everything.echo'],
    ['everything/echo', 'everything.echo'],
    ['mcp__everything__echo', 'everything.echo'],
    ['everthing.echo', 'everything.echo'],
    ['everything.ecoh', 'everything.echo'],
    ['echo', 'everything.echo'],
  ]) {
    const error = {
      code: 'NOT_FOUND',
      hint: `Did you mean ${meant}?`,
      fix: { call: 'load', arguments: { item_type: 'tool', item_id: meant } },
      details: { did_you_mean: [meant] },
    }
    expect([given, (await temp.run(given ?? '')).error]).toMatchObject([given, error])
    expect([given, (await temp.load(given ?? '')).error]).toMatchObject([given, error])
  }
})

test('S6: where nothing of a server is near, its own tools are searched rather than all of it loaded', async () => {
  await served(['echo'])
  expect((await temp.run('everything.make_coffee_now')).error).toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining('the server "everything" has no tool "make_coffee_now"'),
    fix: { call: 'search', arguments: { query: 'mcp:everything make coffee now' } },
  })
  expect((await temp.run('make_coffee')).error).toMatchObject({
    fix: { call: 'search', arguments: { query: 'make coffee' } },
  })
})

test('S6: of servers whose names differ only in case, the one that was asked is named, and its tools come first', async () => {
  temp = await openTempKiwi()
  const [small, capital] = ['small', 'capital'].map((name) =>
    shiftingServer(temp, name, { tools: [tool('make_tea')] }),
  )
  writeServers(temp, 'user', { na: small?.entry ?? {}, NA: capital?.entry ?? {} })
  for (const name of ['na', 'NA']) await temp.call('load', { item_type: 'mcp', item_id: name })
  for (const name of ['na', 'NA']) {
    const other = name === 'na' ? 'NA' : 'na'
    expect((await temp.run(`${name}.run`)).error).toMatchObject({
      message: expect.stringContaining(`the server "${name}" has no tool "run"`),
      hint: `Search what the server "${name}" has`,
      fix: { call: 'search', arguments: { query: `mcp:${name} run` } },
    })
    expect((await temp.run(`${name}.make_te`)).error?.details).toMatchObject({
      did_you_mean: [`${name}.make_tea`, `${other}.make_tea`],
    })
  }
})
