import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BUILTIN } from '../../../test/fixtures/sample-item.ts'
import type { LoadedPolicies } from './argv-policies.ts'
import { openArgvPolicies } from './argv-policies.ts'
import { judgeArgv } from './judge-argv.ts'

const SHIPPED = `${BUILTIN}/config/argv`

async function loadWith(files: Readonly<Record<string, string>>): Promise<LoadedPolicies> {
  const folder = mkdtempSync(join(tmpdir(), 'kiwi-argv-'))
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    return await openArgvPolicies(SHIPPED, folder)()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('H5: every shipped policy keeps its own examples', async () => {
  const { policies, broken } = await openArgvPolicies(SHIPPED)()
  expect([...broken]).toEqual([])
  expect(policies.size).toBeGreaterThan(10)
})

test('H5: a policy whose example fails is not used, and the example is named', async () => {
  const { policies, broken } = await loadWith({
    'tool.yaml': 'program: tool\nrefuse_options: [-x]\nexamples: {match: [[tool, -ax]], not_match: []}\n',
    'other.yaml': 'program: other\nexamples: {match: [[other]], not_match: [[other, -x]]}\n',
  })
  expect(broken.get('tool')).toContain('its example ["tool","-ax"] is refused')
  expect(broken.get('other')).toContain('its example ["other","-x"] is let pass')
  expect(policies.has('tool')).toBe(false)
})

test('H5: a policy that cannot be read makes its program unavailable, and says what is wrong', async () => {
  const { broken } = await loadWith({ 'a.yaml': ': [', 'b.yaml': 'program: b\nrefuse: [-x]\n' })
  expect(broken.get('a')).toMatch(/a\.yaml/)
  expect(broken.get('b')).toMatch(/b\.yaml:1:1: "examples" is missing; :2:1: it has no key "refuse"/)
})

test('H5: whatever such a file is called, what it speaks of is not started', async () => {
  const { broken } = await loadWith({
    'for-work.yaml':
      'program: git\nsubcommands: {status: {}}\nexamples: {match: [[git, log]], not_match: []}\n',
    'snakes.yaml': 'program: python\nalso:\n  - python3\n  - "pypy"\nunknown: 1\n',
    'half.yaml': 'program: npm\nalso: [npx, pnpm]\nexamples: {match: [[\n',
    'curl.yml': 'program: wget\nexamples: {match: [[wget]], not_match: []}\n',
  })
  expect([...broken.keys()].toSorted()).toEqual([
    'curl',
    'for-work',
    'git',
    'half',
    'npm',
    'npx',
    'pnpm',
    'pypy',
    'python',
    'python3',
    'snakes',
    'wget',
  ])
  expect(broken.get('git')).toMatch(/for-work\.yaml:3:\d+: its example \["git","log"\] is refused/)
  expect(broken.get('wget')).toMatch(/curl\.yml: it is not read: call it \.yaml/)
})

test('H5: a folder that cannot be looked into lets nothing pass', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kiwi-argv-'))
  try {
    writeFileSync(join(folder, 'file'), '')
    await expect(openArgvPolicies(SHIPPED, join(folder, 'file'))()).rejects.toMatchObject({
      code: 'POLICY_ERROR',
    })
    expect((await openArgvPolicies(SHIPPED, join(folder, 'none'))()).broken.size).toBe(0)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('H5: a user adds a program and narrows a shipped one, and cannot widen it', async () => {
  const { policies } = await loadWith({
    'git.yaml':
      'program: git\nsubcommands: {status: {}, stash: {}}\nexamples: {match: [[git, status]], not_match: [[git, log]]}\n',
    'mine.yaml': 'program: mine\nread_only: true\nexamples: {match: [[mine]], not_match: []}\n',
  })
  const git = policies.get('git') ?? []
  const judged = (argv: readonly string[]) => judgeArgv(policies.get(argv[0] ?? '') ?? [], argv)
  expect(judged(['git', 'status']).fault).toBeNull()
  expect(judged(['git', 'log']).fault?.reason).toContain('"log"')
  expect(judged(['git', 'stash']).fault?.reason).toContain('"stash"')
  expect(judged(['mine'])).toMatchObject({ fault: null, isReadOnly: true })
  expect(judgeArgv(git, ['git', 'status']).args).toContain('core.fsmonitor=false')
})
