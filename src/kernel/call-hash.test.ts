import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import type { Call } from './call.ts'
import { callHash } from './call-hash.ts'
import { newCall } from './new-call.ts'
import type { Policy } from './policy/policy.ts'
import { readWork } from './read-work.ts'

const caller = { principal: 'p', session: 's', kind: 'agent' } as const
const ticket = { callId: 'c', operation: 'execute.run', subject: 'x', parameters: {}, caller }
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only the layers are looked at
const policy = { layers: [] } as unknown as Policy

function hashOf(parameters: JsonObject, more: Partial<Call> = {}): string {
  const work = {
    ...readWork(ticket, () => Promise.reject(new Error('not reached'))),
    parameters,
    digest: 'd',
  }
  return callHash({
    ...newCall(ticket, () => Promise.reject(new Error('not reached'))),
    work,
    policy,
    ...more,
  })
}

const json = fc.dictionary(
  fc.string(),
  fc.jsonValue().map((value) => structuredClone(value)),
)

test('APR-01: the order of keys is no other call', () => {
  fc.assert(
    fc.property(json, (value) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made of JSON
      const parameters = value as JsonObject
      const turned = Object.fromEntries(Object.entries(parameters).toReversed())
      return hashOf(parameters) === hashOf(turned)
    }),
  )
})

test('APR-01: one character more is another call', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string({ minLength: 1 }),
      (text, more) => hashOf({ text }) !== hashOf({ text: text + more }),
    ),
  )
})

test('N5: content, place, principal and rules are part of it; the connection is not', () => {
  const work = {
    ...readWork(ticket, () => Promise.reject(new Error('not reached'))),
    parameters: {},
    digest: 'other',
  }
  const known = hashOf({})
  expect(hashOf({}, { ticket: { ...ticket, caller: { ...caller, session: 'another' } } })).toBe(known)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- another layer, whatever it says
  const ruled = { layers: [{ hash: 'h' }] } as unknown as Policy
  const others: readonly Partial<Call>[] = [
    { work },
    { projectPath: '/a' },
    { ticket: { ...ticket, caller: { ...caller, principal: 'other' } } },
    { policy: ruled },
    { work: { ...work, digest: 'd', demands: [{ op: 'write', path: '/elsewhere' }] } },
    { work: { ...work, digest: 'd', demands: [{ op: 'exec', program: '/elsewhere/x' }] } },
    { work: { ...work, digest: 'd', heldBy: { level: 'strict' } } },
  ]
  expect(new Set([known, ...others.map((more) => hashOf({}, more))]).size).toBe(others.length + 1)
})

test('a call that was not judged has none', () => {
  expect(() => hashOf({}, { policy: null })).toThrow(TypeError)
})
