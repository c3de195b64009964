import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field, textField } from '../fixtures/field.ts'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { kiwi } from './temp-server.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
})
afterAll(() => place.remove())

const json = async (...args: string[]): Promise<unknown> =>
  JSON.parse((await kiwi(place, [...args, '--json'])).stdout)

describe('kiwi search, load, run, create', () => {
  test('search prints a table, and what to do next', async () => {
    const { code, stdout, stderr } = await kiwi(place, ['search', 'say', 'hello'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^hello_world +script +builtin +1\.0\.0 +Says hello/m)
    expect(stderr).toMatch(/kiwi load \w+/)
  })

  test('search without words lists everything; nothing found is said', async () => {
    expect(await json('search', '--limit', '100')).toMatchObject({ data: { total: expect.any(Number) } })
    expect((await kiwi(place, ['search', 'xyzzy'])).stderr).toContain('Nothing found')
  })

  test('in a folder below, the project is found; doctor says which', async () => {
    const below = join(place.project, 'src/deep')
    mkdirSync(below, { recursive: true })
    mkdirSync(join(place.project, '.ai/tools'), { recursive: true })
    writeFileSync(join(place.project, '.ai/tools/above.sh'), '#!/bin/bash\n# Quokkas\necho above\n')
    const there = { ...place, project: below }
    expect((await kiwi(there, ['search', 'quokkas'])).stdout).toContain('above')
    expect((await kiwi(there, ['doctor'])).stdout).toMatch(new RegExp(`^ok +project +${place.project}$`, 'm'))
    expect((await kiwi(there, ['search', 'quokkas', '--project', '.'])).stderr).toContain('Nothing found')
    rmSync(join(place.project, '.ai/tools/above.sh'))
  })

  test('a run that takes too long is said once, and the line ends', async () => {
    const folder = join(place.folder, 'slow')
    mkdirSync(folder)
    writeFileSync(join(folder, 'tool.yaml'), 'tool_type: bash\ndescription: slow\nconfig: {timeout: 0.3}\n')
    writeFileSync(join(folder, 'main.sh'), '#!/bin/bash\nsleep 9\n')
    await kiwi(place, ['create', folder])
    const { stderr } = await kiwi(place, ['run', 'slow'])
    expect(stderr).toMatch(/^TIMEOUT [^\n]+\n  [^\n]+\n$/)
  })

  test('load shows parameters, files and chain', async () => {
    const { stdout } = await kiwi(place, ['load', 'hello_world'])
    expect(stdout).toContain('hello_world > python_runtime > subprocess')
    expect(stdout).toMatch(/name +string = "World" +Whom to greet/)
  })

  test('run prints the output and nothing else on standard output', async () => {
    expect(await kiwi(place, ['run', 'hello_bash', 'name=Ada'])).toMatchObject({
      code: 0,
      stdout: 'Hello, Ada!\n',
      stderr: '',
    })
  })

  test('run takes parameters as text, as JSON, from a file and from standard input', async () => {
    const tool = join(place.folder, 'types.yaml')
    writeFileSync(
      tool,
      `tool_id: types\ntool_type: runtime\nexecutor: subprocess\nversion: 1.0.0\ndescription: x\nconfig: { command: cat }\n`,
    )
    await kiwi(place, ['create', tool])
    const folder = join(place.folder, 'echoes')
    mkdirSync(folder)
    writeFileSync(
      join(folder, 'tool.yaml'),
      'tool_type: bash\ndescription: echoes\nparameters:\n  - {name: n, type: integer}\n  - {name: on, type: boolean}\n  - {name: list, type: array}\n  - {name: text}\n',
    )
    writeFileSync(join(folder, 'main.sh'), '#!/bin/bash\ncat')
    expect(await kiwi(place, ['create', folder, '--id', 'echoes'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Created script "echoes"'),
    })
    const run = async (args: string[], input = ''): Promise<unknown> =>
      JSON.parse((await kiwi(place, ['run', 'echoes', ...args], input)).stdout)
    expect(await run(['n=3', 'on=true', 'list=[1,2]', 'text=7'])).toEqual({
      n: 3,
      on: true,
      list: [1, 2],
      text: '7',
    })
    expect(await run(['n:=3', '--params', '{"text": "a"}'])).toEqual({ n: 3, text: 'a' })
    writeFileSync(join(place.folder, 'p.json'), '{"text": "from a file"}')
    expect(await run(['--params', `@${join(place.folder, 'p.json')}`])).toEqual({ text: 'from a file' })
    expect(await run(['--params', '-'], '{"text": "from input"}')).toEqual({ text: 'from input' })
  })

  test('a failure goes to standard error with what to do, and the exit code comes from the table', async () => {
    expect(await kiwi(place, ['run', 'hello_wrld'])).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(/^NOT_FOUND .*\n.*\n +next: kiwi search 'hello wrld'/),
    })
    expect(await kiwi(place, ['run', 'hello_bash', 'nme=Ada'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"nme"'),
    })
    expect(await kiwi(place, ['run', 'hello_bash', 'Ada'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('name=text'),
    })
    expect(await kiwi(place, ['run', 'hello_bash', '{"name":"Ada"}'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`--params '{"name":"Ada"}'`),
    })
    expect(await kiwi(place, ['diff', 'a', '1.0.0', '1.1.0', 'd'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('"d" is too many'),
    })
    expect(await kiwi(place, ['load', 'hello_bash@^1'])).toMatchObject({
      stderr: expect.stringMatching(/Run it: kiwi run hello_bash@1\.\d/),
    })
    expect(await kiwi(place, ['create', 'no-such-file.yaml'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('PARSE_ERROR'),
    })
    expect(await kiwi(place, ['fly'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('kiwi --help'),
    })
  })

  test('--dry-run checks and runs nothing', async () => {
    expect(await json('run', 'hello_node', '--dry-run')).toMatchObject({
      status: 'dry_run',
      data: { executor_chain: ['hello_node', 'node_runtime', 'subprocess'] },
    })
  })

  test('--project works in another folder', async () => {
    const other = join(place.folder, 'other')
    mkdirSync(other)
    await kiwi(place, ['load', 'hello_bash', '--to', 'project', '--project', other])
    expect(readFileSync(join(other, '.ai/tools/samples/hello_bash/main.sh'), 'utf8')).toContain('Hello')
  })
})

describe('kiwi audit', () => {
  test('shows decisions and outcomes, newest first, with filters', async () => {
    await kiwi(place, ['run', 'hello_bash'])
    const { stdout } = await kiwi(place, ['audit', '--tool', 'hello_bash', '--limit', '2'])
    expect(stdout.trimEnd().split('\n')).toHaveLength(3)
    expect(stdout).toMatch(/outcome +success +execute\.run +hello_bash/)
    const lines = (await kiwi(place, ['audit', '--json', '--limit', '1'])).stdout.trim().split('\n')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ kind: 'outcome', hash: expect.any(String) })
  })

  test('AUD-01: --verify finds a changed record and fails', async () => {
    expect(await kiwi(place, ['audit', '--verify'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('whole'),
    })
    const { DatabaseSync } = await import('@photostructure/sqlite')
    const db = new DatabaseSync(join(place.folder, 'user/kiwi.db'))
    const triggers = db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'journal'")
      .all()
    for (const trigger of triggers) db.exec(`DROP TRIGGER ${textField(trigger, 'name')}`)
    db.exec("UPDATE journal SET tool = 'innocent' WHERE seq = 2")
    db.close()
    const { code, stdout } = await kiwi(place, ['audit', '--verify'])
    expect(code).toBe(70)
    expect(stdout).toContain('record 2')
  })
})

describe('kiwi doctor', () => {
  test('names what works and where each setting came from', async () => {
    const fresh = makePlace()
    const { code, stdout } = await kiwi(fresh, ['doctor'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/ok +store/)
    expect(stdout).toMatch(/ok +python +hello_world can run/)
    expect(stdout).toMatch(/user_space +\S+ +environment/)
    fresh.remove()
  })

  test('finds planted faults, each with its fix', async () => {
    const sick = makePlace()
    const user = join(sick.folder, 'user')
    mkdirSync(join(sick.project, '.ai/tools'), { recursive: true })
    mkdirSync(user)
    writeFileSync(join(sick.project, '.ai/tools/bad.yaml'), 'tool_type: [')
    writeFileSync(join(sick.project, '.ai/kiwi.json'), '{}')
    writeFileSync(join(user, 'kiwi.token'), 'x')
    chmodSync(join(user, 'kiwi.token'), 0o644)
    const { code, stdout } = await kiwi(sick, ['doctor'])
    expect(code).toBe(2)
    expect(stdout).toContain('chmod 600')
    expect(stdout).toMatch(/warn +item .*bad\.yaml/)
    expect(stdout).toMatch(/warn +settings .*kiwi\.json is not read\n +> .*no project can set it/)
    writeFileSync(join(user, 'kiwi.json'), '{"prot": 1}')
    expect(await kiwi(sick, ['doctor'])).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('kiwi.json'),
    })
    rmSync(join(user, 'kiwi.token'))
    writeFileSync(join(user, 'kiwi.json'), '{}')
    writeFileSync(join(user, 'kiwi.db'), 'this is no database, and long enough to be looked at as one')
    expect(await kiwi(sick, ['doctor'])).toMatchObject({
      code: 6,
      stdout: expect.stringMatching(/fail +store/),
    })
    sick.remove()
  })
})

test('kiwi demo drives the built server with a real client and prints each exchange', async () => {
  const { code, stdout } = await kiwi(place, ['demo'])
  expect(code).toBe(0)
  expect(stdout).toContain('sees 4 tools: search, load, execute, help')
  for (const part of [
    '> search',
    '> load',
    'Hello, Ada!',
    'Created script',
    '{"words":6}',
    'INVALID_PARAMETERS',
  ]) {
    expect(stdout).toContain(part)
  }
  expect(await json('demo')).toMatchObject({ tools: ['search', 'load', 'execute', 'help'] })
})

test('kiwi --version and --help answer', async () => {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  expect((await kiwi(place, ['--version'])).stdout.trim()).toBe(field(manifest, 'version'))
  expect((await kiwi(place, ['--help'])).stdout).toContain('serve')
})

test('a home that cannot be written gives a typed answer, and reading still works', async () => {
  const file = join(place.folder, 'not-a-folder')
  writeFileSync(file, '')
  const blocked = {
    ...place,
    // Where nothing can be made; a file above it would be a policy that cannot be reached.
    env: { ...place.env, KIWI_USER_SPACE: '/proc/kiwi/user', XDG_CACHE_HOME: join(file, 'cache') },
  }
  expect((await kiwi(blocked, ['search', 'hello'])).stdout).toContain('hello_bash')
  expect(await kiwi(blocked, ['run', 'hello_bash'])).toMatchObject({ code: 0, stdout: 'Hello, World!\n' })
  const tool = join(place.folder, 'echoes')
  expect(await kiwi(blocked, ['create', tool, '--id', 'x'])).toMatchObject({
    code: 6,
    stderr: expect.stringContaining('AUDIT_UNAVAILABLE'),
  })
  expect(await kiwi(blocked, ['serve', '--port', '0'])).toMatchObject({
    code: 6,
    stderr: expect.stringContaining('--no-auth'),
  })
})
