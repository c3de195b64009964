import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { listField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { stdioClient } from '../fixtures/stdio-client.ts'
import { kiwi } from './temp-server.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
})
afterAll(() => place.remove())

const learned = async (): Promise<readonly unknown[]> =>
  listField(JSON.parse((await kiwi(place, ['learned', '--json'])).stdout), 'uses')

/** An agent over a process of its own that searches, and runs what it found. */
async function useAndDie(query: string, item_id: string, before: () => Promise<void>): Promise<void> {
  const { client, transport } = await stdioClient(place)
  await client.callTool({ name: 'search', arguments: { query } })
  const run = { item_type: 'tool', action: 'run', item_id, parameters: {} }
  expect((await client.callTool({ name: 'execute', arguments: run })).isError).toBe(false)
  await before()
  process.kill(transport.pid ?? 0, 'SIGKILL')
  await client.close()
}

test('S3: what was learnt outlives a process that is killed, is shown, and is forgotten', async () => {
  expect((await kiwi(place, ['learned'])).stderr).toContain('Nothing was learnt yet')
  expect((await kiwi(place, ['trust', '--yes'])).code).toBe(0)
  await useAndDie('say hello', 'hello_bash', async () => {
    await vi.waitFor(async () => expect(await learned()).toHaveLength(1), { timeout: 30_000, interval: 500 })
  })
  expect(await learned()).toMatchObject([
    { words: ['hello', 'say'], item_type: 'tool', item_id: 'hello_bash', space: 'builtin', times: 1 },
  ])
  expect((await kiwi(place, ['learned'])).stdout).toMatch(/^hello say +hello_bash +builtin +1 +20/m)
  const { code, stdout } = await kiwi(place, ['learned', '--forget', 'hello_bash'])
  expect([code, stdout]).toEqual([0, 'Forgot what was learnt of hello_bash: 1\n'])
  expect(await learned()).toEqual([])
  expect((await kiwi(place, ['learned', '--forget', 'hello_bash'])).code).not.toBe(0)
  expect((await kiwi(place, ['learned', '--forget', 'all'])).code).toBe(0)
}, 120_000)

test('S3: a person who searches and then runs with two commands teaches it, in that project', async () => {
  expect((await kiwi(place, ['search', 'greet', 'somebody'])).stdout).toContain('hello_node')
  expect((await kiwi(place, ['run', 'hello_node'])).code).toBe(0)
  expect(await learned()).toMatchObject([
    { words: ['greet', 'somebody'], item_id: 'hello_node', space: 'builtin', times: 1 },
  ])
  expect((await kiwi(place, ['learned', '--forget', 'all'])).code).toBe(0)
  expect((await kiwi(place, ['run', 'hello_node'])).code).toBe(0)
  expect(await learned()).toEqual([])
}, 60_000)

test('S3: one that is killed right after the reply leaves a store that is whole', async () => {
  await useAndDie('say hello', 'hello_bash', () => Promise.resolve())
  expect((await learned()).length).toBeLessThanOrEqual(1)
  expect((await kiwi(place, ['search', 'say', 'hello'])).stdout).toContain('hello_bash')
}, 60_000)
