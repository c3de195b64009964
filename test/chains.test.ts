import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi } from './temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const runtime = (says: string): string =>
  JSON.stringify({
    tool_type: 'runtime',
    executor: 'subprocess',
    version: '1.0.0',
    description: 'a runtime of the tests',
    config: { command: 'sh', args: ['-c', `echo ${says}`] },
  })
const script = (executor: string): string =>
  JSON.stringify({ tool_type: 'script', executor, version: '1.2.0', description: 'a script of the tests' })

function writeUser(path: string, text: string): void {
  const target = join(temp.folder, 'user', path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, text)
}

async function decisionOf(callId: string): Promise<unknown> {
  const records = await temp.kiwi.store.records({ limit: 5, call_id: callId })
  return records.find(({ kind }) => kind === 'decision')?.body
}

describe('L1, PRM-05: an executor comes from the space of the tool that names it, or from one below', () => {
  test('a project cannot slip its own under a tool of the user', async () => {
    writeUser('tools/my_report.yaml', script('sh_runtime'))
    writeUser('tools/sh_runtime.yaml', runtime('user code ran'))
    temp.write('tools/sh_runtime.yaml', runtime('project code ran'))
    temp.write('tools/its_report.yaml', script('sh_runtime'))
    temp.kiwi.spaces.at(temp.project).freshen(true)
    expect(await temp.run('my_report')).toMatchObject({ data: { output: 'user code ran\n' } })
    expect(await temp.run('its_report')).toMatchObject({ data: { output: 'project code ran\n' } })
    expect((await temp.load('my_report')).data).toMatchObject({ chain: [{}, { space: 'user' }, {}] })
  })

  test('nor lend one that the user does not have, and the refusal says where it is looked for', async () => {
    writeUser('tools/lonely.yaml', script('its_runtime'))
    temp.write('tools/its_runtime.yaml', runtime('project code ran'))
    temp.kiwi.spaces.at(temp.project).freshen(true)
    expect((await temp.run('lonely')).error).toMatchObject({
      code: 'EXECUTOR_MISSING',
      hint: expect.stringContaining('user'),
    })
  })

  test('what is in the registry runs on the registry and on what is shipped', async () => {
    const published = { ...BASH, executor: 'its_runtime' }
    expect((await temp.create('shared', published, { 'main.sh': 'true' }, 'registry')).error).toMatchObject({
      code: 'EXECUTOR_MISSING',
    })
    await temp.create('its_runtime', JSON.parse(runtime('registry code ran')), {}, 'registry')
    await temp.create('shared', published, { 'main.sh': 'true' }, 'registry')
    expect(await temp.run('shared')).toMatchObject({ data: { output: 'registry code ran\n' } })
    await temp.create('plain', BASH, { 'main.sh': 'echo shipped bash' }, 'registry')
    expect(await temp.run('plain')).toMatchObject({ data: { output: 'shipped bash\n' } })
  })
})

test('H7, PRM-05: the record names version and space of every link, and each that is not shipped is judged', async () => {
  writeUser('tools/recorded.yaml', script('seen_runtime'))
  writeUser('tools/seen_runtime.yaml', runtime('seen'))
  temp.kiwi.spaces.at(temp.project).freshen(true)
  const { metadata } = await temp.run('recorded')
  // S15: the reply has the ids alone.
  expect(metadata.executor_chain).toEqual(['recorded', 'seen_runtime', 'subprocess'])
  expect(await decisionOf(metadata.call_id)).toMatchObject({
    chain: [
      'recorded@1.2.0 user',
      'seen_runtime@1.0.0 user',
      expect.stringMatching(/^subprocess@\S+ builtin$/),
    ],
    demands: ['tool recorded', 'tool seen_runtime', expect.stringMatching(/^exec /)],
  })
  const made = await temp.create('made', BASH, { 'main.sh': 'true' })
  expect(await decisionOf(made.metadata.call_id)).toMatchObject({
    chain: ['made@1.0.0 project', expect.stringMatching(/^bash_runtime@\S+ builtin$/), expect.anything()],
  })
})
