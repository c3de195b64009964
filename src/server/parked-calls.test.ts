import type { ServerContext } from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import { field, textField } from '../../test/fixtures/field.ts'
import type { Reply } from '../shared/reply.ts'
import type { Abilities } from './client-abilities.ts'
import type { Making } from './parked-call.ts'
import type { ParkedCalls } from './parked-calls.ts'
import { openParkedCalls } from './parked-calls.ts'

const ABLE: Abilities = { capabilities: { elicitation: {}, roots: {} }, logLevel: null }
const PARAMS = { name: 'execute', arguments: { a: 1 } }
const FORM = { from: 'up', method: 'elicitation/create', params: { message: 'x' } }
const replied = (data: unknown): Reply => ({
  status: 'success',
  data,
  error: null,
  metadata: { call_id: 'c', duration_ms: 0 },
})

/** A request as the SDK hands it over, as far as parked calls look at it. */
function request(more: Partial<ServerContext['mcpReq']> = {}): ServerContext {
  const mcpReq = {
    id: 1,
    method: 'tools/call',
    signal: new AbortController().signal,
    requestState: () => undefined,
    notify: () => Promise.resolve(),
    ...more,
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest of the context is not looked at
  return { mcpReq } as unknown as ServerContext
}
function repeated(first: unknown, inputResponses: Record<string, unknown>): ServerContext {
  const state = (): unknown => textField(first, 'requestState')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the SDK's accessor gives for a plain text
  return request({ inputResponses, requestState: state as ServerContext['mcpReq']['requestState'] })
}
const make = (
  parked: ParkedCalls,
  making: Making,
  ctx = request(),
  params: object = PARAMS,
): Promise<unknown> => parked.make({ ctx, request: params, abilities: ABLE }, making)
const resume = (parked: ParkedCalls, ctx: ServerContext, params: object = PARAMS): Promise<unknown> =>
  parked.resume({ ctx, request: params, abilities: ABLE })
const keysOf = (first: unknown): readonly string[] => Object.keys(Object(field(first, 'inputRequests')))
const askOnce: Making = async ({ ask }) => replied(await ask?.(FORM))

describe('X2: a call of a client of the newer era', () => {
  test('X2: that asks nothing is answered at once', async () => {
    expect(await make(openParkedCalls('me'), () => Promise.resolve(replied(7)))).toMatchObject({ data: 7 })
  })

  test('X2: without a handle it is a new one', async () => {
    expect(await resume(openParkedCalls('me'), request())).toBeNull()
  })

  test('X2: goes on with the answer, once', async () => {
    const parked = openParkedCalls('me')
    const first = await make(parked, askOnce)
    const [key = ''] = keysOf(first)
    const again = repeated(first, { [key]: { action: 'accept' } })
    expect(await resume(parked, again)).toMatchObject({ data: { action: 'accept' } })
    await expect(resume(parked, again)).rejects.toMatchObject({ code: -32_602 })
  })

  test('X2: what another principal, process or request holds leads nowhere', async () => {
    const parked = openParkedCalls('me')
    const first = await make(parked, askOnce)
    const [key = ''] = keysOf(first)
    const again = repeated(first, { [key]: { action: 'accept' } })
    await expect(resume(openParkedCalls('me'), again)).rejects.toMatchObject({ code: -32_602 })
    await expect(resume(parked, again, { ...PARAMS, name: 'load' })).rejects.toMatchObject({ code: -32_602 })
    expect(await resume(parked, again)).toMatchObject({ data: { action: 'accept' } })
  })

  test('X2: what is asked at once is shown at once, and an answer that cannot be read is none', async () => {
    const parked = openParkedCalls('me')
    const first = await make(parked, async ({ ask }) => {
      const roots = ask?.({ from: 'up', method: 'roots/list', params: {} })
      const form = ask?.(FORM).catch((error: Error) => error.message)
      return replied([await roots, await form])
    })
    const [one = '', other = ''] = keysOf(first)
    expect(first).toMatchObject({
      inputRequests: { [one]: { method: 'roots/list' }, [other]: { method: FORM.method } },
    })
    expect(await resume(parked, repeated(first, { [one]: { roots: [] }, [other]: 'yes' }))).toMatchObject({
      data: [{ roots: [] }, expect.stringContaining('cannot be read')],
    })
  })

  test('X2: nobody is waited for who does not come back', async () => {
    const parked = openParkedCalls('me', 20)
    const ended = new Promise<readonly unknown[]>((resolve) => {
      void make(parked, async ({ ask }, signal) => {
        const said = await ask?.(FORM).catch((error: Error) => error.message)
        resolve([said, signal.aborted])
        return replied(said)
      })
    })
    expect(await ended).toEqual([expect.stringContaining('nobody answered'), expect.any(Boolean)])
  })

  test('X2: a client that goes away while its request waits ends the call', async () => {
    const leaving = new AbortController()
    const waiting = make(
      openParkedCalls('me'),
      (_, signal) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(replied('ended')))),
      request({ signal: leaving.signal }),
    )
    leaving.abort()
    expect(await waiting).toMatchObject({ data: 'ended' })
  })
})
