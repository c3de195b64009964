import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { openSecretPatterns } from '../spaces/secret-patterns.ts'
import type { Policy } from './policy/policy.ts'
import { screenRun } from './screen-run.ts'

const KEY = 'AKIA'.concat('IOSFODNN7EXAMPLE')
const secretPatterns = openSecretPatterns(join(import.meta.dirname, '../../builtin'))

function run(onSecret: Policy['onSecret'], end: JsonObject | KiwiError) {
  return screenRun(
    { toolId: 'cat_env', projectPath: null },
    { secretPatterns, policyOf: () => ({ onSecret }) },
    async () => {
      if (end instanceof KiwiError) throw end
      return { data: end, warnings: ['earlier'] }
    },
  )
}
const failure = () =>
  new KiwiError('TOOL_FAILED', `Cannot run "cat_env": it said ${KEY}`, {
    hint: 'Look',
    partial: { output: null, stderr: `oh ${KEY}` },
    details: { command: 'cat' },
  })

describe('RED-04: a result that holds what looks like a secret', () => {
  test('flag: comes as it is, with a warning that names the rule and not the text', async () => {
    const { data, warnings } = await run('flag', { output: `key ${KEY}`, return_code: 0 })
    expect(data).toEqual({ output: `key ${KEY}`, return_code: 0 })
    expect(warnings).toEqual(['earlier', 'the result holds what looks like a secret (rule aws-key)'])
  })

  test('redact: comes without it', async () => {
    const { data, warnings } = await run('redact', { output: [`key ${KEY}`], return_code: 0 })
    expect(data).toEqual({ output: ['key [REDACTED:aws-key]'], return_code: 0 })
    expect(warnings).toEqual(['earlier', 'the result held what looks like a secret (rule aws-key)'])
  })

  test('block: does not come at all', async () => {
    const error = await run('block', { output: KEY }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'SECRET_BLOCKED',
      message: 'Cannot return the result of "cat_env": rule aws-key matched',
      details: { layer: 'policy', rule: 'aws-key' },
    })
    expect(JSON.stringify([error, String(error)])).not.toContain(KEY)
  })

  test.each(['flag', 'redact', 'block'] as const)('%s: what holds none is not touched', async (onSecret) => {
    const data = { output: 'da39a3ee5e6b4b0d3255bfef95601890afd80709' }
    expect(await run(onSecret, data)).toEqual({ data, warnings: ['earlier'] })
    const plain = new KiwiError('TIMEOUT', 'Cannot run "cat_env": it took too long')
    await expect(run(onSecret, plain)).rejects.toBe(plain)
  })
})

describe('RED-04: a failure that says what looks like a secret', () => {
  test('flag: names the rule in its details', async () => {
    await expect(run('flag', failure())).rejects.toMatchObject({
      code: 'TOOL_FAILED',
      message: expect.stringContaining(KEY),
      partial: { stderr: `oh ${KEY}` },
      details: { command: 'cat', looks_like_secret: ['aws-key'] },
    })
  })

  test('redact: neither its message nor what was finished shows it', async () => {
    const error = await run('redact', failure()).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'TOOL_FAILED',
      message: 'Cannot run "cat_env": it said [REDACTED:aws-key]',
      hint: 'Look',
      partial: { output: null, stderr: 'oh [REDACTED:aws-key]' },
    })
    expect(error).not.toHaveProperty('cause')
  })

  test('block: says only that it failed', async () => {
    const error = await run('block', failure()).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'SECRET_BLOCKED',
      details: { failure: 'TOOL_FAILED' },
      partial: undefined,
    })
    expect(JSON.stringify([error, String(error)])).not.toContain(KEY)
  })

  test('what is no answer at all is passed on', async () => {
    const fault = new TypeError('ours')
    const policyOf = () => Promise.reject(fault)
    const perform = () => Promise.reject(fault)
    await expect(
      screenRun({ toolId: 'x', projectPath: null }, { secretPatterns, policyOf }, perform),
    ).rejects.toBe(fault)
  })
})
