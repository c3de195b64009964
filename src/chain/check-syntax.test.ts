import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sampleFile } from '../../test/fixtures/sample-item.ts'
import { childEnvironment, readEnvironment } from '../config/environment.ts'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import { openSubprocess } from '../primitives/subprocess/subprocess.ts'
import { systemClock } from '../shared/clock.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Checked, SyntaxMeans } from './check-syntax.ts'
import { checkSyntax, isNamed, pinPrograms } from './check-syntax.ts'
import type { SyntaxCheck } from './rules.ts'

let root: string
let subprocess: Subprocess
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'kiwi-check-test-'))
  subprocess = openSubprocess({ clock: systemClock })
})
afterAll(async () => {
  await subprocess.close()
  rmSync(root, { recursive: true, force: true })
})

const meansOf = (more: Partial<SyntaxMeans> = {}): SyntaxMeans => ({
  subprocess,
  childEnvironment: childEnvironment(readEnvironment()),
  clock: systemClock,
  folder: join(root, 'checks'),
  deadlineMs: 60_000,
  ...more,
})
const ruleOf = (code: string): SyntaxCheck => ({
  type: 'syntax_check',
  tool: 'a_runtime',
  command: ['sh', '-c', code],
  files: '*.txt',
})
const check = (code: string, files: number, means = meansOf()): Promise<Checked> =>
  checkSyntax(
    pinPrograms([ruleOf(code)], means),
    {
      entrypoint: 'last.txt',
      files: [
        ...Array.from({ length: files - 1 }, (_, at) => sampleFile(`${at}.txt`, '')),
        sampleFile('last.txt', ''),
      ],
      callId: 'call-1',
    },
    means,
  )

test('C8: all checks together have one deadline, and what they did not come to is a finding', async () => {
  const { findings, isLasting } = await check('sleep 0.2', 8, meansOf({ deadlineMs: 300 }))
  expect(findings.length).toBeGreaterThan(0)
  expect(findings.at(-1)?.reason).toMatch(/not checked: all checks together took longer than 0.3 s/)
  expect(isLasting).toBe(false)
})

test('C8: a rule looks at so many files, what is started first among them, and says that there are more', async () => {
  const seen = join(root, 'seen')
  mkdirSync(seen)
  const { findings, warnings } = await check(`touch ${seen}/$(basename "$0")`, LIMITS.checkedFiles + 5)
  expect(findings).toEqual([])
  expect(warnings).toEqual([expect.stringContaining(`looked at ${LIMITS.checkedFiles} of`)])
  expect(readdirSync(seen)).toHaveLength(LIMITS.checkedFiles)
  expect(readdirSync(seen)).toContain('last.txt')
}, 60_000)

test('C8: what a killed process left is dropped, and what is in use stays', async () => {
  const { folder } = meansOf()
  for (const name of ['check-old', 'check-new']) mkdirSync(join(folder, name, 'files'), { recursive: true })
  const yesterday = Date.now() / 1000 - 86_400
  utimesSync(join(folder, 'check-old'), yesterday, yesterday)
  await check('true', 1)
  expect(readdirSync(folder)).toEqual(['check-new'])
})

test('C8: the program that was found at the decision is the one that is started', async () => {
  const means = meansOf()
  const pinned = pinPrograms([ruleOf('exit 3')], means)
  const without = meansOf({ childEnvironment: { PATH: '/nowhere' } })
  const item = { entrypoint: 'a.txt', files: [sampleFile('a.txt', '')], callId: 'call-1' }
  expect(await checkSyntax(pinned, item, without)).toMatchObject({
    findings: [{ path: 'a.txt' }],
    warnings: [],
  })
})

test.each([
  ['main.py', '*.py', true],
  ['main.py', 'main.py', true],
  ['main.pyc', '*.py', false],
  ['a.test.py', '*.test.*', true],
  ['ab', 'a*b', true],
  ['a', 'a*a', false],
  ['aXbXc', 'a*b*c', true],
  ['aXcXb', 'a*b*c', false],
  ['lib/a.py', 'lib/*.py', true],
  ['anything', '*', true],
])('"%s" is named by "%s": %s', (name, glob, expected) => {
  expect(isNamed(name, glob)).toBe(expected)
})
