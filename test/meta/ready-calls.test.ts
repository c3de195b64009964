import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { field } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi({ kind: 'person' })
  execFileSync('git', ['init', '--quiet'], { cwd: temp.project })
})
afterAll(() => temp.close())

test('S3, S6: the ready call of every shipped tool and directive is one that it takes, filled in', async () => {
  const found = resultsOf(await temp.search('*', { source: 'builtin', sort_by: 'name', limit: 100 }))
  const calls = found.filter(({ call, item_type }) => call !== null && item_type !== 'knowledge')
  expect(calls.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['git.switch', 'git.status', 'hello_bash', 'shell.run', 'filesystem.write']),
  )
  for (const { id, item_type, call } of calls) {
    const { data } = await temp.load(id, { item_type })
    expect(field(data, 'call_example'), id).toEqual(call)
    // Left as it stands, `<command>` is no line of commands.
    const filled: unknown = JSON.parse(JSON.stringify(call).replaceAll(/<(\w+)>/g, 'my_$1'))
    const { error } = await temp.call('execute', { ...Object(filled), dry_run: true })
    if (error?.code === 'INVALID_PARAMETERS') expect([id, error.message]).toEqual([id, 'no refusal'])
  }
}, 60_000)

test.each(['git.status', 'git.diff', 'git.branch'])(
  'S3, S6: the ready call of %s asks for nothing of its own making',
  async (id) => {
    const { data } = await temp.load(id)
    expect(field(data, 'call_example', 'parameters')).toEqual({})
    expect(await temp.call('execute', field(data, 'call_example'))).toMatchObject({ status: 'success' })
  },
)
