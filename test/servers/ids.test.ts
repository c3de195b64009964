import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeServerTool } from '../fixtures/server-tool.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'
import { trustProject } from '../upstream/as-person.ts'

const SERVER = fileURLToPath(new URL('../fixtures/upstream.mjs', import.meta.url))

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
  const entry = `{command: node, args: ["${SERVER}"]}`
  temp.write('config/mcp_registry.yaml', `mcps:\n  own: ${entry}\n  filesystem: ${entry}\n`)
  writeServerTool(temp, 'own.given', 'mcp_own', 'given')
  writeServerTool(temp, 'own.shape.deep', 'mcp_own', 'shape')
  writeServerTool(temp, 'mcp_filesystem.shape', 'mcp_filesystem', 'shape')
  await trustProject(temp)
})
afterAll(() => temp.close())

describe('M6: the ids of tools of servers', () => {
  test.each([
    ['own.given', 'own.given'],
    ['mcp_own.given', 'own.given'],
    ['own_mcp.given', 'own.given'],
    ['own.shape.deep', 'own.shape.deep'],
    ['mcp_filesystem.shape', 'mcp_filesystem.shape'],
    ['filesystem.list', 'filesystem.list'],
  ])('M6: %s is %s', async (asked, id) => {
    const { data, error } = await temp.load(asked)
    expect([error, data]).toMatchObject([null, { name: id }])
  })

  test('M6: a server called filesystem never takes the place of ours', async () => {
    expect((await temp.load('filesystem.shape')).error).toMatchObject({ code: 'NOT_FOUND' })
    expect((await temp.load('filesystem.list')).data).toMatchObject({ source: 'builtin' })
    expect((await temp.run('mcp_filesystem.shape')).data).toMatchObject({ output: { rows: 2 } })
  })
})

describe('S12: one call in three spellings', () => {
  const SPELLINGS = [
    ['mcp', 'own', { tool: 'given', tools: ['kept'] }],
    ['tool', 'own.given', { tools: ['kept'] }],
    ['mcp_tool', 'own.given', { tools: ['kept'] }],
  ] as const

  test('S12: gives equal results and equal records, apart from what counts calls', async () => {
    const seen: unknown[] = []
    for (const [item_type, item_id, parameters] of SPELLINGS) {
      // The same call again and again by one session would come before a person.
      const client = {
        principal: 'tester',
        session: `session of ${item_type}`,
        kind: 'agent',
        defaultProject: () => Promise.resolve(temp.project),
      } as const
      const args = { item_type, action: 'call', item_id, parameters }
      const reply = await temp.kiwi.call('execute', args, client)
      const records = await temp.kiwi.store.records({ call_id: reply.metadata.call_id, limit: 5 })
      const bare = records.map(({ kind, operation, tool: of, status, body, principal }) => {
        const { duration_ms: _duration, ...rest } = body
        return { kind, operation, of, status, rest, principal }
      })
      seen.push({ status: reply.status, data: reply.data, bare })
    }
    expect(seen[0]).toMatchObject({
      status: 'success',
      data: { output: { name: 'given', arguments: { tools: ['kept'] } } },
      bare: [{ operation: 'execute.call', of: 'own.given' }, {}],
    })
    expect(seen[1]).toEqual(seen[0])
    expect(seen[2]).toEqual(seen[0])
  })

  test('S12: without a tool the server says what is missing', async () => {
    const reply = await temp.call('execute', { item_type: 'mcp', action: 'call', item_id: 'own' })
    expect(reply.error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: 'Cannot call "own": "tool" is missing',
      fix: { call: 'load', arguments: { item_type: 'mcp', item_id: 'own' } },
    })
  })
})
