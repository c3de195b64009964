import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { kiwi } from './temp-server.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
  const folder = join(place.env['KIWI_USER_SPACE'] ?? '', 'directives')
  mkdirSync(folder, { recursive: true })
  const put = (id: string, permissions: string): void =>
    writeFileSync(
      join(folder, `${id}.md`),
      `<directive name="${id}" version="1.0.0">\n<metadata><description>${id}</description><permissions>${permissions}</permissions></metadata>\n<process>Do ${id}</process>\n</directive>\n`,
    )
  put('tidy', '<execute><directive>note</directive></execute><write resource="filesystem" path="**/*"/>')
  put('note', '<write resource="filesystem" path="notes/**"/>')
  put('lonely', '<execute resource="mcp" name="nowhere"/>')
})
afterAll(() => place.remove())

const begin = async (id: string, ...more: readonly string[]): Promise<string> => {
  const { code, stderr } = await kiwi(place, ['run', id, ...more])
  expect(code).toBe(0)
  return /run (\w{26})/.exec(stderr)?.[1] ?? ''
}
const write = (run: string, file: string) =>
  kiwi(place, ['run', 'filesystem.write', `path=${join(place.project, file)}`, 'content=x', '--run', run])

test('D3: a person who begins a run is told which servers it has to do without', async () => {
  expect(await kiwi(place, ['run', 'lonely'])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('note: "nowhere" cannot be used: no server "nowhere" was added here\n'),
  })
})

test('D13: a directive that is too large for one answer is shown whole to a person', async () => {
  const steps = Array.from({ length: 3000 }, (_, at) => `<step name="s${at}">Straße ${at}</step>`)
  writeFileSync(
    join(place.env['KIWI_USER_SPACE'] ?? '', 'directives', 'long.md'),
    `<directive name="long" version="1.0.0">\n<metadata><description>long</description></metadata>\n<process>${steps.join('\n')}</process>\n</directive>\n`,
  )
  const { code, stdout } = await kiwi(place, ['run', 'long'])
  expect(code).toBe(0)
  expect(stdout.split('\n')).toHaveLength(2 * steps.length + 1)
  expect(stdout).toMatch(/^1\. s0\n {3}Straße 0\n[^]*\n3000\. s2999\n {3}Straße 2999\n$/)
})

test('D13, H11: a run that was begun from the command line is ended there', async () => {
  const run = await begin('note')
  expect(await kiwi(place, ['finish', run])).toMatchObject({ code: 0, stdout: `The run ${run} is over\n` })
  expect((await kiwi(place, ['finish', run])).stderr).toContain('it is over')
})

test('T10: --version behind a command is refused with what is meant, and not answered with that of Kiwi', async () => {
  expect(await kiwi(place, ['publish', 'note', '--version', '1.2.0'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining("unknown option '--version'"),
  })
})

// Ten commands, each a process of its own.
test('D9, H11: a run is begun, called, read with its child and undone from the command line', async () => {
  const shown = await kiwi(place, ['run', 'note', '--type', 'directive'])
  expect(shown).toMatchObject({
    code: 0,
    stdout: '1.\n   Do note\n',
    stderr: expect.stringMatching(
      /^run (\w{26}): calls of it are made with --run \1; kiwi finish \1 ends it\n {2}allow write \//,
    ),
  })
  const parent = await begin('tidy')
  const child = await begin('note', '--run', parent)
  expect((await write(parent, 'list.txt')).code).toBe(0)
  expect((await write(child, 'notes/a.txt')).code).toBe(0)
  expect(await write(child, 'other.txt')).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('layer "directive note" has no rule for it'),
  })
  const { stdout } = await kiwi(place, ['audit', '--run', parent])
  const lines = stdout.split('\n')
  expect(lines.findIndex((line) => line.includes('filesystem.write'))).toBeGreaterThan(0)
  const below = lines.findIndex((line) => line.startsWith(`  ${child}`))
  expect(lines.findIndex((line) => line.includes('tidy') && line.includes('execute.run'))).toBe(2)
  expect(below).toBeGreaterThan(lines.findIndex((line) => line.includes(parent)))
  expect(lines.slice(below).filter((line) => line.includes('deny'))).toHaveLength(1)
  const all = await kiwi(place, ['audit', '--run', parent, '--json'])
  const calls = all.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  expect(calls.at(-1)).toMatchObject({ tool: 'tidy', kind: 'decision' })
  expect(calls.at(-2)).toMatchObject({ tool: 'tidy', kind: 'outcome', run_id: parent })
  const cut = await kiwi(place, ['audit', '--run', parent, '--limit', '1'])
  expect(cut.stderr).toContain('There are more records before these')
  expect(all.stderr).toBe('')
  expect((await kiwi(place, ['undo', '--run', child, '--yes'])).code).toBe(0)
  expect(existsSync(join(place.project, 'notes/a.txt'))).toBe(false)
  expect(existsSync(join(place.project, 'list.txt'))).toBe(true)
}, 60_000)
