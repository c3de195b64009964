import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SEED_HARNESS } from '../../../test/fixtures/seed-harness.ts'
import type { TempPolicy } from '../../../test/fixtures/temp-policy.ts'
import { openTempPolicy } from '../../../test/fixtures/temp-policy.ts'
import type { Demand } from './rule.ts'

let temp: TempPolicy
beforeEach(() => {
  temp = openTempPolicy()
})
afterEach(() => temp.close())

const of = (server: string, tool: string): Demand => ({
  op: 'tool',
  id: `${server}.${tool}`,
  action: 'run',
  of: { server, tool },
})
const path = (op: 'read' | 'write', name: string): Demand => ({ op, path: name, isChosen: true })

describe('programs that run what they are given', () => {
  const npm: Demand = {
    op: 'exec',
    program: '/usr/bin/npm',
    argv: ['npm', 'test'],
    isChosen: true,
    runsCode: true,
  }

  test('a list of programs asks about them, unless children are confined', async () => {
    temp.write('user', 'mode: direct\ninternal_tools: { shell: { allowed_commands: [npm] } }\n')
    expect(await temp.judge(npm)).toMatchObject({ effect: 'ask', rule: 'user/shell.runs_code' })
    temp.write('project', 'mode: direct\nsandbox: { level: fs }\n')
    expect(await temp.judge(npm)).toMatchObject({ effect: 'allow' })
  })

  test('X8: where no program can be held here they ask all the same, unless nothing runs without a sandbox', async () => {
    const bare = openTempPolicy({ canHold: false })
    try {
      bare.write('user', 'mode: direct\ninternal_tools: { shell: { allowed_commands: [npm] } }\n')
      for (const level of ['fs', 'strict']) {
        bare.write('project', `mode: direct\nsandbox: { level: ${level} }\n`)
        expect(await bare.judge(npm)).toMatchObject({ effect: 'ask', rule: 'user/shell.runs_code' })
        bare.write('project', `mode: direct\nsandbox: { level: ${level}, required: true }\n`)
        expect(await bare.judge(npm)).toMatchObject({ effect: 'allow' })
      }
    } finally {
      bare.close()
    }
  })

  test('H6: a command of a line is held to what is said of the tools of git, and to nothing that is left out', async () => {
    const git = { server: 'git', tool: 'push' }
    const push: Demand = { op: 'tool', id: 'git.push', action: 'run', of: git, isCommand: true }
    temp.write('user', SEED_HARNESS)
    expect(await temp.judge(push)).toMatchObject({ effect: 'allow' })
    expect(await temp.judge(of('git', 'push'))).toMatchObject({ effect: 'deny' })
    temp.write('project', 'mode: direct\ngit: { allowed: [status] }\n')
    expect(await temp.judge(push)).toMatchObject({ effect: 'deny', rule: 'project/git.allowed' })
  })

  test('a command that its argv policy is against is not covered by the name of its program', async () => {
    const fault = { reason: '-c runs code', remedy: 'leave -c out' }
    const bad: Demand = {
      op: 'exec',
      program: '/usr/bin/git',
      argv: ['git', '-c', 'x'],
      isChosen: true,
      fault,
    }
    temp.write('user', 'mode: direct\ninternal_tools: { shell: { allowed_commands: [git] } }\n')
    expect(await temp.judge(bad)).toMatchObject({
      effect: 'deny',
      rule: 'user/shell.allowed_commands',
      remedy: 'leave -c out',
      reason: '-c runs code',
    })
    temp.write('user', 'mode: direct\ninternal_tools: { shell: { allowed_commands: [git, "shell:raw"] } }\n')
    expect(await temp.judge(bad)).toMatchObject({
      remedy: 'leave -c out; or send it with raw: true, which a person is asked about',
    })
  })
})

describe('H5: a program in one of its versions', () => {
  test('H5: what is blocked is so in every version of a program', async () => {
    temp.write('user', 'mode: direct\ninternal_tools: { shell: { blocked_commands: [python -c] } }\n')
    for (const name of ['python', 'python3', 'python3.11']) {
      const argv = [name, '-c', '1']
      expect(await temp.judge({ op: 'exec', program: `/usr/bin/${name}`, argv })).toMatchObject({
        effect: 'deny',
      })
    }
  })
})

describe('H5: a program that another one starts', () => {
  const line = (...argv: readonly string[]): Demand => ({
    op: 'exec',
    program: `/usr/bin/${argv[0]}`,
    argv,
    isChosen: true,
  })
  const wrapped = [
    ['env', 'A=1', 'make', 'all'],
    ['timeout', '5', '/usr/bin/make'],
    ['nice', '-n', '5', 'make'],
    ['xargs', 'make'],
    ['flock', 'lock', 'make'],
    ['unshare', '-r', 'make'],
    ['tmux', 'new', '-d', 'make all'],
    ['find', '.', '-exec', 'make', '{}', '+'],
    ['sh', '-c', 'cd a && make'],
  ] as const

  test.each([
    ['internal_tools: { shell: { require_approval: [make] } }', 'ask', 'shell.require_approval/make'],
    ['rules: [{ op: exec, match: { program: make }, effect: deny }]', 'deny', 'rules/1'],
    ['rules: [{ op: exec, match: { program: mak* }, effect: ask }]', 'ask', 'rules/1'],
  ])('H5: %s holds for it too: %s', async (text, effect, rule) => {
    temp.write('user', `mode: direct\n${text}\n`)
    for (const argv of wrapped)
      expect(await temp.judge(line(...argv)), argv.join(' ')).toMatchObject({ effect, rule: `user/${rule}` })
    const raw: Demand = { op: 'exec', program: 'shell:raw', argv: ['shell:raw', 'x=$(make)'] }
    expect(await temp.judge(raw)).toMatchObject({ effect })
    for (const argv of [
      ['env', 'ls'],
      ['ls', 'make'],
      ['timeout', '5', 'cmake'],
    ])
      expect(await temp.judge(line(...argv)), argv.join(' ')).toMatchObject({ effect: 'allow' })
    expect(await temp.judge({ op: 'exec', program: '/usr/bin/env' })).toMatchObject({ effect: 'allow' })
  })

  test('H5: what allows a program allows it by its own name alone', async () => {
    temp.write('user', 'mode: direct\ninternal_tools: { shell: { allowed_commands: [make] } }\n')
    for (const argv of wrapped)
      expect(await temp.judge(line(...argv)), argv.join(' ')).toMatchObject({ effect: 'deny' })
  })

  test('H8: it counts as one of its calls', async () => {
    temp.write('user', 'mode: direct\ninternal_tools: { shell: { rate_limits: { make: 2/minute } } }\n')
    const [limit] = (await temp.policy()).rateLimits
    for (const argv of [['make'], ...wrapped])
      expect(limit?.speaksOf(line(...argv)), argv.join(' ')).toBe(true)
    expect(limit?.speaksOf(line('env', 'ls'))).toBe(false)
  })
})

describe('FS-10: what decides what runs later', () => {
  test.each([
    '.git/hooks/pre-commit',
    '.git/config',
    'package.json',
    'packages/a/package.json',
    '.vscode/tasks.json',
    '.idea/runConfigurations/a.xml',
    '.devcontainer/devcontainer.json',
    '.claude/settings.local.json',
    '.ai/config/argv/git.yaml',
    '.mcp.json',
    '.npmrc',
    '.husky/pre-commit',
  ])('FS-10: a write to %s asks, even inside an allowed path', async (name) => {
    temp.write('user', 'internal_tools: { filesystem: { allowed_paths: ["${PROJECT_PATH}"] } }\n')
    expect(await temp.judge(path('write', join(temp.project, name)))).toMatchObject({
      effect: 'ask',
      layer: 'builtin harness',
    })
    expect(await temp.judge(path('read', join(temp.project, name)))).toMatchObject({ effect: 'allow' })
  })

  test('FS-10: so do keys and start files of the home, and a script that only a shell can read', async () => {
    for (const name of [
      '.ssh/authorized_keys',
      '.gnupg/gpg.conf',
      '.aws/credentials',
      '.gitconfig',
      '.config/systemd/user/a.service',
      '.bashrc',
      '.zshrc',
      '.profile',
    ])
      expect(await temp.judge(path('write', join(temp.folder, name)))).toMatchObject({ effect: 'ask' })
    expect(
      await temp.judge({ op: 'exec', program: 'shell:raw', argv: ['shell:raw', 'a $(b)'] }),
    ).toMatchObject({
      effect: 'ask',
    })
  })

  test('FS-10: items are written without asking, and the harness is not written at all', async () => {
    expect(await temp.judge(path('write', join(temp.project, '.ai/tools/a.yaml')))).toMatchObject({
      effect: 'allow',
    })
    expect(
      await temp.judge(path('write', join(temp.project, '.ai/config/agent_harness.yaml'))),
    ).toMatchObject({ effect: 'deny', rule: 'machine/own-policy' })
  })

  test('FS-10: what only looks like it is written without asking', async () => {
    for (const name of [
      '.claude/commands/a.md',
      'src/settings.json',
      'docs/.gitignore',
      '.github/workflows/a.yaml',
    ])
      expect(await temp.judge(path('write', join(temp.project, name)))).toMatchObject({ effect: 'allow' })
  })
})
