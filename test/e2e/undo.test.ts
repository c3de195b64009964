import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Place } from '../fixtures/place.ts'
import { makePlace } from '../fixtures/place.ts'
import { kiwi } from './temp-server.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
  mkdirSync(join(place.project, '.ai'))
})
afterAll(() => place.remove())

const file = (): string => join(place.project, 'a.txt')

async function write(content: string): Promise<string> {
  const { stderr } = await kiwi(place, ['run', 'filesystem.write', 'path=a.txt', `content=${content}`])
  return /^Take it back: kiwi undo (\w+)$/m.exec(stderr)?.[1] ?? ''
}

test('H4: kiwi undo shows what it would do, does it with --yes, and tells how to have it again', async () => {
  writeFileSync(file(), 'first')
  const id = await write('second')
  const shown = await kiwi(place, ['undo', id])
  expect(shown.code).toBe(0)
  expect(shown.stdout).toMatch(
    new RegExp(`^Would undo\\n  ${id}  .*  filesystem.write\\n\\n  restore  ${file()}`),
  )
  expect(shown.stderr).toContain('Nothing was changed. Give --yes to undo')
  expect(readFileSync(file(), 'utf8')).toBe('second')
  const done = await kiwi(place, ['undo', id, '--yes'])
  expect(done.stdout).toMatch(/^1 path put back\n/)
  expect(done.stderr).toMatch(/^Take it back: kiwi undo \w+$/m)
  expect(readFileSync(file(), 'utf8')).toBe('first')
})

test('H4: a conflict is shown with the difference, left, and the exit code says so', async () => {
  writeFileSync(file(), 'one\ntwo\n')
  const id = await write('agent')
  writeFileSync(file(), 'one\nmine\n')
  const { code, stdout } = await kiwi(place, ['undo', id, '--yes'])
  expect(code).toBe(4)
  expect(stdout).toContain('it was changed since')
  expect(stdout).toContain('-two\n+mine')
  expect(readFileSync(file(), 'utf8')).toBe('one\nmine\n')
})

test('X7, H4: a secret that a file holds is not in the difference, and where it stays is no part of it', async () => {
  await kiwi(place, ['secret', 'set', 'UNDO_KEY'], 'kiwi-canary/0123456789')
  writeFileSync(file(), 'KEY=kiwi-canary/0123456789\ntwo\n')
  const id = await write('agent')
  writeFileSync(file(), 'KEY=kiwi-canary/0123456789\nmine\n')
  const { stdout } = await kiwi(place, ['undo', id])
  expect(stdout).toContain(' KEY=[REDACTED:UNDO_KEY]\n-two\n+mine')
  expect(stdout).not.toContain('canary')
})

test('H4: kiwi undo alone lists the newest calls that can be undone, and no line ends in a blank', async () => {
  writeFileSync(file(), 'first')
  const id = await write('second')
  const { code, stdout } = await kiwi(place, ['undo'])
  expect(code).toBe(0)
  const [head, newest] = stdout.split('\n')
  expect(head).toMatch(/^call +time +tool +project$/)
  expect(newest).toMatch(new RegExp(`^${id}  .*  filesystem.write +${place.project}$`))
  expect((await kiwi(place, ['undo', id, '--yes'])).stdout).not.toMatch(/ $/m)
  const listed: { call_id: string }[] = JSON.parse((await kiwi(place, ['undo', '--json'])).stdout)
  expect(listed.map(({ call_id }) => call_id)).not.toContain(id)
})

test.each([[['undo', '--yes']], [['undo', 'a', '--run', 'b']]])(
  'H4: %j is told what to give',
  async (args) => {
    const { code, stderr } = await kiwi(place, args)
    expect(code).toBe(2)
    expect(stderr).toContain('give one call, or --run')
  },
)

test('H4: kiwi undo --run takes the id of a session too', async () => {
  writeFileSync(file(), 'first')
  await write('second')
  const { stdout } = await kiwi(place, ['audit', '--json', '--tool', 'filesystem.write', '--limit', '1'])
  const [, session = ''] = /"agent_session":"([^"]+)"/.exec(stdout) ?? []
  expect((await kiwi(place, ['undo', '--run', session, '--yes'])).code).toBe(0)
  expect(readFileSync(file(), 'utf8')).toBe('first')
})
