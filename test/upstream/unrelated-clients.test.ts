import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TempServer } from '../e2e/temp-server.ts'
import { startServer } from '../e2e/temp-server.ts'
import { field } from '../fixtures/field.ts'
import { modernMessages } from '../fixtures/modern-request.ts'
import type { Place } from '../fixtures/place.ts'
import { makeTalkingPlace } from '../fixtures/talking-place.ts'

let place: Place
const servers = new Map<string, TempServer>()
beforeAll(async () => {
  place = await makeTalkingPlace()
  servers.set('tools', await startServer(place, ['--no-auth']))
  servers.set('whole', await startServer(place, ['--no-auth', '--passthrough', 'old']))
}, 60_000)
afterAll(async () => {
  await Promise.all([...servers.values()].map((server) => server.stop()))
  place.remove()
})

const FORMS = { elicitation: { form: {} } }
const run = (tool: string): Record<string, unknown> => ({
  name: 'execute',
  arguments: {
    item_type: 'tool',
    action: 'run',
    item_id: `old.${tool}`,
    parameters: {},
    project_path: place.project,
  },
})
const WAYS = [
  ['of the four tools', 'tools', run],
  ['that sees the server whole', 'whole', (name: string) => ({ name, arguments: {} })],
] as const

/** Requests of the newer era stand alone: nothing says that two of them are of one client. */
describe.each(WAYS)('X2: over HTTP, a client of the newer era %s', (_, server, params) => {
  const request = (tool: string, more: object = {}): Promise<readonly unknown[]> => {
    const { url = '' } = servers.get(server) ?? {}
    return modernMessages(
      url,
      'tools/call',
      { ...params(tool), ...more },
      { capabilities: FORMS, hearsLog: true },
    )
  }
  const told = (messages: readonly unknown[]): readonly unknown[] =>
    messages.filter((message) => field(message, 'method') === 'notifications/message')

  test('X2: is neither asked nor told what is of the call of another, whose own it is not either', async () => {
    await request('roots')
    const late = request('late')
    await delay(300)
    const other = await request('waits')
    const mine = await late
    expect(JSON.stringify(other.at(-1))).not.toContain('Which colour?')
    expect(field(other.at(-1), 'result', 'resultType')).not.toBe('input_required')
    expect(told(other)).toEqual([])
    expect(told(mine)).toEqual([])
    const reply = JSON.stringify(mine.at(-1))
    expect(reply).toContain('Several callers use this server at once')
    // Whoever calls through the four tools is told so by Kiwi, whatever the tool makes of it.
    if (server === 'tools')
      expect(reply).toContain('the server asked for elicitation/create: several callers')
  }, 30_000)

  test('X2: is asked and told what is of its own call, and found again by what it sends back', async () => {
    const asked = await request('late')
    expect(told(asked)).toHaveLength(1)
    const { inputRequests, requestState } = Object(field(asked.at(-1), 'result'))
    const [key = ''] = Object.keys(inputRequests)
    const answer = { action: 'accept', content: { colour: 'green' } }
    const answered = await request('late', { requestState, inputResponses: { [key]: answer } })
    expect(JSON.stringify(answered.at(-1))).toContain('green')
  }, 30_000)

  test('X2: that goes away from a form leaves it in nobody’s way', async () => {
    const left = await request('form')
    expect(field(left.at(-1), 'result', 'resultType')).toBe('input_required')
    await delay(1200)
    const asked = await request('form')
    expect(field(asked.at(-1), 'result', 'resultType')).toBe('input_required')
  }, 30_000)
})
