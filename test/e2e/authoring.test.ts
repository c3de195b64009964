import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field, listField, textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { kiwi } from './temp-server.ts'

let place: Place
beforeAll(async () => {
  place = makePlace()
  expect(await kiwi(place, ['init', '--yes'])).toMatchObject({ code: 0 })
})
afterAll(() => place.remove())

const at = (name: string): string => join(place.folder, name)
function put(name: string, text: string): string {
  writeFileSync(at(name), text)
  return at(name)
}
async function json(...args: readonly string[]): Promise<{ code: number; reply: unknown }> {
  const { code, stdout } = await kiwi(place, [...args, '--json'])
  return { code, reply: JSON.parse(stdout) }
}

const COUNT = '"""Counts words."""\nimport json, sys\nprint(len(json.load(sys.stdin)["text"].split()))\n'
const FOLDER = 'tool_type: bash\nversion: 1.0.0\ndescription: Greets # gently\n'

describe('S8: kiwi create, update, delete', () => {
  test('S8: the fields that are missing or wrong stand below the hint that speaks of them', async () => {
    const { code, stderr } = await kiwi(place, ['create', put('bare.py', 'print("hi")\n')])
    expect(code).toBe(2)
    expect(stderr).toMatch(/details\.invalid names\n {4}description: missing/)
  })

  test.each([
    [
      'a manifest',
      'an_api.yaml',
      'tool_type: api\ndescription: d\nconfig: {url: "https://example.com/"}\n',
      [],
      'tools/an_api.yaml',
    ],
    [
      'JSON',
      'other.json',
      '{"tool_id": "an_json", "tool_type": "api", "description": "d", "config": {"url": "https://example.com/"}}',
      [],
      'tools/an_json.yaml',
    ],
    [
      'TOML',
      'an_toml.toml',
      'tool_type = "api"\ndescription = "d"\n[config]\nurl = "https://example.com/"\n',
      [],
      'tools/an_toml.yaml',
    ],
    ['Python', 'count.py', COUNT, ['--category', 'text'], 'tools/text/count.py'],
    ['shell', 'say.sh', '#!/bin/sh\n# Says hello\necho hello\n', [], 'tools/say.sh'],
    ['a module', 'mod.mjs', '/** A module */\nimport "node:os"\nconsole.log(1)\n', [], 'tools/mod.mjs'],
    [
      'a script without a word about it',
      'mute.sh',
      '#!/bin/sh\necho\n',
      ['--description', 'Mute'],
      'tools/mute.sh',
    ],
    ['a document', 'note.md', '# A note\n', ['--type', 'knowledge'], 'knowledge/note.md'],
    [
      'a directive',
      'plan.md',
      '<directive name="plan" version="1.0.0"><description>d</description></directive>',
      ['--type', 'directive'],
      'directives/plan.md',
    ],
  ])('%s is made from its file', async (...[, name, text, more, path]) => {
    const { code, reply } = await json('create', put(name, text), ...more)
    expect({ code, reply }).toMatchObject({ code: 0, reply: { data: { version: '1.0.0' } } })
    expect(field(field(reply, 'data'), 'path')).toBe(join(place.project, '.ai', path))
  })

  test('what was made is run, changed by a file, and removed when a person says so', async () => {
    expect(await kiwi(place, ['run', 'count', 'text=a b c'])).toMatchObject({ stdout: '3\n' })
    const changed = put('count2.py', COUNT.replace('len(', '-len('))
    const updated = await kiwi(place, ['update', 'count', changed, '--changelog', 'turned round'])
    expect(updated).toMatchObject({ code: 0, stdout: 'Updated script "count" 1.0.1 in project\n' })
    expect(await kiwi(place, ['run', 'count', 'text=a b'])).toMatchObject({ stdout: '-2\n' })
    for (const [factor, version] of [
      [2, '1.0.2'],
      [3, '1.0.3'],
    ]) {
      put('count2.py', COUNT.replace('len(', `${factor} * len(`))
      const again = await kiwi(place, ['update', 'count', changed])
      expect(again).toMatchObject({ code: 0, stdout: `Updated script "count" ${version} in project\n` })
    }
    const same = await kiwi(place, ['update', 'count', changed])
    expect(same).toMatchObject({ code: 0, stdout: 'Unchanged: "count" 1.0.3\n' })
    expect(await kiwi(place, ['delete', 'count'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /CONFIRM_REQUIRED .*count\.py.*\n.*--yes\n +next: kiwi delete count --yes\n/,
      ),
    })
    expect(await kiwi(place, ['delete', 'count', '--yes'])).toMatchObject({ code: 0 })
    expect(await kiwi(place, ['run', 'count'])).toMatchObject({ code: 3 })
  })

  test.each([
    ['nothing there', () => at('none.yaml'), [], 2, 'PARSE_ERROR'],
    ['a document of no type', () => put('x.md', '# x'), [], 2, '--type directive'],
    [
      '200 MB',
      () => (truncateSync(put('huge.py', '')), truncateSync(at('huge.py'), 200e6), at('huge.py')),
      [],
      2,
      'keep the data elsewhere',
    ],
    ['a folder without a manifest', () => (mkdirSync(at('empty')), at('empty')), [], 2, 'tool.yaml'],
    ['an alias bomb', () => put('bomb.yaml', 'a: &a [1, 1]\nb: [*a, *a]\ntool_type: api\n'), [], 2, 'alias'],
    ['an id that leads out', () => put('y.sh', '# y\n'), ['--id', '../y'], 2, 'INVALID'],
    ['a name that is taken', () => put('say.sh', '# z\n'), [], 4, 'CONFLICT'],
  ] as const)('%s is refused', async (...[, source, more, code, named]) => {
    const end = await kiwi(place, ['create', source(), ...more])
    expect(end.code).toBe(code)
    expect(end.stderr).toContain(named)
  })

  test('a link in a folder is refused, not left out', async () => {
    mkdirSync(at('linked'))
    put('linked/tool.yaml', FOLDER)
    symlinkSync('/etc/hostname', at('linked/main.sh'))
    expect(await kiwi(place, ['create', at('linked')])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('it is a link'),
    })
  })
})

describe('X12: kiwi publish, versions, diff, rollback', () => {
  test('three files: what it was is its latest again, and the versions between stay', async () => {
    mkdirSync(at('greet/lib'), { recursive: true })
    put('greet/tool.yaml', FOLDER)
    put('greet/main.sh', '#!/bin/bash\n. ./lib/a.sh\n. ./lib/b.sh\n')
    put('greet/lib/a.sh', 'echo hello\n')
    put('greet/lib/b.sh', 'echo world\n')
    await kiwi(place, ['create', at('greet')])
    await kiwi(place, ['publish', 'greet', '--changelog', 'first'])
    put('greet/lib/a.sh', 'echo good evening\n')
    put('greet/lib/c.sh', 'echo more\n')
    await kiwi(place, ['update', 'greet', at('greet'), '--set-version', '1.1.0'])
    const local = await kiwi(place, ['diff', 'greet'])
    expect(local.stdout).toContain('-echo hello\n+echo good evening')
    expect(local.stdout).toContain('-version: 1.0.0\n+version: 1.1.0')
    expect(local.stdout).toContain('--- /dev/null\n+++ greet@1.1.0 (project) lib/c.sh')
    expect(local.stdout).not.toContain('kiwi-mcp')
    await kiwi(place, ['publish', 'greet'])
    const between = [
      await json('diff', 'greet', '1.0.0', '1.1.0'),
      await json('diff', 'greet@1.0.0', 'greet@1.1.0'),
    ]
    const paths = listField(field(between[0]?.reply, 'data'), 'files').map((file) => textField(file, 'path'))
    expect(paths).toEqual(['lib/a.sh', 'lib/c.sh', 'tool.yaml'])
    expect(field(between[1]?.reply, 'data')).toEqual(field(between[0]?.reply, 'data'))

    expect(await kiwi(place, ['rollback', 'greet', '1.0.0'])).toMatchObject({ code: 2 })
    expect(await kiwi(place, ['rollback', 'greet', '1.0.0', '--yes'])).toMatchObject({
      code: 0,
      stdout: 'Rolled back "greet" to 1.0.0, as version 1.1.1\n',
    })
    expect(await kiwi(place, ['run', 'greet'])).toMatchObject({ stdout: 'hello\nworld\n' })
    expect(await kiwi(place, ['run', 'greet@1.1.0'])).toMatchObject({ stdout: 'good evening\nworld\n' })
    expect(readFileSync(join(place.project, '.ai/tools/greet/lib/a.sh'), 'utf8')).toBe('echo hello\n')
    const { reply } = await json('diff', 'greet', '1.0.0', '1.1.1')
    expect(listField(field(reply, 'data'), 'files')).toMatchObject([
      { path: 'tool.yaml', diff: expect.stringMatching(/-version: 1.0.0\n\+version: 1.1.1/) },
    ])
    expect((await kiwi(place, ['diff', 'greet'])).stderr).toContain('are the same')
    const { stdout } = await kiwi(place, ['versions', 'greet'])
    const rows = stdout.trimEnd().split('\n')
    expect(rows.map((row) => row.replace(/\s*\d{4}-\S+ \S+\s*/, ' ').trim())).toEqual([
      '1.1.1  latest rollback to 1.0.0',
      '1.1.0',
      '1.0.0 first',
    ])
    const audit = await kiwi(place, ['audit', '--tool', 'greet', '--json'])
    expect(audit.stdout).toContain('"operation":"rollback"')
    expect(await kiwi(place, ['audit', '--verify'])).toMatchObject({ code: 0 })
  }, 120_000)

  test.each([
    [['publish', 'nowhere'], 3, 'NOT_FOUND'],
    [['publish', 'greet', '--set-version', 'one'], 2, 'semantic version'],
    [['diff', 'say'], 3, 'no version of it is published'],
    [['diff', 'greet', '1.0.0', '9.0.0'], 3, 'greet@9.0.0'],
    [['rollback', 'greet', '9.0.0', '--yes'], 3, '1.1.1, 1.1.0, 1.0.0'],
    [['rollback', 'hello_world', '1.0.0', '--yes'], 4, 'BUILTIN_PROTECTED'],
    [['update', 'hello_bash', '--set-version', '9.0.0'], 4, 'BUILTIN_PROTECTED'],
    [['update', 'greet'], 2, 'what is to change'],
  ])('%j is refused', async (args, code, named) => {
    const end = await kiwi(place, args)
    expect(end.code).toBe(code)
    expect(end.stderr).toContain(named)
  })
})
