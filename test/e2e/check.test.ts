import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { kiwi } from './temp-server.ts'

let place: Place
let folder: string
beforeAll(() => {
  place = makePlace()
  folder = join(place.project, '.ai/directives')
  mkdirSync(folder, { recursive: true })
})
afterAll(() => place.remove())

const SAMPLES = join(import.meta.dirname, '../fixtures')
const put = (name: string, from: string): string => {
  const path = join(folder, name)
  writeFileSync(path, readFileSync(join(SAMPLES, from)))
  return path
}

test('D1, D10: check says what a directive grants, and each thing that is wrong with its place', async () => {
  const path = put('deploy_feature.md', 'seeds/directives/deploy_feature.md')
  const { code, stdout } = await kiwi(place, ['check', 'deploy_feature'])
  expect(stdout).toContain('deploy_feature 1.0.0 (xml) Deploy a feature branch to staging')
  expect(stdout).toMatch(/ {2}grants +allow exec git, npm, pnpm\n/)
  expect(stdout).toContain(`${path}:57:5: {staging_project_id} is no input of it`)
  expect(stdout).toContain(
    `${path}:33: supabase.get_project is not granted: add <execute resource="mcp" name="supabase" tools="get_project"/> to <permissions>`,
  )
  // That a server is not there is said once, however many of its tools are named.
  expect(stdout.match(/there is no server "supabase"/g)).toHaveLength(1)
  expect(stdout).toContain('there is no server "supabase", which it requires: kiwi add supabase')
  expect(stdout.match(/"validate_schema": there is no such tool/g)).toHaveLength(1)
  expect(code).toBe(3)
})

test('D10: check says which calls of its steps would fail, and which scripts are not there', async () => {
  const path = join(folder, 'steps.md')
  writeFileSync(
    path,
    '<directive name="steps" version="1.0.0"><tools><script name="lost"/></tools>\n<process><step name="s"><call tool="git.diff"/><call tool="nowhere.a"/></step></process></directive>\n',
  )
  const { stdout } = await kiwi(place, ['check', 'steps'])
  expect(stdout).toContain(
    `${path}: step "s" calls "git.diff", which it may not use: add <execute resource="mcp" name="git" tools="diff"/> to <permissions>`,
  )
  expect(stdout).toContain(`${path}: step "s" calls "nowhere.a": there is no server "nowhere"`)
  expect(stdout).toContain(`${path}: <tools> names "lost": there is no such tool here`)
})

test('D9: check says which grants fit nothing that is there', async () => {
  const path = join(folder, 'early.md')
  const rows = [
    '<execute resource="mcp" name="nowhere" tools="a"/>',
    '<execute resource="tool" id="lost,hello_bash,hello_*"/>',
    '<read resource="filesystem" path="srcc/**"/>',
    '<write resource="filesystem" path="later/**"/>',
    '<execute resource="kiwi" action="search,create"/>',
  ]
  writeFileSync(
    path,
    `<directive name="early" version="1.0.0"><metadata><permissions>${rows.join('')}</permissions></metadata><process>x</process></directive>\n`,
  )
  const { stdout } = await kiwi(place, ['check', 'early'])
  const said = stdout.split('\n').filter((line) => line.includes('grants nothing yet'))
  expect(said).toEqual([
    `${path}: "allow tool nowhere.a" grants nothing yet: there is no server "nowhere": kiwi add nowhere`,
    `${path}: "allow tool lost" grants nothing yet: there is no "lost" here`,
    `${path}: "allow read ${join(place.project, 'srcc')}/**" grants nothing yet: there is no "${join(place.project, 'srcc')}"`,
  ])
})

test('D8: check says what is granted and can never be used, and asks a skill for no more than its author did', async () => {
  const path = join(folder, 'keeper/SKILL.md')
  mkdirSync(join(folder, 'keeper'))
  writeFileSync(
    path,
    `---
name: keeper
version: 1.0.0
description: Keeps notes
allowed-tools: Read Bash(git:*) mcp__memory__create
permissions:
  - read: { resource: filesystem, path: 'notes/**' }
  - write: { resource: filesystem, path: 'notes/**' }
  - execute: { resource: shell, commands: [git, npm] }
  - execute: { resource: mcp, name: memory, tools: [create, forget] }
  - execute: { resource: mcp, name: thinking }
---
Keep them.
`,
  )
  const { stdout } = await kiwi(place, ['check', 'keeper'])
  expect(stdout).toContain(
    `${path}: write, npm, memory.forget, thinking.*: granted, and not among "allowed-tools", so that no run can use it`,
  )
  expect(stdout).not.toContain('is not granted')
})

test('D1: check says that there is nothing to follow', async () => {
  const path = join(folder, 'nothing.md')
  writeFileSync(path, '---\nname: nothing\nversion: 1.0.0\ndescription: Does nothing\n---\n')
  const { code, stdout } = await kiwi(place, ['check', 'nothing'])
  expect(stdout).toContain('  grants  nothing: a run of it calls no tool\n')
  expect(stdout).toContain(`${path}:1:1: it has neither steps nor a text: there is nothing to follow`)
  expect(code).toBe(0)
})

test('D1: check reads a file by its path, as JSON where that is asked for', async () => {
  const file = join(SAMPLES, 'directives/front_matter.md')
  const { code, stdout } = await kiwi(place, ['check', file, '--json'])
  expect(JSON.parse(stdout)).toMatchObject({
    name: 'run_migrations',
    dialect: 'yaml',
    can_run: false,
    excess: [],
    unknown_servers: [{ name: 'supabase', required: true }],
    inputs: [{ name: 'project_id', required: true }],
  })
  expect(code).toBe(3)
  const skill = await kiwi(place, ['check', join(SAMPLES, 'directives/pdf-forms')])
  expect(skill).toMatchObject({ code: 0, stdout: expect.stringContaining('pdf-forms 0.0.0 (skill)') })
})

test('D1: what cannot be read is refused with a repair, which --fix writes', async () => {
  const path = put('bare_signs.md', 'directives/container/bare_signs.md')
  const before = readFileSync(path, 'utf8')
  expect(await kiwi(place, ['check', 'bare_signs'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('a bare "&" is not text (line 5, column 31)'),
  })
  expect(readFileSync(path, 'utf8')).toBe(before)
  expect(await kiwi(place, ['check', 'bare_signs', '--fix'])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('line 5'),
  })
  expect(readFileSync(path, 'utf8')).toBe(before.replace('a & b', 'a &amp; b'))
  expect((await kiwi(place, ['check', 'nowhere'])).code).toBe(3)
})

test('D1, L4: of one that was signed --fix says that it is to be signed again, which then runs', async () => {
  const path = join(folder, 'signed.md')
  const line = `<!-- kiwi-mcp:validated:2026-01-28T12:34:56Z:${'0'.repeat(64)} -->`
  const text =
    '<directive name="signed" version="1.0.0"><metadata><description>d</description></metadata>\n<process>a & b</process>\n</directive>\n'
  writeFileSync(path, `${line}\n${text}`)
  expect((await kiwi(place, ['check', '--fix', 'signed'])).stderr).toContain(
    'Its signature was for what it was: kiwi sign signed\n',
  )
  expect((await kiwi(place, ['sign', 'signed'])).code).toBe(0)
  expect((await kiwi(place, ['run', 'signed'])).stdout).toBe('1.\n   a & b\n')
})

test('D5: check says which names for servers cannot be given', async () => {
  const path = join(folder, 'names.md')
  const rows = '<mcp name="a" alias="git"/><mcp name="b" alias="x y"/><mcp name="c" alias="a"/>'
  writeFileSync(path, `<directive name="names" version="1.0.0"><tools>${rows}</tools></directive>\n`)
  const { stdout } = await kiwi(place, ['check', 'names'])
  expect(stdout).toContain(`${path}: alias="git" of "a" is ignored: the name is reserved\n`)
  expect(stdout).toContain(`${path}: alias="x y" of "b" is ignored: use letters, digits, "_" and "-"\n`)
  expect(stdout).toContain(`${path}: alias="a" of "c" is ignored: a server is called so\n`)
})

test('D1: --fix leaves the mode of the file as it is', async () => {
  const path = join(folder, 'private.md')
  const text = '<directive name="private" version="1.0.0">\n<process>a & b</process>\n</directive>\n'
  writeFileSync(path, text, { mode: 0o600 })
  expect((await kiwi(place, ['check', '--fix', path])).code).toBe(0)
  expect(statSync(path).mode % 0o1000).toBe(0o600)
  expect(readFileSync(path, 'utf8')).toBe(text.replace('&', '&amp;'))
})

test.each([
  ['./missing.md', 'there is no such file', 'Name a file that is there, or a directive by its id'],
  ['missing.md', 'there is no such file', 'Name a file that is there, or a directive by its id'],
  ['./.ai', 'it is a folder without a SKILL.md', 'Name a file in it'],
])('D1: check of the path %s says that %s, and what to do', async (path, reason, hint) => {
  const { code, stdout, stderr } = await kiwi(place, ['check', path])
  expect(stderr).toContain(`NOT_FOUND Cannot check "${path}": ${reason}\n  ${hint}\n`)
  expect(stderr).toContain('next: kiwi search --type directive')
  expect([code, stdout]).toEqual([3, ''])
})

test('L1: of several directives of one name check, run and load say how each is named', async () => {
  for (const category of ['a', 'b']) {
    mkdirSync(join(folder, category), { recursive: true })
    writeFileSync(join(folder, category, 'same.md'), '---\nname: same\ndescription: d\n---\nGo.\n')
  }
  for (const args of [
    ['check', 'same'],
    ['run', 'same'],
    ['load', 'same', '--type', 'directive'],
  ]) {
    const { code, stderr } = await kiwi(place, args)
    expect(stderr).toContain('  Write a/same or b/same\n')
    expect(code).toBe(2)
  }
})
