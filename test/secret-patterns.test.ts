import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../src/shared/json.ts'
import type { Reply } from '../src/shared/reply.ts'
import { expectRefusal } from './fixtures/expect-refusal.ts'
import { textField } from './fixtures/field.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi } from './temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const script = (id: string, text: string, config: JsonObject): Promise<Reply> =>
  temp.create(id, { ...BASH, config }, { 'main.sh': text })
const expectError = (given: Reply, code: string, message?: string): Promise<void> =>
  expectRefusal(temp, given, code, message)
const success = { status: 'success' }

describe('RED-04: what looks like a secret in a result', () => {
  test('is flagged by default, with the rule and not the text, also where the result is saved', async () => {
    await script('finds', 'printf "key %s%s\\n" AKIA IOSFODNN7EXAMPLE', {})
    const flagged = await temp.run('finds')
    expect(flagged).toMatchObject(success)
    expect(flagged.metadata.warnings).toContain('the result holds what looks like a secret (rule aws-key)')
    const records = await temp.kiwi.store.records({ limit: 9, call_id: flagged.metadata.call_id })
    expect(JSON.stringify([records, flagged.metadata])).not.toContain('IOSFODNN7EXAMPLE')
  })

  test('is taken out, or blocks the whole result, where the policy of a project says so', async () => {
    await script('finds', 'printf "key %s%s\\n" AKIA IOSFODNN7EXAMPLE', {})
    try {
      temp.write('config/agent_harness.yaml', 'mode: direct\nsecrets: redact\n')
      const redacted = await temp.run('finds')
      expect(redacted).toMatchObject({ ...success, data: { output: 'key [REDACTED:aws-key]\n' } })
      temp.write('config/agent_harness.yaml', 'mode: direct\nsecrets: block\n')
      const blocked = await temp.run('finds')
      await expectError(
        blocked,
        'SECRET_BLOCKED',
        'Cannot return the result of "finds": rule aws-key matched',
      )
      expect(blocked.error?.details).toMatchObject({ layer: 'policy', rule: 'aws-key' })
      expect(JSON.stringify([redacted, blocked])).not.toContain('IOSFODNN7EXAMPLE')
    } finally {
      // What has bound the project and is gone would be a fault.
      temp.write('config/agent_harness.yaml', 'mode: direct\n')
    }
    expect(await temp.run('finds')).toMatchObject({
      ...success,
      data: { output: expect.stringContaining('EXAMPLE') },
    })
  })

  test('BEN-11: a commit, a UUID and base64 of prose are not', async () => {
    const lines = [
      '2890965a1b2c3d4e5f60718293a4b5c6d7e8f901',
      '8f14e45f-ceea-467f-a9b1-3c2a1d0f9e77',
      Buffer.from('It was the best of times, it was the worst of times').toString('base64'),
    ]
    await script('innocent', `printf '%s\\n' ${lines.join(' ')}`, {})
    const told = await temp.run('innocent')
    expect(textField(told.data, 'output')).toBe(`${lines.join('\n')}\n`)
    expect(JSON.stringify(told.metadata.warnings ?? [])).not.toContain('secret')
  })
})
