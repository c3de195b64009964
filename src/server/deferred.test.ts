import type { CallToolResult } from '@modelcontextprotocol/server'
import { Server, inputRequired, inputResponse } from '@modelcontextprotocol/server'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createMemoryTasks } from '../../test/conformance/memory-tasks.ts'
import { field, textField } from '../../test/fixtures/field.ts'
import { WITH_TASKS, modernRequest } from '../../test/fixtures/modern-request.ts'
import { systemClock } from '../shared/clock.ts'
import { createIds } from '../shared/ids.ts'
import { OWN_PROCESS, tagText } from '../shared/own-process.ts'
import type { TaskRow } from '../store/tasks.ts'
import { deferred } from './deferred.ts'
import type { HttpEndpoint } from './http.ts'
import { openHttp } from './http.ts'
import { openTasks } from './tasks.ts'

const PATIENCE_MS = 50
const rows = createMemoryTasks()
let http: HttpEndpoint
let release = (): void => undefined
const aborted: string[] = []

const said = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })

/** Two principals behind one address, told apart by a header that only this test knows. */
beforeAll(async () => {
  const tasks = openTasks({
    rows: () => Promise.resolve(rows),
    clock: systemClock,
    ids: createIds(Date.now),
  })
  http = await openHttp(
    ({ requestInfo }) => {
      const principal = new URL(requestInfo?.url ?? 'http://nobody').searchParams.get('as') ?? 'me'
      const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } })
      tasks.attach(server, principal)
      server.setRequestHandler('tools/call', ({ params: { name } }, ctx) =>
        deferred(
          {
            ctx,
            principal,
            async respond({ mcpReq }) {
              if (name === 'quick') return said('at once')
              mcpReq.signal.addEventListener('abort', () => aborted.push(name))
              if (name === 'held') await new Promise<void>((resolve) => (release = resolve))
              else await delay(4 * PATIENCE_MS)
              if (name === 'breaks') throw new Error('it broke')
              const answer = inputResponse(mcpReq.inputResponses, 'color')
              if (name !== 'asks' || answer.kind === 'elicit') return said(`done ${answer.kind}`)
              return inputRequired({
                inputRequests: {
                  color: inputRequired.elicit({
                    message: 'Which?',
                    requestedSchema: { type: 'object', properties: { color: { type: 'string' } } },
                  }),
                },
              })
            },
          },
          tasks,
          PATIENCE_MS,
        ),
      )
      return server
    },
    {
      port: 0,
      token: null,
      clock: systemClock,
      desk: {
        file: () => Promise.resolve(null),
        useCode: () => Promise.resolve(false),
        waiting: () => Promise.resolve([]),
        decide: () => Promise.resolve(''),
      },
    },
  )
})
afterAll(() => http.close())

const call = (name: string, capabilities: object = WITH_TASKS): Promise<unknown> =>
  modernRequest(http.url, 'tools/call', { name, arguments: {} }, capabilities)
const begun = async (name: string): Promise<string> => textField(await call(name), 'result', 'taskId')
const task = (method: string, taskId: string, more: object = {}, as = 'me'): Promise<unknown> =>
  modernRequest(`${http.url}?as=${as}`, method, { taskId, ...more }, WITH_TASKS)
const ended = (taskId: string, status: string): Promise<unknown> =>
  vi.waitFor(
    async () => {
      const answer = await task('tasks/get', taskId)
      expect(field(answer, 'result', 'status')).toBe(status)
      return answer
    },
    { timeout: 15_000 },
  )

test('X2: a call that is quick is answered at once', async () => {
  expect(await call('quick')).toMatchObject({ result: { resultType: 'complete', ...said('at once') } })
})

test('X2: one that takes long is a task for who can come back, and its result is there later', async () => {
  const answer = await call('slow')
  expect(answer).toMatchObject({ result: { resultType: 'task', status: 'working', ttlMs: 3_600_000 } })
  expect(await ended(textField(answer, 'result', 'taskId'), 'completed')).toMatchObject({
    result: { resultType: 'complete', result: said('done missing') },
  })
})

test('X2: who cannot come back waits for the result', async () => {
  expect(await call('slow', {})).toMatchObject({
    result: { resultType: 'complete', ...said('done missing') },
  })
})

test('X2: what it asks meanwhile stands in the task, and the answer goes on with it', async () => {
  const taskId = await begun('asks')
  await ended(taskId, 'input_required')
  await task('tasks/update', taskId, { inputResponses: { other: { action: 'accept' } } })
  await ended(taskId, 'input_required')
  await task('tasks/update', taskId, { inputResponses: { color: { action: 'accept', content: {} } } })
  expect(await ended(taskId, 'completed')).toMatchObject({ result: { result: said('done elicit') } })
})

test('X2: a task that is cancelled ends its call, and stays cancelled', async () => {
  const taskId = await begun('held')
  expect(await task('tasks/cancel', taskId)).toMatchObject({ result: { resultType: 'complete' } })
  expect(aborted).toContain('held')
  release()
  await ended(taskId, 'cancelled')
  expect(await task('tasks/cancel', taskId)).toMatchObject({ result: { resultType: 'complete' } })
})

test('X2: a task that is cancelled while it asks is over', async () => {
  const taskId = await begun('asks')
  await ended(taskId, 'input_required')
  await task('tasks/cancel', taskId)
  await ended(taskId, 'cancelled')
})

test('X2: what breaks is a failed task', async () => {
  expect(await ended(await begun('breaks'), 'failed')).toMatchObject({
    result: { error: { code: -32_603, message: 'it broke' } },
  })
})

test('X2: nobody sees the task of another principal', async () => {
  const taskId = await begun('slow')
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    expect(await task(method, taskId, {}, 'another')).toMatchObject({ error: { code: -32_602 } })
  await ended(taskId, 'completed')
})

test('X2: who did not declare tasks is told what is missing', async () => {
  expect(await modernRequest(http.url, 'tasks/get', { taskId: 'any' })).toMatchObject({
    error: { code: -32_021, data: { requiredCapabilities: WITH_TASKS } },
  })
})

test('X2: a task whose process has ended has failed', async () => {
  const at = new Date().toISOString()
  const row: TaskRow = {
    id: 'lost',
    principal: 'me',
    status: 'working',
    created_at: at,
    updated_at: at,
    ttl_ms: 60_000,
    owner: tagText({ ...OWN_PROCESS, pid: 2 ** 22 + 1, start: '1' }),
    input_requests: {},
    input_responses: {},
    result: null,
    error: null,
  }
  await rows.create(row)
  await ended('lost', 'failed')
})
