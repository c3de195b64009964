import { describe, expect, test } from 'vitest'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Ask } from '../shared/progress.ts'
import type { TaskMeans } from './upstream-tasks.ts'
import { runsTasks, whenDone, withTasks } from './upstream-tasks.ts'

const FORM = { method: 'elicitation/create', params: { message: 'x' } }
const DONE = { content: [{ type: 'text', text: 'done' }] }
const refuse: Ask = () => Promise.reject(new KiwiError('PERMISSION_DENIED', 'Cannot ask'))

/** A server whose task is in these states, one after the other, and what was sent to it. */
function server(
  states: readonly (JsonObject | KiwiError)[],
  more: Partial<TaskMeans> = {},
): { readonly sent: string[]; readonly run: (answer: JsonObject) => Promise<JsonObject> | null } {
  const sent: string[] = []
  let at = 0
  const means: TaskMeans = {
    from: 'up',
    timeoutMs: 60_000,
    isRepeatable: false,
    isOlder: false,
    ask: refuse,
    hold: () => () => {},
    told: (error) => error,
    async send(method, params) {
      sent.push(`${method} ${JSON.stringify(params)}`)
      if (method === 'tasks/result') return DONE
      if (method !== 'tasks/get') return {}
      const state = states[at++] ?? states.at(-1) ?? {}
      if (state instanceof KiwiError) throw state
      return { taskId: 't', pollIntervalMs: 1, ...state }
    },
    cancel: (params) => void sent.push(`tasks/cancel ${JSON.stringify(params)}`),
    ...more,
  }
  return { sent, run: (answer) => whenDone(answer, means.isOlder, () => means) }
}

const GET = 'tasks/get {"taskId":"t"}'
const begun: JsonObject = { resultType: 'task', taskId: 't', status: 'working', pollIntervalMs: 1 }
const older: JsonObject = { task: { taskId: 't', status: 'working', pollInterval: 1 } }

describe('X2: a call that its server goes on with', () => {
  test('X2: what is done is no task, and neither is what only looks like one of the other era', () => {
    for (const answer of [DONE, { resultType: 'complete' }, older, { resultType: 'task' }])
      expect(server([]).run(answer)).toBeNull()
    expect(server([], { isOlder: true }).run(begun)).toBeNull()
  })

  test('X2: it is looked at until it is done; what it says of itself is progress, once', async () => {
    const heard: JsonObject[] = []
    const said = [
      { status: 'working', statusMessage: 'half' },
      { status: 'working', statusMessage: 'half' },
      { status: 'completed', result: DONE },
    ]
    const { sent, run } = server(said, { progress: (params) => heard.push(params) })
    expect(await run(begun)).toEqual(DONE)
    expect([sent, heard]).toEqual([[GET, GET, GET], [{ progress: 1, message: 'half' }]])
  })

  test('X2: what it wants to know is asked once, and goes back under its key', async () => {
    const asked: string[] = []
    const ask: Ask = async ({ from, method }) => {
      asked.push(`${from} ${method}`)
      return { action: 'accept' }
    }
    const wants = { status: 'input_required', inputRequests: { a: FORM } }
    const { sent, run } = server([wants, wants, { status: 'completed', result: DONE }], { ask })
    expect(await run(begun)).toEqual(DONE)
    expect(asked).toEqual(['up elicitation/create'])
    expect(sent).toEqual([
      GET,
      'tasks/update {"taskId":"t","inputResponses":{"a":{"action":"accept"}}}',
      GET,
      GET,
    ])
  })

  test('X2: a form that nobody can be shown is one that nobody filled in', async () => {
    const wants = { status: 'input_required', inputRequests: { a: FORM } }
    const { sent, run } = server([wants, { status: 'completed', result: DONE }])
    expect(await run(begun)).toEqual(DONE)
    expect(sent[1]).toContain('{"a":{"action":"cancel"}}')
  })

  test('X2: one of the older era gives its questions and its result apart', async () => {
    for (const status of ['completed', 'failed', 'input_required']) {
      const { sent, run } = server([{ status: 'working' }, { status }], { isOlder: true })
      expect(await run(older)).toEqual(DONE)
      expect(sent).toEqual([GET, GET, 'tasks/result {"taskId":"t"}'])
    }
  })

  test.each<[string, JsonObject, string]>([
    [
      'failed',
      { status: 'failed', error: { code: -32_603, message: 'no' } },
      'Cannot use "up": it says "no"',
    ],
    ['cancelled', { status: 'cancelled', statusMessage: 'gone' }, 'its task ended without a result: "gone"'],
    ['nothing', { status: 'completed' }, 'its task ended without a result'],
    ['another word', { status: 5 }, 'its task ended without a result'],
  ])('X2: one that ends as %s is a failure, and nothing is left to cancel', async (_, state, message) => {
    const { sent, run } = server([state])
    await expect(run(begun)).rejects.toMatchObject({
      code: 'TOOL_FAILED',
      message: expect.stringContaining(message),
    })
    expect(sent).toEqual([GET])
  })

  test('M5: one that its server no longer knows has an unknown outcome, unless it may be repeated', async () => {
    for (const code of ['TOOL_FAILED', 'UPSTREAM_UNAVAILABLE'] as const) {
      const lost = new KiwiError(code, 'Cannot use "up": gone')
      const one = server([lost])
      await expect(one.run(begun)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
      await expect(server([lost], { isRepeatable: true }).run(begun)).rejects.toBe(lost)
      expect(one.sent).toEqual([GET])
    }
  })

  test('X2: whoever cancels the call, or waits no longer, cancels the task', async () => {
    const stop = new AbortController()
    const { sent, run } = server([{ status: 'working', pollIntervalMs: 60_000 }], { signal: stop.signal })
    const running = run(begun)
    stop.abort()
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(sent.at(-1)).toBe('tasks/cancel {"taskId":"t"}')
    const late = server([{ status: 'working' }], { timeoutMs: 0 })
    await expect(late.run(begun)).rejects.toMatchObject({ code: 'TIMEOUT', retryable: false })
    expect(late.sent.at(-1)).toBe('tasks/cancel {"taskId":"t"}')
  })
})

test('X2: whoever calls can wait for tasks, whatever else they can', () => {
  const tasks = { 'io.modelcontextprotocol/tasks': {} }
  expect(withTasks({})).toEqual({ extensions: tasks })
  expect(withTasks({ roots: {}, extensions: { other: {} } })).toEqual({
    roots: {},
    extensions: { other: {}, ...tasks },
  })
})

test.each<[JsonObject, boolean]>([
  [{ tasks: { requests: { tools: { call: {} } } } }, true],
  [{ tasks: { requests: { sampling: {} } } }, false],
  [{ tasks: true }, false],
  [{}, false],
])('X2: a server that says %j runs tools as tasks: %s', (capabilities, expected) => {
  expect(runsTasks(capabilities)).toBe(expected)
})
