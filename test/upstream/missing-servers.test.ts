import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { JsonObject } from '../../src/shared/json.ts'
import { shiftingServer, writeServers } from '../fixtures/shifting-server.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
let entry: { readonly command: string; readonly args: readonly string[] }
beforeEach(async () => {
  temp = await openTempKiwi()
  ;({ entry } = shiftingServer(temp, 'acme', { tools: [{ name: 'echo', description: 'says it again' }] }))
})
afterEach(() => temp.close())

const errors = async (id: string, more: JsonObject = {}): Promise<readonly unknown[]> => [
  (await temp.run(id)).error,
  (await temp.call('load', { item_type: 'tool', item_id: id, ...more })).error,
]

test.each([
  ['user', 'Ask the person to run: kiwi add acme'],
  ['project', 'Ask the person to run: kiwi add acme --to project'],
] as const)(
  'M8: a tool of a server that the %s switched off says so, and how it is switched on',
  async (space, hint) => {
    writeServers(temp, 'user', { acme: entry })
    expect((await temp.run('acme.echo', { text: 'x' })).error).toBeNull()
    writeServers(temp, space, { acme: { ...entry, enabled: false } })
    for (const error of await errors('acme.echo')) {
      expect(error).toMatchObject({
        code: 'UPSTREAM_UNAVAILABLE',
        message: 'Cannot use "acme.echo": the server "acme" is switched off',
        hint,
        retryable: false,
      })
    }
  },
)

test('M8: a tool of a server that is shipped and was never added says how it is added', async () => {
  for (const error of await errors('supabase.list_projects')) {
    expect(error).toMatchObject({
      code: 'NOT_FOUND',
      message:
        'Cannot find tool "supabase.list_projects": the server "supabase" is shipped, and nobody has added it',
      hint: 'Ask the person to run: kiwi add supabase',
    })
  }
})

test('M8: of a server that cannot be asked nobody says that it has no such tool, but why it cannot', async () => {
  writeServers(temp, 'user', { gone: { command: process.execPath, args: ['-e', 'process.exit(7)'] } })
  for (const error of await errors('gone.echo')) {
    expect(error).toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: expect.stringContaining('Cannot start "gone": it ended with code 7'),
    })
  }
})

test('M1, M8: where the list of servers cannot be read, whoever misses one of them is told so', async () => {
  writeServers(temp, 'user', { acme: entry })
  expect((await temp.run('acme.echo', { text: 'x' })).error).toBeNull()
  await temp.call('execute', { item_type: 'mcp', action: 'discover', item_id: 'acme' })
  const file = join(temp.config.userSpace, 'config/mcp_registry.yaml')
  writeFileSync(file, 'mcps: [broken')
  const hint = expect.stringContaining(`${file}:1:`)
  expect(await errors('other.echo')).toMatchObject([
    { code: 'NOT_FOUND', hint },
    { code: 'NOT_FOUND', hint },
  ])
  expect((await temp.call('load', { item_type: 'mcp', item_id: 'acme' })).error).toMatchObject({ hint })
  // What was written as a file lost its server.
  expect((await temp.run('acme.echo')).error).toMatchObject({ code: 'EXECUTOR_MISSING', hint })
})

test('S6: a version of a tool that is listed is told to be left out', async () => {
  writeServers(temp, 'user', { acme: entry })
  await temp.call('load', { item_type: 'mcp', item_id: 'acme' })
  expect(await errors('acme.echo@1.0.0')).toMatchObject(
    Array.from({ length: 2 }, () => ({
      code: 'NOT_FOUND',
      message: 'Cannot find tool "acme.echo@1.0.0": no version of it is published',
      hint: 'Leave out the version: "acme.echo" is what its server lists now',
    })),
  )
})

test('S6: of a space in which a tool of a server does not stand it is not said that the server lacks it', async () => {
  writeServers(temp, 'user', { acme: entry })
  await temp.call('load', { item_type: 'mcp', item_id: 'acme' })
  const [, error] = await errors('acme.echo', { source: 'project' })
  expect(error).toMatchObject({
    code: 'NOT_FOUND',
    message: 'Cannot find tool "acme.echo" in the space "project"',
    hint: 'It is in the space "mcp": leave out "source"',
    fix: { call: 'load', arguments: { item_type: 'tool', item_id: 'acme.echo' } },
  })
})

test('S12: whoever names the server twice is told what is meant', async () => {
  writeServers(temp, 'user', { acme: entry })
  await temp.call('load', { item_type: 'mcp', item_id: 'acme' })
  const twice = { item_type: 'mcp', action: 'call', item_id: 'acme', parameters: { tool: 'acme.echo' } }
  expect((await temp.call('execute', twice)).error).toMatchObject({
    code: 'NOT_FOUND',
    hint: 'Did you mean acme.echo?',
    details: { did_you_mean: ['acme.echo'] },
  })
})
