import { afterEach, expect, test } from 'vitest'
import type { EgressGuard } from './egress-guard.ts'
import { createEgressGuard } from './egress-guard.ts'
import { openConnection } from './connection.ts'
import type { Dialled, Dialler } from './dial.ts'
import { dial } from './dial.ts'
import type { LoopbackServer } from '../../../test/fixtures/loopback-server.ts'
import { openLoopbackServer } from '../../../test/fixtures/loopback-server.ts'

const open: LoopbackServer[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

const strict = createEgressGuard([])
const dialler = (url: string, guard: Partial<EgressGuard>): Dialler => ({
  url: new URL(url),
  guard: { ...strict, ...guard },
  timeoutMs: 2000,
  session: undefined,
})
const result = (one: Dialler): Promise<Parameters<Dialled>> =>
  new Promise((resolve) => {
    dial(one, (...given) => resolve(given))
  })

test('SSRF-03: a far end that is not public is refused though its name passed, before a byte is sent', async () => {
  const server = await openLoopbackServer(() => {})
  open.push(server)
  const fooled = { resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]) }
  for (const scheme of ['http', 'https']) {
    const [error, socket] = await result(dialler(`${scheme}://rebind.test:${server.port}`, fooled))
    expect(error).toMatchObject({ code: 'EGRESS_DENIED' })
    expect(socket).toBeNull()
    await server.emptied()
  }
  expect(server.received).toEqual([])
})

test('SSRF-03: an address in the URL is dialled without a lookup, so the far end is what is judged', async () => {
  const server = await openLoopbackServer(() => {})
  open.push(server)
  const [error] = await result(dialler(server.url, {}))
  expect(error).toMatchObject({ code: 'EGRESS_DENIED' })
})

test('UP-14: a connection that is given up while its name is resolved is gone at once', async () => {
  const undici = await import('undici')
  let asked = 0
  const stuck = dialler('http://stuck.test', {
    resolve: () => {
      asked++
      return new Promise(() => {})
    },
  })
  const closed = new Promise((resolve) => {
    const connection = openConnection(undici, stuck, 1000, resolve)
    connection.client.dispatch({ path: '/', method: 'GET' }, { onRequestStart() {}, onResponseError() {} })
    expect(connection.isAlive).toBe(true)
    connection.destroy()
    expect(connection.isAlive).toBe(false)
  })
  expect(await closed).toMatchObject({ isAlive: false })
  expect(asked).toBeLessThanOrEqual(1)
})
