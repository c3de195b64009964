import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ERRORS } from '../../src/shared/errors.ts'
import { field, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

describe('help', () => {
  const TOPICS = readdirSync('builtin/knowledge/help')
    .map((file) => file.replace(/^kiwi-(.*)\.md$/, '$1'))
    .toSorted()

  test('S10: what is shipped is a topic, undo, audit and sandbox among them, and the overview names all', async () => {
    expect(TOPICS).toEqual(expect.arrayContaining(['undo', 'audit', 'sandbox', 'limits']))
    const { data } = await temp.call('help', {})
    expect(data).toMatchObject({ topics: TOPICS })
    expect(textField(data, 'text')).toContain(TOPICS.join(', '))
  })

  test.each(TOPICS)('S10: the topic %s answers in under 2 kB, with an example', async (topic) => {
    const { data } = await temp.call('help', { topic })
    const text = textField(data, 'text')
    expect(text.length).toBeGreaterThan(200)
    expect(Buffer.byteLength(text)).toBeLessThan(2048)
    expect(text).toMatch(/[`{]/)
  })

  test('S10: the overview is the default and counts the items and names the servers', async () => {
    expect((await temp.call('help', {})).data).toMatchObject({
      topic: 'overview',
      items: { primitive: 2 },
      servers: expect.arrayContaining(['mcp_github', 'mcp_slack']),
    })
  })

  test('S10, E2: the overview as the very first call counts the files, and leaves the index as it was', async () => {
    temp.write('tools/mine.yaml', 'tool_type: bash\nversion: 1.0.0\ndescription: a zebra of my own\n')
    temp.kiwi.spaces.at(temp.project).freshen(true)
    expect(resultsOf(await temp.search('zebra')).map(({ id }) => id)).toEqual(['mine'])
    const scripts = async (kiwi: TempKiwi): Promise<unknown> =>
      field((await kiwi.call('help', {})).data, 'items', 'script')
    const before = await scripts(temp)
    const fresh = await openTempKiwi({ beside: temp })
    try {
      expect(await scripts(fresh)).toBe(before)
      const roots = [{ space: 'project', root: join(temp.project, '.ai') }] as const
      expect(await fresh.kiwi.store.count(roots)).toMatchObject({ script: before })
    } finally {
      await fresh.close()
    }
  })

  test.each(Object.keys(ERRORS))(
    'S10, S14: the error code %s is explained with a message and a hint',
    async (error_code) => {
      const { data } = await temp.call('help', { error_code })
      expect(data).toMatchObject({
        error_code,
        means: expect.stringMatching(/\S/),
        hint: expect.stringMatching(/\S/),
      })
    },
  )

  test('S10: how to call an item, and an unknown topic or code lists the known ones', async () => {
    expect((await temp.call('help', { item_id: 'hello_bash' })).data).toMatchObject({
      call: { item_id: 'hello_bash' },
    })
    expect((await temp.call('help', { topic: 'birds' })).error).toMatchObject({
      code: 'NOT_FOUND',
      details: { topics: TOPICS },
    })
    expect((await temp.call('help', { error_code: 'BIRD' })).error?.hint).toContain('TIMEOUT')
  })
})
