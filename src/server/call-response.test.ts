import { createServer } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import type { CallResponse } from './call-response.ts'
import { callResponse } from './call-response.ts'

let server: ReturnType<typeof createServer> | null = null
afterEach(() => server?.close())

async function answered(speak: (response: CallResponse) => void): Promise<Response> {
  const made = createServer((_, response) => speak(callResponse(response, 'session-1')))
  server = made
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  const address = made.address()
  return fetch(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
}

test('an answer alone is plain JSON', async () => {
  const response = await answered(({ answer }) => answer({ id: 1 }))
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
  expect(response.headers.get('mcp-session-id')).toBe('session-1')
  expect(await response.json()).toEqual({ id: 1 })
})

test('once something was said before it, all is a stream of events', async () => {
  const response = await answered(({ say, answer }) => {
    say({ method: 'a' })
    say({ method: 'b' })
    answer({ id: 1 })
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(await response.text()).toBe(
    ['{"method":"a"}', '{"method":"b"}', '{"id":1}']
      .map((data) => `event: message\ndata: ${data}\n\n`)
      .join(''),
  )
})

test('what nobody waits for ends without an answer', async () => {
  const response = await answered(({ answer }) => answer(null))
  expect([response.status, await response.text()]).toEqual([202, ''])
  const stream = await answered(({ say, answer }) => {
    say({ method: 'a' })
    answer(null)
  })
  expect(await stream.text()).toBe('event: message\ndata: {"method":"a"}\n\n')
})
