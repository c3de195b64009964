import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { expectRefusal } from '../fixtures/expect-refusal.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'
import { person, signAs } from './callers.ts'

let temp: TempKiwi
afterEach(() => temp.close())

const started = (): string => join(temp.folder, 'started')
const rule = (code = `env > ${started()}`): object => ({
  rules: [{ type: 'syntax_check', command: ['bash', '-c', code], files: 'main.sh' }],
})
const RUNTIME = {
  tool_type: 'runtime',
  executor: 'subprocess',
  version: '1.0.0',
  description: 'a runtime of the tests',
  config: { command: 'bash', args: ['{entrypoint}'] },
}
/** A runtime that lies in the project, as somebody else's would. */
const broughtRuntime = (): string =>
  temp.write('tools/brought_runtime.yaml', JSON.stringify({ ...RUNTIME, validation: rule() }))
const THROUGH = { ...BASH, executor: 'brought_runtime' }
const FILES = { 'main.sh': '#!/bin/bash\necho 1\n' }
const act = (action: string, item_id: string, parameters: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'tool', action, item_id, parameters })

describe('SIG-11, N17: rules of an executor that may not run', () => {
  test.each(['agent', 'person'] as const)('SIG-11, N17: start nothing when an %s writes', async (kind) => {
    temp = await openTempKiwi({ isTrusted: false, kind })
    broughtRuntime()
    const create = await temp.create('mine', THROUGH, FILES)
    await expectRefusal(temp, create, 'UNTRUSTED', temp.project)
    await temp.create('own', BASH, FILES)
    const update = await act('update', 'own', { manifest: { executor: 'brought_runtime' } })
    for (const [verb, { error }] of Object.entries({ create, update })) {
      expect(error).toMatchObject({
        code: 'UNTRUSTED',
        message: expect.stringContaining(`Cannot ${verb} "`),
        hint: expect.stringContaining(`kiwi trust --project ${temp.project}`),
      })
    }
    expect(existsSync(started())).toBe(false)
  })

  test('SIG-11, N17: nor when a person signs or publishes, one or many', async () => {
    temp = await openTempKiwi({ isTrusted: false, kind: 'person' })
    broughtRuntime()
    temp.write('tools/laid/tool.yaml', JSON.stringify({ ...THROUGH, version: '1.0.0' }))
    temp.write('tools/laid/main.sh', FILES['main.sh'])
    await temp.create('own', BASH, FILES)
    for (const action of ['sign', 'publish'])
      expect((await act(action, 'laid')).error).toMatchObject({ code: 'UNTRUSTED' })
    expect((await act('sign', '*')).data).toMatchObject({
      results: expect.arrayContaining([
        expect.objectContaining({ tool_id: 'laid', status: 'failed', code: 'UNTRUSTED' }),
        expect.objectContaining({ tool_id: 'own', status: 'unchanged' }),
      ]),
    })
    expect(existsSync(started())).toBe(false)
  })

  test('SIG-11, N17: a person signs the executor, and its rules hold for what is made then', async () => {
    temp = await openTempKiwi({ isTrusted: false })
    temp.write(
      'tools/brought_runtime.yaml',
      `tool_id: brought_runtime\n${await yaml({ ...RUNTIME, validation: rule() })}`,
    )
    expect((await signAs(temp, 'person', 'brought_runtime')).status).toBe('success')
    expect((await temp.create('mine', THROUGH, FILES)).status).toBe('success')
    expect(existsSync(started())).toBe(true)
  })

  test('SIG-04: rules of an executor that was changed after it was signed start nothing', async () => {
    temp = await openTempKiwi()
    await temp.create('brought_runtime', { ...RUNTIME, validation: rule('true') })
    const path = join(temp.project, '.ai/tools/brought_runtime.yaml')
    writeFileSync(path, readFileSync(path, 'utf8').replace(/- "?true"?$/m, `- env > ${started()}`))
    expect((await temp.create('mine', THROUGH, FILES)).error).toMatchObject({
      code: 'CONTENT_MODIFIED',
      message: 'Cannot create "mine": the signature of "brought_runtime" does not match its files',
    })
    expect(existsSync(started())).toBe(false)
  })

  test('R54: where signatures are required, those of an unsigned executor start nothing', async () => {
    temp = await openTempKiwi()
    broughtRuntime()
    temp.write('config/agent_harness.yaml', 'mode: proxy\n')
    expect((await temp.create('mine', THROUGH, FILES)).error).toMatchObject({
      code: 'UNTRUSTED',
      message: expect.stringContaining('Cannot create "mine": "brought_runtime" is not signed'),
    })
    expect(existsSync(started())).toBe(false)
  })
})

test('C8: an item starts no program by its own word until it runs', async () => {
  temp = await openTempKiwi()
  const made = await temp.create('own', { ...BASH, validation: rule() }, FILES)
  expect(made).toMatchObject({ status: 'success' })
  expect(made.metadata.warnings?.join()).toContain('in its own rules are started when it runs')
  await act('update', 'own', { description: 'changed' })
  await temp.kiwi.call('execute', { item_type: 'tool', action: 'sign', item_id: 'own' }, person(temp))
  expect((await act('publish', 'own')).status).toBe('success')
  expect(existsSync(started())).toBe(false)
  expect((await temp.run('own')).status).toBe('success')
  expect(existsSync(started())).toBe(true)
})

test('C8: what a rule starts is known to come from a call', async () => {
  temp = await openTempKiwi()
  await temp.create('brought_runtime', { ...RUNTIME, validation: rule() })
  const { metadata } = await temp.create('mine', THROUGH, FILES)
  const environment = readFileSync(started(), 'utf8').split('\n')
  expect(environment).toContain(`KIWI_CALL_ID=${metadata.call_id}`)
  expect(environment).toContainEqual(expect.stringMatching(/^KIWI_PROCESS=/))
})

async function yaml(value: object): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(value)
}
