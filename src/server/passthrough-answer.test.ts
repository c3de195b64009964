import { expect, test } from 'vitest'
import { errorReply } from '../meta/reply.ts'
import { KiwiError } from '../shared/errors.ts'
import { answerOf } from './passthrough-answer.ts'

const refused = (details: Record<string, unknown>) =>
  errorReply(new KiwiError('INVALID_PARAMETERS', 'Cannot run "a.b": "c" is missing', { details }), {
    call_id: 'x',
    duration_ms: 0,
  })
const findings = { missing: ['c'], invalid: [] }
const mistake = expect.objectContaining({ code: -32_602 })

test('X2: wrong arguments are told to the model from the revision on that says so, before it to the client', () => {
  for (const protocol of ['2025-11-25', '2026-07-28'])
    expect(answerOf({ method: 'tools/call', protocol }, refused(findings))).toMatchObject({ isError: true })
  for (const protocol of ['2024-11-05', '2025-06-18'])
    expect(() => answerOf({ method: 'tools/call', protocol }, refused(findings))).toThrow(mistake)
})

test('X2: a request that is none is told to the client in every revision', () => {
  for (const protocol of ['2025-06-18', '2026-07-28'])
    expect(() => answerOf({ method: 'tools/call', protocol }, refused({}))).toThrow(mistake)
})
