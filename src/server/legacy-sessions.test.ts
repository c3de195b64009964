import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { Server } from '@modelcontextprotocol/server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LegacySessions } from './legacy-sessions.ts'
import { IDLE_MS, MOST_SESSIONS, openLegacySessions } from './legacy-sessions.ts'
import { readBody } from './read-body.ts'

let now: number
let sessions: LegacySessions
let http: HttpServer
let url: string
/** Ends the calls that wait. */
let finish: () => void

beforeEach(async () => {
  now = 0
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  sessions = openLegacySessions(
    () => {
      const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } })
      server.setRequestHandler('tools/list', () => ({ tools: [] }))
      server.setRequestHandler('tools/call', async () => {
        await finished
        return { content: [{ type: 'text', text: 'done' }] }
      })
      return server
    },
    { now: () => now, monotonic: () => now },
  )
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request)
    if ('value' in body && sessions.take(request, response, body.value)) return
    const end = await sessions.handle(request, response, 'value' in body ? body.value : undefined)
    if (end !== 'answered') response.writeHead(499, end).end()
  }
  http = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const address = http.address()
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
})
afterEach(async () => {
  await sessions.close()
  http.closeAllConnections()
  http.close()
})

const HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
const post = (message: object, session?: string): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: session === undefined ? HEADERS : { ...HEADERS, 'Mcp-Session-Id': session },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })

/** Opens a session: its id, or why there is none. */
async function open(): Promise<string> {
  const clientInfo = { name: 'x', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const response = await post({ method: 'initialize', params })
  await response.text()
  return response.headers.get('mcp-session-id') ?? response.statusText
}
const call = (session: string): Promise<Response> =>
  post({ method: 'tools/call', params: { name: 'wait', arguments: {} } }, session)
/** Whether a session is known; asking is using it. */
async function isOpen(session: string): Promise<boolean> {
  const response = await post({ method: 'tools/list' }, session)
  await response.text()
  return response.ok
}

test('when all places are taken, the session used longest ago makes room', async () => {
  const first = await open()
  now = 1
  const second = await open()
  for (now = 2; now < MOST_SESSIONS; now++) await open()
  expect(await isOpen(first)).toBe(true)
  now += 1
  const another = await open()
  expect(await isOpen(second)).toBe(false)
  expect(await isOpen(first)).toBe(true)
  expect(await isOpen(another)).toBe(true)
})

test('a session with a call in flight is closed neither for room nor for idleness', async () => {
  const busy = await open()
  const answer = await call(busy)
  now = IDLE_MS + 1
  for (let count = 0; count < MOST_SESSIONS + 5; count++, now++) expect(await open()).toHaveLength(36)
  finish()
  expect(await answer.text()).toContain('done')
  expect(await isOpen(busy)).toBe(true)
})

test('an idle session is closed, counted from the end of its last call', async () => {
  const [idle, late] = [await open(), await open()]
  const answer = await call(late)
  now = IDLE_MS
  finish()
  await answer.text()
  now = IDLE_MS + 1
  await open()
  expect(await isOpen(idle)).toBe(false)
  expect(await isOpen(late)).toBe(true)
})

test('only when every session has a call in flight is there no room', async () => {
  const busy = await Promise.all(Array.from({ length: MOST_SESSIONS }, open))
  const answers = await Promise.all(busy.map(call))
  expect(await open()).toBe('full')
  finish()
  await Promise.all(answers.map((answer) => answer.text()))
  expect(await open()).toHaveLength(36)
})
