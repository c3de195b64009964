import { describe, expect, test } from 'vitest'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Ask } from '../shared/progress.ts'
import { openStopper } from '../shared/stop.ts'
import { askedInRounds } from './input-rounds.ts'

const FORM = { method: 'elicitation/create', params: { message: 'x' } }
const wants = (inputRequests: JsonObject, more: JsonObject = {}): JsonObject => ({
  resultType: 'input_required',
  inputRequests,
  ...more,
})
const refuse: Ask = () => Promise.reject(new KiwiError('PERMISSION_DENIED', 'Cannot ask'))

/** Answers each round with the next result, and keeps what was sent. */
function upstream(results: readonly JsonObject[]): {
  readonly sent: JsonObject[]
  readonly send: (params: JsonObject) => Promise<JsonObject>
} {
  const sent: JsonObject[] = []
  return {
    sent,
    send: (params) => Promise.resolve(results[sent.push(params) - 1] ?? results.at(-1) ?? {}),
  }
}

describe('X2: the rounds of a call of the newer era', () => {
  test('X2: every answer goes back under its key, with the state as it came', async () => {
    const { sent, send } = upstream([
      wants({ a: FORM, b: { method: 'roots/list' } }, { requestState: 's1' }),
      wants({ c: FORM }),
      { content: [] },
    ])
    const ask: Ask = ({ from, method }) => Promise.resolve({ from, method })
    const params = { name: 't', arguments: { x: 1 } }
    expect(await askedInRounds({ from: 'up', params, send, ask })).toEqual({ content: [] })
    expect(sent).toEqual([
      params,
      {
        ...params,
        inputResponses: { a: { from: 'up', method: FORM.method }, b: { from: 'up', method: 'roots/list' } },
        requestState: 's1',
      },
      { ...params, inputResponses: { c: { from: 'up', method: FORM.method } } },
    ])
  })

  test('X2: a form that cannot be shown was dismissed; what has no such answer ends the call', async () => {
    const { sent, send } = upstream([wants({ a: FORM }), { content: [] }])
    await askedInRounds({ from: 'up', params: {}, send, ask: refuse })
    expect(sent[1]).toEqual({ inputResponses: { a: { action: 'cancel' } } })
    const roots = upstream([wants({ a: { method: 'roots/list' } })])
    await expect(
      askedInRounds({ from: 'up', params: {}, send: roots.send, ask: refuse }),
    ).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    })
    expect(roots.sent).toHaveLength(1)
  })

  test.each([
    ['without end', wants({ a: FORM })],
    ['for nothing', wants({})],
    [
      'for too much at once',
      wants(Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, FORM]))),
    ],
    ['for what cannot be read', wants({ a: 'form' })],
  ])('X2: one that asks %s has failed', async (_, result) => {
    const { sent, send } = upstream([result])
    const ask: Ask = () => Promise.resolve({ action: 'accept' })
    await expect(askedInRounds({ from: 'up', params: {}, send, ask })).rejects.toMatchObject({
      code: 'TOOL_FAILED',
    })
    expect(sent.length).toBeLessThanOrEqual(9)
  })

  test('X2: one that only wants to be asked again is asked again with its state', async () => {
    const { sent, send } = upstream([{ resultType: 'input_required', requestState: 's' }, { content: [] }])
    await askedInRounds({ from: 'up', params: { name: 't' }, send, ask: refuse })
    expect(sent[1]).toEqual({ name: 't', requestState: 's' })
  })

  test.each([
    ['in the pause before it is asked again', { resultType: 'input_required', requestState: 's' }],
    ['while a form is open', wants({ a: FORM })],
    ['while something is asked that nobody can dismiss', wants({ a: { method: 'roots/list' } })],
  ])('X2 H7: a call that is cancelled %s was cancelled, and not refused', async (_, result) => {
    const { sent, send } = upstream([result])
    const stopper = openStopper()
    const { signal } = stopper
    // As a client says it that was told to close the form.
    const ask: Ask = (request, stop) =>
      new Promise((_resolve, reject) => {
        stop?.addEventListener('abort', () => void refuse(request).catch(reject))
      })
    const ended = askedInRounds({ from: 'up', params: {}, send, ask, signal })
    setTimeout(() => stopper.abort(), 20)
    await expect(ended).rejects.toMatchObject({
      code: 'CANCELLED',
      message: 'Cannot use "up": the call was cancelled',
    })
    expect(sent).toHaveLength(1)
  })
})
