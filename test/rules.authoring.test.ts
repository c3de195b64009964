import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Reply } from '../src/shared/reply.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const PYTHON = { tool_type: 'script', executor: 'python_runtime', description: 'a tool of the tests' }
const BROKEN = 'def run(:\n'
const act = (action: string, item_id: string, parameters: object = {}): Promise<Reply> =>
  temp.call('execute', { item_type: 'tool', action, item_id, parameters })

test('C8: an update that breaks a rule writes nothing', async () => {
  await temp.create('changed', PYTHON, { 'main.py': 'print(1)\n' })
  const { error } = await act('update', 'changed', { files: { 'main.py': BROKEN } })
  expect(error).toMatchObject({ code: 'VALIDATION_FAILED', message: expect.stringContaining('main.py') })
  expect(readFileSync(join(temp.project, '.ai/tools/changed/main.py'), 'utf8')).toBe('print(1)\n')
  expect((await temp.load('changed')).data).toMatchObject({ version: '1.0.0' })
})

test('C8: what breaks a rule is neither signed nor published', async () => {
  temp.write('tools/brought/tool.yaml', 'tool_type: python\nversion: 1.0.0\ndescription: brought\n')
  temp.write('tools/brought/main.py', BROKEN)
  for (const action of ['sign', 'publish'])
    expect((await act(action, 'brought')).error).toMatchObject({ code: 'VALIDATION_FAILED' })
  expect((await temp.load('brought')).data).toMatchObject({ signature: { state: 'unsigned' }, versions: [] })
})

test('C8: of many that are signed, the one that breaks a rule says so by itself', async () => {
  temp.write(
    'tools/many/fine.py',
    '"""Fine."""\n__version__ = "1.0.0"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime"\nprint(1)\n',
  )
  temp.write(
    'tools/many/faulty.py',
    `"""Faulty."""\n__version__ = "1.0.0"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime"\n${BROKEN}`,
  )
  const { data } = await act('sign', 'many/*')
  expect(data).toMatchObject({
    output: '1 signed, 0 unchanged, 1 failed',
    results: expect.arrayContaining([
      expect.objectContaining({ tool_id: 'fine', status: 'signed' }),
      expect.objectContaining({ tool_id: 'faulty', status: 'failed', code: 'VALIDATION_FAILED' }),
    ]),
  })
})

test('C8: a shell script without a shebang is not made, and the refusal says where', async () => {
  const { error } = await act('create', 'bare', {
    manifest: { tool_type: 'bash', description: 'x' },
    files: { 'main.sh': 'echo hi\n' },
  })
  expect(error).toMatchObject({ code: 'VALIDATION_FAILED', message: expect.stringContaining('main.sh:1') })
  expect(existsSync(join(temp.project, '.ai/tools/bare'))).toBe(false)
})
