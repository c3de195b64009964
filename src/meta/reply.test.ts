import { expect, test } from 'vitest'
import { successReply } from './reply.ts'

test('S15: a warning is said once', () => {
  const { metadata } = successReply({}, { call_id: 'x', duration_ms: 1 }, ['a', 'b', 'a'])
  expect(metadata.warnings).toEqual(['a', 'b'])
})
