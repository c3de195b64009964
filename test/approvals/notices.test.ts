import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Asking } from '../fixtures/asking.ts'
import { openAsking } from '../fixtures/asking.ts'
import { field, textField } from '../fixtures/field.ts'
import type { LoopbackServer } from '../fixtures/loopback-server.ts'
import { openLoopbackServer } from '../fixtures/loopback-server.ts'

let server: LoopbackServer
let asking: Asking
let answer = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
beforeEach(async () => {
  server = await openLoopbackServer(({ socket }) => socket.write(answer))
})
afterEach(async () => {
  await asking.close()
  await server.close()
})

const PATIENCE = { timeout: 10_000 }
const notify = (): string => `notify:\n  webhook: ${server.url}/hook\n  slack: ${server.url}/slack\n`

test('H9, APR-10: a notice is signed, says what waits and nothing of its arguments, and is on record', async () => {
  asking = await openAsking(notify(), { allow_hosts: [server.host] })
  const waiting = await asking.run({ a: 'a private argument' })
  await expect.poll(() => server.received.length, PATIENCE).toBe(2)
  const hook = server.received.find(({ path }) => path === '/hook')
  const {
    'x-kiwi-timestamp': timestamp,
    'x-kiwi-nonce': nonce,
    'x-kiwi-signature': signature,
  } = hook?.headers ?? {}
  const secret = await asking.kiwi.questions.noticeSecret()
  const mac = createHmac('sha256', secret).update(`${timestamp}.${nonce}.${hook?.body}`).digest('hex')
  expect(signature).toBe(`sha256=${mac}`)
  expect(Math.abs(Number(timestamp) * 1000 - Date.now())).toBeLessThan(300_000)
  const id = textField(waiting.data, 'approval_id')
  expect(JSON.parse(hook?.body ?? '')).toMatchObject({
    event: 'approval_required',
    approval_id: id,
    tool: 'careful',
  })
  const slack = server.received.find(({ path }) => path === '/slack')
  expect(field(JSON.parse(slack?.body ?? ''), 'text')).toContain(`kiwi approve ${id}`)
  for (const { body } of server.received) expect(body).not.toContain('a private argument')
  const sent = (): Promise<readonly unknown[]> =>
    asking.kiwi.store.records({ limit: 9, tool: id, status: 'success' })
  await expect.poll(sent, PATIENCE).toHaveLength(2)
  await asking.run({ a: 'a private argument' })
  expect(server.received).toHaveLength(2)
})

test('H9: a notice that cannot be sent keeps nothing from waiting', async () => {
  answer = 'HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n'
  asking = await openAsking(notify())
  expect((await asking.run()).status).toBe('approval_required')
  const refused = (): Promise<readonly unknown[]> => asking.kiwi.store.records({ limit: 9, status: 'denied' })
  await expect.poll(refused, PATIENCE).toHaveLength(2)
  expect(server.received).toEqual([])
})

test('APR-10: what the receiver of a notice answers decides nothing', async () => {
  const said = JSON.stringify({ decision: 'approved', state: 'approved' })
  answer = `HTTP/1.1 200 OK\r\ncontent-length: ${said.length}\r\n\r\n${said}`
  asking = await openAsking(notify(), { allow_hosts: [server.host] })
  const waiting = await asking.run()
  await expect.poll(() => server.received.length, PATIENCE).toBe(2)
  expect((await asking.run()).status).toBe('approval_required')
  expect(await asking.kiwi.questions.find(textField(waiting.data, 'approval_id'))).toMatchObject({
    state: 'pending',
  })
  expect(asking.ran()).toBe(0)
})
