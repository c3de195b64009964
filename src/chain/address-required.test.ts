import { expect, test } from 'vitest'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Ask, AskedOfClient } from '../shared/progress.ts'
import { addressRequired } from './address-required.ts'

const ADDRESS = { mode: 'url', url: 'https://pay.example.com/x?y=1', message: 'Pay', elicitationId: 'e1' }
const refused = (said: JsonObject): KiwiError =>
  new KiwiError('TOOL_FAILED', 'Cannot use "acme": it says no', { details: { rpc_error: said } })
const required = (...elicitations: readonly JsonObject[]): KiwiError =>
  refused({ code: -32_042, message: 'no', data: { elicitations } })

test.each<[string, Ask, RegExp]>([
  ['opens it', async () => ({ action: 'accept' }), /once they are done there$/],
  ['cannot', () => Promise.reject(new Error('it cannot')), /cannot open addresses.*details\.rpc_error/],
  ['will not', async () => ({ action: 'decline' }), /did not want/],
])(
  'X2: an address that is wanted first is shown to a client that %s, and the error names its host',
  async (_, answer, hint) => {
    const asked: AskedOfClient[] = []
    const ask: Ask = (request) => {
      asked.push(request)
      return answer(request)
    }
    expect(await addressRequired(required(ADDRESS), { from: 'acme', tool: 'acme.pay', ask })).toMatchObject({
      code: 'TOOL_FAILED',
      message: 'Cannot call "acme.pay": a person has to open "pay.example.com" first',
      hint: expect.stringMatching(hint),
      details: { rpc_error: { code: -32_042 } },
    })
    expect(asked).toEqual([{ from: 'acme', method: 'elicitation/create', params: ADDRESS }])
  },
)

test.each([
  new Error('other'),
  refused({ code: -32_602, message: 'no', data: { elicitations: [ADDRESS] } }),
  refused({ code: -32_042, message: 'no' }),
  refused({ code: -32_042, message: 'no', data: { elicitations: [{ url: 'no address' }, 1, null] } }),
])('X2: any other error stays as it is, and nobody is asked', async (failure) => {
  const ask: Ask = () => Promise.reject(new Error('nobody was to be asked'))
  expect(await addressRequired(failure, { from: 'acme', tool: 'acme.pay', ask })).toBe(failure)
})

test('X2: a flood of addresses is not passed on', async () => {
  let count = 0
  const ask: Ask = async () => ({ action: 'accept', count: ++count })
  await addressRequired(required(...Array.from({ length: 1000 }, () => ADDRESS)), {
    from: 'acme',
    tool: 'acme.pay',
    ask,
  })
  expect(count).toBe(4)
})
