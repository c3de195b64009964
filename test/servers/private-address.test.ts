import { afterEach, expect, test } from 'vitest'
import type { Wish } from '../../src/kernel/call.ts'
import type { Reply } from '../../src/shared/reply.ts'
import type { RemoteKind } from '../fixtures/remote-servers.ts'
import { TOOLS, openRemoteServer } from '../fixtures/remote-servers.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close()
})
const begin = async <T extends { close(): Promise<unknown> }>(made: Promise<T>): Promise<T> => {
  const one = await made
  open.push(one)
  return one
}
const asPerson = ({ kiwi, project }: TempKiwi, wish: Wish): Promise<Reply> =>
  kiwi.act(
    { wish: () => wish, operation: wish.kind, subject: 'x' },
    { principal: 'user:ada', session: 's', kind: 'person', defaultProject: () => Promise.resolve(project) },
  )
const add = (temp: TempKiwi, url: string, type: 'http' | 'sse' | 'websocket' = 'http'): Promise<Reply> =>
  asPerson(temp, { kind: 'add_server', name: 'near', entry: { type, url }, to: 'user' })

test.each<[RemoteKind, 'http' | 'sse' | 'websocket']>([
  ['http', 'http'],
  ['sse', 'sse'],
  ['websocket', 'websocket'],
])(
  'M2, SSRF-01: the address of a server (%s) that a person names may be a private one',
  async (kind, type) => {
    const server = await begin(openRemoteServer(kind))
    const temp = await begin(openTempKiwi())
    expect((await add(temp, server.url, type)).error).toBeNull()
    expect((await temp.load('near', { item_type: 'mcp' })).data).toMatchObject({ tools: TOOLS })
    expect(await temp.run('near.echo', { word: 'hé' })).toMatchObject({ data: { output: 'hé' } })
  },
)

test('SSRF-01: it opens this address to nothing else, and no other address to this server', async () => {
  const server = await begin(openRemoteServer('http'))
  const temp = await begin(openTempKiwi())
  await add(temp, server.url)
  expect((await temp.run('near.echo', { word: 'a' })).error).toBeNull()
  const manifest = { version: '1.0.0', description: 'of an agent', executor: 'http_client' }
  const made = await temp.create('peek', {
    ...manifest,
    tool_type: 'api',
    config: { method: 'GET', url: server.url },
  })
  expect(made.error).toBeNull()
  expect((await temp.run('peek')).error).toMatchObject({ code: 'EGRESS_DENIED' })
  const theirs = await temp.create('mcp_theirs', {
    ...manifest,
    tool_type: 'mcp_server',
    config: { transport: 'http', url: server.url },
  })
  expect(theirs.error).toBeNull()
  const listed = await temp.call('execute', { item_type: 'mcp', action: 'discover', item_id: 'theirs' })
  expect(listed.error).toMatchObject({ code: 'EGRESS_DENIED' })
})

test('SSRF-01, N17: what a project names is reached once a person has trusted it', async () => {
  const server = await begin(openRemoteServer('http'))
  const strange = await begin(openTempKiwi({ isTrusted: false }))
  strange.write('config/mcp_registry.yaml', JSON.stringify({ mcps: { near: { url: server.url } } }))
  const refused = await strange.call('execute', { item_type: 'mcp', action: 'discover', item_id: 'near' })
  expect(refused.error).toMatchObject({ code: 'UNTRUSTED' })
  expect(server.headers).toEqual([])
})
