import { afterEach, beforeEach, expect, test } from 'vitest'
import { begin, exampleServers, writeDirective } from '../fixtures/directive-kiwi.ts'
import { field, listField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const GRANTS = `<permissions>
  <execute resource="shell" commands="git,npm,pnpm"/>
  <read resource="filesystem" path="**/*"/>
  <execute resource="git" action="status"/><execute resource="git" action="diff"/>
  <execute resource="mcp" name="supabase" tools="get_project,list_migrations"/>
</permissions>`
const HARNESS = `mode: proxy
internal_tools:
  shell: {allowed_commands: [git, npm, pytest]}
  filesystem: {allowed_paths: ["**"]}
  git: {allowed: [status, diff]}
  mcps: {supabase: {enabled: true}}
rules:
  - {op: exec, match: {program: npm}, effect: ask}
  - {op: tool, match: {server: git, tool: diff}, effect: ask}
  - {op: tool, match: {server: supabase, tool: get_project}, effect: ask}
  - {op: tool, match: {server: supabase, tool: list_migrations}, effect: deny}
`

const signed = async (): Promise<void> => {
  writeDirective(temp, 'd', GRANTS)
  const sign = { item_type: 'directive', action: 'sign', item_id: 'd' }
  expect((await temp.call('execute', sign)).error).toBeNull()
}

test('D13, H1: what is handed over is what the layers of people leave, with what a person is asked about', async () => {
  exampleServers(temp)
  await signed()
  temp.write('config/agent_harness.yaml', HARNESS)
  const { data, error } = await begin(temp, 'd')
  expect(error).toBeNull()
  expect(field(data, 'tool_context', 'shell', 'constraints')).toEqual({
    allowed_commands: ['git', 'npm'],
    needs_approval: ['npm'],
  })
  const marks = (key: string): readonly unknown[] =>
    listField(data, 'tool_context', key, 'tools').map((tool) => [
      field(tool, 'name'),
      field(tool, 'needs_approval'),
    ])
  expect(marks('git')).toEqual([
    ['git.diff', true],
    ['git.status', undefined],
  ])
  expect(marks('supabase')).toEqual([['supabase.get_project', true]])
  const granted = listField(data, 'permissions', 'granted')
  expect(granted).toEqual(expect.arrayContaining(['allow exec git', 'ask exec npm', 'ask tool git.diff']))
  expect(granted).toEqual(expect.arrayContaining(['ask tool supabase.get_project']))
  expect(JSON.stringify(granted)).not.toMatch(/pnpm|list_migrations/)
  expect(field(data, 'warnings')).toEqual([
    expect.stringMatching(/^"shell pnpm" is left out: add internal_tools.shell.allowed_commands/),
  ])
})

test('D13, H1: paths are those that a person allows as well', async () => {
  await signed()
  temp.write(
    'config/agent_harness.yaml',
    `mode: proxy\ninternal_tools:\n  filesystem: {allowed_paths: ["${temp.project}/src/**"]}\n`,
  )
  const { data } = await begin(temp, 'd')
  expect(field(data, 'tool_context', 'filesystem', 'constraints')).toEqual({
    read_paths: ['src/**'],
    write_paths: [],
  })
})
