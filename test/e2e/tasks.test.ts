import { writeFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { field, textField } from '../fixtures/field.ts'
import { WITH_TASKS, modernRequest } from '../fixtures/modern-request.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import type { TempServer } from './temp-server.ts'
import { kiwi, startServer } from './temp-server.ts'

let place: Place
let server: TempServer
beforeAll(async () => {
  place = makePlace()
  const folder = join(place.project, '.ai', 'tools')
  mkdirSync(folder, { recursive: true })
  const header = '# kiwi:\n#   tool_type: script\n#   executor: bash_runtime\n'
  writeFileSync(join(folder, 'waits.sh'), `#!/usr/bin/env bash\n${header}sleep 8\necho done\n`)
  await kiwi(place, ['trust', '--yes'])
  server = await startServer(place, ['--no-auth'])
}, 60_000)
afterAll(async () => {
  await server.stop()
  place.remove()
})

const execute = (capabilities: object): Promise<unknown> =>
  modernRequest(
    server.url,
    'tools/call',
    {
      name: 'execute',
      arguments: { item_type: 'tool', action: 'run', item_id: 'waits', project_path: place.project },
    },
    capabilities,
  )
const get = (taskId: string): Promise<unknown> =>
  modernRequest(server.url, 'tasks/get', { taskId }, WITH_TASKS)

test('X2: a run that takes long is a task, and the reply is found there', async () => {
  const begun = await execute(WITH_TASKS)
  expect(begun).toMatchObject({ result: { resultType: 'task', status: 'working' } })
  const taskId = textField(begun, 'result', 'taskId')
  const ended = await vi.waitFor(
    async () => {
      const answer = await get(taskId)
      expect(field(answer, 'result', 'status')).toBe('completed')
      return answer
    },
    { timeout: 30_000, interval: 250 },
  )
  expect(ended).toMatchObject({
    result: { result: { isError: false, structuredContent: { status: 'success' } } },
  })
}, 60_000)

test('X2: a task that is cancelled ends its program, and the record says so', async () => {
  const taskId = textField(await execute(WITH_TASKS), 'result', 'taskId')
  await modernRequest(server.url, 'tasks/cancel', { taskId }, WITH_TASKS)
  expect(field(await get(taskId), 'result', 'status')).toBe('cancelled')
  await vi.waitFor(
    async () => {
      const { stdout } = await kiwi(place, ['audit', '--json', '--limit', '4'])
      expect(stdout).toContain('"cancelled"')
    },
    { timeout: 15_000, interval: 500 },
  )
}, 60_000)
