import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { field, listField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
  for (const folder of ['src', 'dist']) mkdirSync(join(temp.project, folder))
})
afterAll(() => temp.close())

/** Each of the operations on files, below a folder, with the right it asks for. */
const OPERATIONS = [
  ['read', 'read', { path: 'there' }],
  ['list', 'read', { path: '' }],
  ['write', 'write', { path: 'there', content: 'x' }],
  ['create', 'write', { path: 'new' }],
  ['move', 'write', { path: 'there', to: 'moved' }],
  ['delete', 'write', { path: 'moved' }],
] as const

const runOf = async (permissions: string): Promise<string> => {
  const order = {
    kind: 'run',
    parent: null,
    principal: 'tester',
    directive: 'edit',
    servers: [],
    tools: null,
  } as const
  const wanted = `<permissions>${permissions}</permissions>`
  return (await temp.kiwi.openRun({ ...order, permissions: wanted, projectPath: temp.project })).id
}
const use = (run_id: string, tool: string, parameters: object): ReturnType<TempKiwi['call']> =>
  temp.call('execute', {
    item_type: 'tool',
    action: 'run',
    item_id: `filesystem.${tool}`,
    parameters,
    run_id,
  })
const below = (folder: string, parameters: object): object =>
  Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [
      key,
      key === 'content' ? value : join(folder, String(value)),
    ]),
  )

test('D9: each operation is refused without its grant, and done with it, in its folder alone', async () => {
  const grants = {
    read: '<read resource="filesystem" path="src/**"/>',
    write: '<write resource="filesystem" path="src/**"/>',
  }
  const runs = { read: await runOf(grants.read), write: await runOf(grants.write), none: await runOf('') }
  for (const folder of ['src', 'dist']) writeFileSync(join(temp.project, folder, 'there'), 'word')
  for (const [tool, right, parameters] of OPERATIONS) {
    const other = right === 'read' ? runs.write : runs.read
    for (const [run, folder] of [
      [runs.none, 'src'],
      [other, 'src'],
      [runs[right], 'dist'],
    ] as const) {
      expect(await use(run, tool, below(folder, parameters)), `${tool} ${folder}`).toMatchObject({
        error: { code: 'PERMISSION_DENIED', details: { op: expect.any(String) } },
      })
    }
    expect(await use(runs[right], tool, below('src', parameters)), tool).toMatchObject({ status: 'success' })
  }
})

test('D9: a move needs the grant at both ends', async () => {
  const run = await runOf('<write resource="filesystem" path="src/**"/>')
  writeFileSync(join(temp.project, 'src/a'), '')
  expect(await use(run, 'move', { path: 'src/a', to: 'dist/a' })).toMatchObject({
    error: { code: 'PERMISSION_DENIED' },
  })
  expect(await use(run, 'move', { path: 'dist/there', to: 'src/b' })).toMatchObject({
    error: { code: 'PERMISSION_DENIED' },
  })
})

test('D9: of a folder a run sees what it may read', async () => {
  mkdirSync(join(temp.project, 'src/private'))
  for (const file of ['src/open', 'src/private/key']) writeFileSync(join(temp.project, file), 'word')
  const run = await runOf(
    '<read resource="filesystem" path="src/**"/><deny><read resource="filesystem" path="src/private/**"/></deny>',
  )
  const { data } = await use(run, 'search', { path: 'src', pattern: 'word' })
  const places = listField(field(data, 'output'), 'matches').map((match) => field(match, 'path'))
  expect(places).toContain('open')
  expect(places).not.toContain('private/key')
})
