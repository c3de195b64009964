import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makePartStore } from '../../test/fixtures/part-store.ts'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'

let temp: TempChain

beforeEach(async () => {
  temp = await openTempChain()
})
afterEach(() => temp.close())

const SHOW = 'cat "$PARTS"/*'
const output = async (id: string): Promise<unknown> => (await temp.run(id)).data['output']

test('packages can be arguments of their own, and so can the settings for them', async () => {
  temp.tool(
    'argument_runtime',
    makePartStore(temp.folder, {
      options: { quiet: { given: ['-q'], otherwise: ['-v', 'loud'] } },
      builders: [
        [
          {
            say: 'listing',
            run: [
              'sh',
              '-c',
              'mkdir "$0/parts"; echo "$@" > "$0/parts/all"',
              '{environment}',
              '{packages}',
              '{options}',
            ],
          },
        ],
      ],
    }).runtime,
  )
  temp.tool(
    'listing',
    { tool_type: 'script', executor: 'argument_runtime', config: { requires: ['wheel>=2', 'axle'] } },
    { 'main.sh': SHOW },
  )
  expect(await output('listing')).toBe('wheel>=2 axle -v loud\n')
})

test('a step may use a file of its runtime, and another file is another environment', async () => {
  const environment = {
    builders: [[{ say: 'x', run: ['sh', '{runtime_path}/install.sh', '{environment}'] }]],
  }
  const { runtime } = makePartStore(temp.folder, environment)
  const install = (word: string): string => `mkdir "$1/parts"; echo ${word} > "$1/parts/all"`
  temp.tool('filed_runtime', runtime, { 'install.sh': install('first') })
  temp.tool(
    'filed',
    { tool_type: 'script', executor: 'filed_runtime', config: { requires: ['wheel'] } },
    { 'main.sh': SHOW },
  )
  expect(await output('filed')).toBe('first\n')
  temp.tool('filed_runtime', runtime, { 'install.sh': install('second') })
  expect(await output('filed')).toBe('second\n')
  rmSync(join(temp.project, '.ai/tools/filed_runtime/install.sh'))
  temp.lookup.freshen(true)
  await expect(temp.plan('filed')).rejects.toMatchObject({
    code: 'INVALID_CONFIG',
    message: expect.stringContaining('{runtime_path}'),
  })
})

test('the first builder whose program is found builds', async () => {
  const step = { say: 'x', run: [makePartStore(temp.folder).program, '{requirements}', '{environment}'] }
  temp.tool(
    'two_runtime',
    makePartStore(temp.folder, {
      builders: [[{ say: 'x', run: ['kiwi-no-such-installer'] }], [step]],
    }).runtime,
  )
  temp.tool(
    'two',
    { tool_type: 'script', executor: 'two_runtime', config: { requires: ['wheel'] } },
    { 'main.sh': SHOW },
  )
  expect(await output('two')).toBe('part wheel\n')
})
