import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'
import type { JsonObject } from '../shared/json.ts'
import { secretPlaces } from './secret-places.ts'

let temp: TempChain
beforeAll(async () => {
  temp = await openTempChain()
})
afterAll(() => temp.close())

async function placesOf(manifest: JsonObject): Promise<unknown> {
  temp.tool('one', manifest, manifest['tool_type'] === 'script' ? { 'main.sh': 'true' } : {})
  return Object.fromEntries(secretPlaces(await temp.plan('one')))
}

test('X7: every place of a program where a variable stands is named', async () => {
  temp.tool('own_runtime', {
    tool_type: 'runtime',
    executor: 'subprocess',
    config: { command: '/bin/${A}', args: ['-x', 'y${A}', '${B:-none}'] },
  })
  const config = {
    env: { KEY: '${A}', PLAIN: 'x', BOTH: '${A}${B}' },
    cwd: '/${C}',
    input_data: '${D:+set}',
  }
  expect(await placesOf({ tool_type: 'script', executor: 'own_runtime', config })).toEqual({
    A: ['arguments', 'env:KEY', 'env:BOTH'],
    B: ['arguments', 'env:BOTH'],
    C: ['folder'],
    D: ['input'],
  })
})

test.each<[string, JsonObject, string]>([
  ['bearer', { type: 'bearer', token: '${A}' }, 'header:authorization'],
  ['basic', { type: 'basic', username: 'ada', password: '${A}' }, 'header:authorization'],
  ['api_key', { type: 'api_key', key: '${A}', header: 'X-Own' }, 'header:x-own'],
])('X7: every place of a request, with auth of type %s', async (_, auth, header) => {
  const config = {
    method: 'POST',
    url: 'https://${H}.example.com/v1?key=${A}',
    headers: { 'X-Key': '${B}' },
    auth,
    body: { a: ['${A}', 1], b: { c: 'x ${B}' } },
  }
  expect(await placesOf({ tool_type: 'api', config })).toEqual({
    H: ['address'],
    A: ['address', header, 'body'],
    B: ['header:x-key', 'body'],
  })
})

test('X7: a server is shown with the environment it would be started with', async () => {
  const places = secretPlaces(await temp.plan('mcp_github'))
  expect([...places.keys()]).toEqual(['GITHUB_PERSONAL_ACCESS_TOKEN'])
  expect(places.get('GITHUB_PERSONAL_ACCESS_TOKEN')).toEqual(['env:GITHUB_PERSONAL_ACCESS_TOKEN'])
})

test('X7, ENV-06: what is declared and put nowhere is the variable of that name, of its runtime too', async () => {
  temp.tool('asking_runtime', {
    tool_type: 'runtime',
    executor: 'subprocess',
    secrets: ['R', 'A', 'PATH'],
    config: { command: 'bash', args: ['${B:-none}'] },
  })
  const config = { env: { KEY: '${A}', FIXED: 'x' } }
  const secrets = ['A', 'B', 'C', 'FIXED']
  expect(await placesOf({ tool_type: 'script', executor: 'asking_runtime', secrets, config })).toEqual({
    A: ['env:KEY'],
    B: ['arguments'],
    C: ['env:C'],
    R: ['env:R'],
  })
})

test('X7: a server is given what it declares in the same way', async () => {
  const config = { command: 'server', args: ['--key', '${A}'] }
  expect(
    await placesOf({ tool_type: 'mcp_server', executor: 'subprocess', secrets: ['A', 'B'], config }),
  ).toEqual({ A: ['arguments'], B: ['env:B'] })
})
