import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makePartStore } from '../../test/fixtures/part-store.ts'
import type { TempChain } from '../../test/fixtures/temp-chain.ts'
import { openTempChain } from '../../test/fixtures/temp-chain.ts'
import { readEnvironment } from '../config/environment.ts'
import type { JsonObject } from '../shared/json.ts'

let temp: TempChain
let home: string
beforeAll(async () => {
  temp = await openTempChain()
  home = readEnvironment()['HOME'] ?? '/'
})
afterAll(() => temp.close())

/** What a shell script held like this prints. */
async function printed(id: string, sandbox: JsonObject, script: string): Promise<unknown> {
  temp.tool(
    id,
    { tool_type: 'script', executor: 'bash_runtime', sandbox },
    { 'main.sh': `#!/bin/bash\n${script}` },
  )
  return (await temp.run(id)).data['output']
}

test.each(['fs', 'strict'])(
  'X8: under %s Kiwi cannot be reached through a place that holds all of it',
  async (level) => {
    const [user, cache] = [join(temp.folder, 'user'), temp.cache]
    mkdirSync(user, { recursive: true })
    writeFileSync(join(user, 'kiwi.key'), 'a key')
    const output = await printed(
      `around_${level}`,
      { level, write: [temp.folder] },
      `echo x >${temp.folder}/fine_${level} && echo ok
for file in ${user}/kiwi.key ${user}/new ${cache}/new "$(dirname "$0")/new"; do
  echo x 2>/dev/null >>$file && echo "WROTE $file"
done
cat ${user}/kiwi.key 2>/dev/null
ls ${user}`,
    )
    expect(output).toBe('ok\n')
    expect(readFileSync(join(user, 'kiwi.key'), 'utf8')).toBe('a key')
    expect(existsSync(join(temp.folder, `fine_${level}`))).toBe(true)
  },
)

test('X8: an environment that was built for a script is seen under strict, and not written', async () => {
  const parts = makePartStore(temp.folder)
  temp.tool('parts_runtime', parts.runtime)
  temp.tool(
    'fitted',
    {
      tool_type: 'script',
      executor: 'parts_runtime',
      config: { requires: ['bolt'] },
      sandbox: { level: 'strict' },
    },
    { 'main.sh': 'cat $PARTS/bolt; echo x 2>/dev/null >$PARTS/bolt && echo WROTE; true' },
  )
  expect((await temp.run('fitted')).data).toMatchObject({
    output: 'part bolt\n',
    sandbox: { level: 'strict' },
  })
})

test('X8: a path that leads elsewhere by a link is given as what it is', async () => {
  const target = join(temp.folder, 'target')
  mkdirSync(target)
  symlinkSync(target, join(temp.project, 'link'))
  const output = await printed(
    'linked',
    { level: 'strict', write: ['link'] },
    `echo x >${target}/kept && echo ok; echo x 2>/dev/null >${temp.folder}/target2 ; ls ${home} | head -1`,
  )
  expect(output).toBe('ok\n')
  expect([join(target, 'kept'), join(temp.folder, 'target2')].map(existsSync)).toEqual([true, false])
})
