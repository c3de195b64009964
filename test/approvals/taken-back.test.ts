import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CLI, kiwi } from '../e2e/temp-server.ts'
import { writeAsking } from '../fixtures/asking.ts'
import { field, textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'

let place: Place
beforeEach(async () => {
  place = makePlace()
  const folder = join(place.project, '.ai/tools/careful')
  mkdirSync(folder, { recursive: true })
  const manifest = 'tool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: x\n'
  writeFileSync(join(folder, 'tool.yaml'), manifest)
  writeFileSync(join(folder, 'main.sh'), '#!/bin/bash\necho done\n')
  writeAsking(join(place.folder, 'user'), ['careful'])
  await kiwi(place, ['trust', '--yes'])
})
afterEach(() => place.remove())

/** A client that says what a test tells it to, also what no careful client would. */
function speak() {
  const child = spawn(process.execPath, [CLI], {
    cwd: place.project,
    env: place.env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const heard: unknown[] = []
  createInterface({ input: child.stdout }).on('line', (line) => heard.push(JSON.parse(line)))
  const find = (is: (message: unknown) => boolean): Promise<unknown> =>
    expect
      .poll(() => heard.find(is), { timeout: 20_000 })
      .toBeDefined()
      .then(() => heard.find(is))
  return {
    heard,
    say: (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    answerTo: (id: number) =>
      find((message) => field(message, 'id') === id && field(message, 'method') === undefined),
    told: (method: string) => find((message) => field(message, 'method') === method),
    close: async () => {
      child.stdin.end()
      await once(child, 'close')
    },
  }
}

const approvals = async (): Promise<unknown> =>
  JSON.parse((await kiwi(place, ['approvals', '--all', '--json'])).stdout)

test('X2 H9: a form is taken back with the call that asked, and what is answered all the same counts for nothing', async () => {
  const { heard, say, answerTo, told, close } = speak()
  const clientInfo = { name: 'test', version: '1' }
  const opening = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo }
  say({ id: 1, method: 'initialize', params: opening })
  await answerTo(1)
  say({ method: 'notifications/initialized' })
  const run = { item_type: 'tool', action: 'run', item_id: 'careful', parameters: {} }
  say({ id: 2, method: 'tools/call', params: { name: 'execute', arguments: run } })
  const form = await told('elicitation/create')
  say({ method: 'notifications/cancelled', params: { requestId: 2 } })
  expect(field(await told('notifications/cancelled'), 'params')).toMatchObject({
    requestId: field(form, 'id'),
  })
  const yes = { action: 'accept', content: { decision: 'once' } }
  say({ id: field(form, 'id'), result: yes })
  say({ id: 3, method: 'tools/call', params: { name: 'help', arguments: {} } })
  await answerTo(3)
  expect(await approvals()).toMatchObject([{ state: 'pending', channel: null }])
  expect(heard.some((message) => field(message, 'id') === 2)).toBe(false)
  // The same call asks again, and the same question is answered.
  heard.length = 0
  say({ id: 4, method: 'tools/call', params: { name: 'execute', arguments: run } })
  say({ id: field(await told('elicitation/create'), 'id'), result: yes })
  const answered = await answerTo(4)
  expect(textField(answered, 'result', 'structuredContent', 'status')).toBe('success')
  expect(await approvals()).toMatchObject([{ state: 'used', channel: 'client' }])
  await close()
}, 60_000)
