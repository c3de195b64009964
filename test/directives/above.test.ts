import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { begin, writeDirective } from '../fixtures/directive-kiwi.ts'
import { field, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const RUNS_INNER = '<execute><directive>inner</directive></execute>'
const ABOVE = 'the layer "directive outer" of a run above'
const directive = (name: string, ...rows: readonly string[]): string =>
  writeDirective(temp, name, `<permissions>${rows.join('')}</permissions>`)
const files = (right: 'read' | 'write', path: string): string =>
  `<${right} resource="filesystem" path="${path}"/>`

/** What the one inside is told of its rights. */
async function inner(): Promise<Reply> {
  const outer = await begin(temp, 'outer')
  const reply = await begin(temp, 'inner', { run_id: textField(outer.data, 'run_id') })
  expect(reply.error).toBeNull()
  return reply
}
const constraints = ({ data }: Reply, key: string): unknown =>
  field(data, 'tool_context', key, 'constraints') ?? null
const granted = ({ data }: Reply): unknown =>
  Object(field(data, 'permissions', 'granted'))
    .map((line: string) => line.replaceAll(`${realpathSync(temp.project)}/`, ''))
    .filter((line: string) => !line.startsWith('allow tool filesystem.'))
const warnings = ({ data }: Reply): unknown =>
  Object(field(data, 'warnings')).map((line: string) => line.replaceAll(`${realpathSync(temp.project)}/`, ''))
const use = async (item_id: string, { data }: Reply, parameters: object): Promise<unknown> => {
  const run_id = textField(data, 'run_id')
  const reply = await temp.call('execute', { item_type: 'tool', action: 'run', item_id, run_id, parameters })
  return reply.error?.code ?? reply.status
}
const put = (path: string): string => {
  const file = join(temp.project, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, path)
  return file
}

test.each([
  ['grants', [RUNS_INNER, files('read', 'src/**')]],
  ['hands on', [RUNS_INNER, files('read', '**/*'), `<delegate>${files('read', 'src/**')}</delegate>`]],
])('D8, D13: a run is told no more paths than what the run above %s', async (said, rows) => {
  directive('outer', ...rows)
  directive('inner', files('read', '**/*'), files('write', 'out/**'))
  const reply = await inner()
  expect(constraints(reply, 'filesystem')).toEqual({ read_paths: ['src/**'], write_paths: [] })
  expect(granted(reply)).toEqual(['allow read src/**'])
  const layer = said === 'grants' ? ABOVE : ABOVE.replace('directive', 'ceiling of directive')
  expect(warnings(reply)).toEqual([`"allow write out/**" is left out: ${layer} does not grant it`])
  expect(await use('filesystem.read', reply, { path: put('src/a.txt') })).toBe('success')
  expect(await use('filesystem.read', reply, { path: put('top.txt') })).toBe('PERMISSION_DENIED')
  const written = { path: join(temp.project, 'out/z.txt'), content: 'z' }
  expect(await use('filesystem.write', reply, written)).toBe('PERMISSION_DENIED')
})

test('D8, D13: what a run above denies or asks about is told, and paths it denies whole are not', async () => {
  const deny = `<deny>${files('read', 'src/secret/**')}${files('write', 'out/**')}</deny>`
  const ask = `<ask>${files('write', 'src/**')}</ask>`
  directive('outer', RUNS_INNER, files('read', '**/*'), files('write', '**/*'), deny, ask)
  directive('inner', files('read', 'src/**'), files('write', 'src/**'), files('write', 'out/**'))
  const reply = await inner()
  expect(constraints(reply, 'filesystem')).toEqual({ read_paths: ['src/**'], write_paths: ['src/**'] })
  expect(granted(reply)).toEqual([
    'allow read src/**',
    'ask write src/**',
    'deny read src/secret/**',
    'deny write out/**',
  ])
  expect(warnings(reply)).toEqual([`"allow write out/**" is left out: ${ABOVE} does not grant it`])
})

test('D8: where two patterns have no pattern in common, what is shown says whose word it is held to', async () => {
  directive('outer', RUNS_INNER, files('read', 'src/*.ts'))
  directive('inner', files('read', 'src/*.test.*'))
  const reply = await inner()
  expect(warnings(reply)).toEqual([`"allow read src/*.test.*" holds only as far as ${ABOVE} grants it`])
})

test('D8, D9: of programs, hosts, items and directives those are told that the run above grants too', async () => {
  const shell = (...patterns: readonly string[]): string =>
    `<shell>${patterns.map((pattern) => `<command pattern="${pattern}"/>`).join('')}</shell>`
  directive(
    'outer',
    RUNS_INNER,
    '<execute resource="shell" commands="echo, ls"/>',
    shell('git log'),
    '<execute resource="http" domains="api.example.org" actions="GET"/>',
    '<execute resource="kiwi-mcp" actions="create"/>',
  )
  directive(
    'inner',
    '<execute resource="shell" commands="*"/>',
    shell('git log *'),
    '<execute resource="http" domains="*.example.org"/>',
    '<execute resource="tool" id="hello_*"/>',
    '<execute resource="kiwi-mcp" actions="create, delete"/>',
    '<execute resource="spawn"/>',
  )
  const reply = await inner()
  expect(constraints(reply, 'shell')).toEqual({ allowed_commands: ['echo', 'ls', 'git log'] })
  expect(granted(reply)).toEqual([
    'allow exec echo',
    'allow exec ls',
    'allow exec git log',
    'allow tool shell.run',
    'allow net GET api.example.org',
    'allow tool *: create',
    'allow spawn inner',
  ])
  expect(warnings(reply)).toEqual([`"allow tool hello_*" is left out: ${ABOVE} does not grant it`])
  expect(await use('shell.run', reply, { argv: ['echo', 'x'] })).toBe('success')
  expect(await use('shell.run', reply, { argv: ['git', 'status'] })).toBe('PERMISSION_DENIED')
})

test('D8: what both grant alike is told as it is written', async () => {
  const rows = [
    files('read', 'src/**'),
    '<execute resource="shell" commands="echo, git*"/>',
    '<execute resource="mcp" name="*"/>',
    '<execute resource="tool" id="hello_*"/>',
    '<execute resource="http" domains="*.example.org"/>',
  ]
  directive('outer', RUNS_INNER, ...rows)
  directive('inner', ...rows)
  const reply = await inner()
  expect(granted(reply)).toEqual([
    'allow read src/**',
    'allow exec echo, git*',
    'allow tool shell.run',
    'allow tool *.*',
    'allow tool hello_*',
    'allow net *.example.org',
  ])
  expect(warnings(reply)).toEqual([])
})
