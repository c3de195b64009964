import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SEED_HARNESS } from '../../../test/fixtures/seed-harness.ts'
import type { TempPolicy } from '../../../test/fixtures/temp-policy.ts'
import { openTempPolicy } from '../../../test/fixtures/temp-policy.ts'
import { decide } from './decide.ts'
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
const own: Demand = { op: 'tool', id: 'deploy', action: 'run' }
const starts = (...argv: readonly [string, ...string[]]): Demand => ({
  op: 'exec',
  program: `/usr/bin/${argv[0]}`,
  argv,
  isChosen: true,
})
const path = (op: 'read' | 'write', name: string): Demand => ({ op, path: name, isChosen: true })

describe('H1: every key of the seeds changes a verdict', () => {
  beforeEach(() => temp.write('project', SEED_HARNESS))

  test.each<[string, Demand, string, string | null]>([
    ['a listed server', of('supabase', 'list'), 'allow', null],
    ['a server that is not listed', of('linear', 'list'), 'deny', 'project/mcps.linear'],
    ['a server that is off', of('slack', 'post'), 'deny', 'project/mcps.slack.enabled'],
    [
      'a call that asks',
      of('github', 'merge_pull_request'),
      'ask',
      'project/mcps.github.require_approval/merge_*',
    ],
    ['a call beside it', of('github', 'list_issues'), 'allow', null],
    ['files', of('filesystem', 'read'), 'allow', null],
    [
      'an operation that asks',
      of('filesystem', 'delete'),
      'ask',
      'project/filesystem.require_approval/delete_file',
    ],
    ['the shell', of('shell', 'run'), 'allow', null],
    ['git, which is not listed', of('git', 'status'), 'deny', 'project/git.allowed'],
    ['a tool of a space', own, 'allow', null],
    ['an allowed program', starts('git', 'status'), 'allow', null],
    ['another version of one', starts('python3.11', 'x.py'), 'allow', null],
    ['a program that is not listed', starts('make'), 'deny', 'project/shell.allowed_commands'],
    ['a program that asks', starts('npm', 'test'), 'ask', 'project/shell.require_approval/npm'],
    ['a blocked program', starts('sudo', 'ls'), 'deny', 'project/shell.blocked_commands/sudo'],
    ['a blocked command', starts('rm', '-f', '-r', 'x'), 'deny', 'project/shell.blocked_commands/rm -rf'],
  ])('H1: %s', async (_, demand, effect, rule) => {
    expect(await temp.judge(demand)).toMatchObject({ effect, ...(rule === null ? {} : { rule }) })
  })

  test('H1, FS-01: paths are allowed below, refused elsewhere, and read only where that is said', async () => {
    const inside = join(temp.project, 'src/a.ts')
    expect(await temp.judge(path('write', inside))).toMatchObject({ effect: 'allow' })
    expect(await temp.judge(path('read', join(temp.folder, '.ai/x')))).toMatchObject({ effect: 'allow' })
    expect(await temp.judge(path('read', '/etc/hosts'))).toMatchObject({ effect: 'allow' })
    expect(await temp.judge(path('write', '/etc/hosts'))).toMatchObject({ effect: 'deny' })
    expect(await temp.judge(path('read', '/var/log/x'))).toMatchObject({
      effect: 'deny',
      layer: 'project harness',
      rule: 'project/filesystem.allowed_paths',
      required: 'internal_tools.filesystem.allowed_paths: ["/var/log/x"]',
    })
    expect(await temp.judge(path('write', join(temp.project, 'vendor/x')))).toMatchObject({
      effect: 'deny',
      rule: 'project/filesystem.read_only_paths/${PROJECT_PATH}/vendor',
    })
    expect(await temp.judge(path('read', `${temp.project}-other/x`))).toMatchObject({ effect: 'deny' })
  })

  test('BEN-01: dots in the names of files are nothing to refuse', async () => {
    for (const name of ['src/a.b..c/file.txt', '..hidden'])
      expect(await temp.judge(path('read', join(temp.project, name)))).toMatchObject({ effect: 'allow' })
  })

  test('FS-09: both ends of a move are judged', async () => {
    const inside = path('write', join(temp.project, 'a'))
    const outside = path('write', '/var/a')
    for (const ends of [
      [inside, outside],
      [outside, inside],
    ])
      expect(await temp.judge([of('filesystem', 'move'), ...ends])).toMatchObject({
        effect: 'deny',
        demand: outside,
      })
  })

  test.each(['mcp_linear', 'linear_mcp', 'linear'])(
    'H1, R4: what is said of a server under the name %s is said of linear',
    async (name) => {
      const group = '{ enabled: false, rate_limit: 5/minute, approval_timeout: 7, require_approval: [post] }'
      temp.write('project', `mode: direct\ninternal_tools: { mcps: { ${name}: ${group} } }\n`)
      const off = { effect: 'deny', rule: `project/mcps.${name}.enabled` }
      expect(await temp.judge(of('linear', 'list'))).toMatchObject(off)
      expect(await temp.judge(of('linear_x', 'list'))).toMatchObject({ effect: 'allow' })
      const { rateLimits, approvalTimeoutMs } = await temp.policy()
      expect(rateLimits.map(({ speaksOf }) => speaksOf(of('linear', 'list')))).toEqual([true])
      expect(approvalTimeoutMs(of('linear', 'post'))).toBe(7000)
      temp.write(
        'project',
        `mode: direct\nrules:\n  - { op: tool, match: { server: ${name}, tool: post }, effect: deny }\n`,
      )
      expect(await temp.judge(of('linear', 'post'))).toMatchObject({ effect: 'deny' })
    },
  )

  test('H1: rates, times to answer and the mode are read', async () => {
    const { rateLimits, approvalTimeoutMs, files } = await temp.policy()
    expect(rateLimits).toEqual([
      {
        id: 'project/mcps.supabase/rate_limit',
        file: join(temp.project, '.ai/config/agent_harness.yaml'),
        speaksOf: expect.any(Function),
        per: 'principal',
        count: 100,
        windowMs: 60_000,
      },
    ])
    expect(approvalTimeoutMs(of('github', 'merge'))).toBe(60_000)
    expect(approvalTimeoutMs(of('supabase', 'x'))).toBe(3_600_000)
    expect(approvalTimeoutMs(own)).toBe(3_600_000)
    expect(approvalTimeoutMs({ op: 'net', host: 'a', method: 'GET' })).toBe(3_600_000)
    temp.write(
      'user',
      'internal_tools: { shell: { approval_timeout: 7 }, filesystem: { approval_timeout: 9 } }\n',
    )
    const both = await temp.policy()
    expect(both.approvalTimeoutMs(starts('git'))).toBe(7000)
    expect(both.approvalTimeoutMs(path('write', '/a'))).toBe(9000)
    expect(both.approvalTimeoutMs(path('read', '/a'))).toBe(9000)
    expect(both.approvalTimeoutMs({ op: 'spawn', directive: 'x' })).toBe(3_600_000)
    expect(files.at(-1)).toMatchObject({ mode: 'proxy', allowedMcps: ['kiwi-mcp'] })
  })

  test('H8: a rate may be for one tool, one operation on files, or one program', async () => {
    temp.write(
      'project',
      'mode: direct\ninternal_tools:\n  filesystem: { rate_limits: { write_file: 10/minute } }\n' +
        '  shell: { rate_limits: { git: 5/hour per session } }\n  git: { rate_limits: { push: 1/day } }\n' +
        '  mcps: { github: { rate_limit: 9/second, rate_limits: { merge_*: 2/hour } } }\n',
    )
    const { rateLimits, faults } = await temp.policy()
    expect(faults).toEqual([])
    const speaking = (demand: Demand): readonly string[] =>
      rateLimits
        .filter(({ speaksOf }) => speaksOf(demand))
        .map(({ id, count, per }) => `${id} ${count} ${per}`)
    expect(speaking(of('filesystem', 'write'))).toEqual([
      'project/filesystem/rate_limits/write_file 10 principal',
    ])
    expect(speaking(of('filesystem', 'read'))).toEqual([])
    expect(speaking(starts('git', 'log'))).toEqual(['project/shell/rate_limits/git 5 session'])
    expect(speaking(of('git', 'push'))).toEqual(['project/git/rate_limits/push 1 principal'])
    expect(speaking(of('github', 'merge_x'))).toEqual([
      'project/mcps.github/rate_limit 9 principal',
      'project/mcps.github/rate_limits/merge_* 2 principal',
    ])
    // What a server has is asked by Kiwi itself.
    expect(
      speaking({
        op: 'tool',
        id: 'mcp_github',
        action: 'list',
        of: { server: 'github', tool: 'tools/list' },
      }),
    ).toEqual([])
  })

  test('H1, R41: servers and git may stand at the top, within internal_tools, or in both: both apply', async () => {
    temp.write(
      'project',
      `internal_tools:
  mcps:
    supabase: { rate_limit: 100/minute }
    github: { require_approval: [merge], approval_timeout: 60, rate_limits: { list: 1/hour } }
  git: { allowed: [status], require_approval: [status] }
mcps:
  github: { require_approval: [merge, create], approval_timeout: 3600, rate_limit: 5/hour, rate_limits: { list: 1/hour } }
  toString: { enabled: true }
  slack: { enabled: false }
git: { rate_limit: 9/hour }
`,
    )
    const { rateLimits, approvalTimeoutMs, faults } = await temp.policy()
    expect(faults).toEqual([])
    for (const [demand, effect] of [
      [of('supabase', 'x'), 'allow'],
      [of('toString', 'x'), 'allow'],
      [of('github', 'list'), 'allow'],
      [of('github', 'merge'), 'ask'],
      [of('github', 'create'), 'ask'],
      [of('slack', 'x'), 'deny'],
      [of('linear', 'x'), 'deny'],
      [of('git', 'status'), 'ask'],
      [of('git', 'push'), 'deny'],
    ] as const)
      expect([demand, (await temp.judge(demand)).effect]).toEqual([demand, effect])
    expect(approvalTimeoutMs(of('github', 'merge'))).toBe(60_000)
    expect(rateLimits.map(({ id, count }) => `${id} ${count}`).toSorted()).toEqual([
      'project/git/rate_limit 9',
      'project/mcps.github/rate_limit 5',
      'project/mcps.github/rate_limits/list 1',
      'project/mcps.supabase/rate_limit 100',
    ])
    temp.write('project', 'git: { allowed: [log] }\ninternal_tools: { git: { rate_limit: 1/hour } }\n')
    expect(await temp.judge(of('git', 'log'))).toMatchObject({ effect: 'allow' })
    expect(await temp.judge(of('git', 'status'))).toMatchObject({ effect: 'deny' })
  })

  test('a refusal says who keeps the file and what to write there', async () => {
    const { remedy } = await temp.judge(of('linear', 'list'))
    expect(remedy).toContain('Add internal_tools.mcps.linear: {enabled: true} to ')
    expect(remedy).toContain('.ai/config/agent_harness.yaml: whoever keeps the project keeps it')
  })
})

test('H1: without a project, what lies in one is not listed', async () => {
  temp.write('user', 'internal_tools: { filesystem: { allowed_paths: ["${PROJECT_PATH}", /var] } }\n')
  const { layers } = await temp.policyOf(null)
  expect(decide(layers, [path('read', '/var/x')], {})).toMatchObject({ effect: 'allow' })
  expect(decide(layers, [path('read', join(temp.project, 'x'))], {})).toMatchObject({ effect: 'deny' })
})

test('H1: what a trusted manifest fixes is no matter of the lists, but of what is blocked', async () => {
  temp.write('project', SEED_HARNESS)
  expect(await temp.judge({ op: 'exec', program: '/usr/bin/bash' })).toMatchObject({ effect: 'allow' })
  expect(await temp.judge({ op: 'read', path: '/var/x' })).toMatchObject({ effect: 'allow' })
  expect(await temp.judge({ op: 'exec', program: '/usr/bin/curl' })).toMatchObject({ effect: 'deny' })
})

describe('modes', () => {
  const all = [of('filesystem', 'read'), of('shell', 'run'), of('git', 'status'), of('github', 'x')]
  const effects = async (): Promise<readonly string[]> =>
    Promise.all(all.map(async (demand) => (await temp.judge(demand)).effect))

  test('H1: proxy denies what the file does not list, and is the mode when none is named', async () => {
    temp.write('user', 'mode: proxy\n')
    expect(await effects()).toEqual(['deny', 'deny', 'deny', 'deny'])
    temp.write('user', 'budgets: { tool_calls: 5 }\n')
    expect(await effects()).toEqual(['deny', 'deny', 'deny', 'deny'])
    expect(await temp.judge(own)).toMatchObject({ effect: 'allow' })
  })

  test('H1: hybrid closes the groups it speaks of', async () => {
    temp.write('user', 'mode: hybrid\ninternal_tools: { mcps: { slack: { enabled: true } } }\n')
    expect(await effects()).toEqual(['allow', 'allow', 'allow', 'deny'])
    temp.write('user', 'mode: hybrid\ninternal_tools: { shell: { enabled: false }, filesystem: {} }\n')
    expect(await effects()).toEqual(['allow', 'deny', 'allow', 'allow'])
    expect(await temp.judge(path('read', '/var/x'))).toMatchObject({ effect: 'deny' })
  })

  test('H1: direct denies what is denied; a list of programs still means all others', async () => {
    temp.write('user', 'mode: direct\ninternal_tools: { shell: { allowed_commands: [git] } }\n')
    expect(await effects()).toEqual(['allow', 'allow', 'allow', 'allow'])
    expect(await temp.judge(starts('make'))).toMatchObject({ effect: 'deny' })
    expect(await temp.judge(starts('git'))).toMatchObject({ effect: 'allow' })
    expect(await temp.judge(path('write', '/var/x'))).toMatchObject({ effect: 'allow' })
  })

  test('H10: with the shell off it is refused without any directive', async () => {
    temp.write('user', 'mode: direct\ninternal_tools: { shell: { enabled: false } }\n')
    expect(await temp.judge(of('shell', 'run'))).toMatchObject({ effect: 'deny', rule: 'user/shell.enabled' })
  })

  test('H1, PRM-05: in proxy mode nothing that is chosen is started unless it is listed, without a word on the shell too', async () => {
    temp.write('user', 'mode: proxy\ninternal_tools: { filesystem: {} }\n')
    expect(await temp.judge(starts('make'))).toMatchObject({ effect: 'deny' })
    expect(await temp.judge({ op: 'exec', program: '/usr/bin/bash' })).toMatchObject({ effect: 'allow' })
    temp.write('user', 'mode: hybrid\ninternal_tools: { filesystem: {} }\n')
    expect(await temp.judge(starts('make'))).toMatchObject({ effect: 'allow' })
  })

  test('H10, PRM-05: with the shell off nothing that is chosen is started, in any mode', async () => {
    for (const mode of ['direct', 'hybrid', 'proxy']) {
      temp.write('user', `mode: ${mode}\ninternal_tools: { shell: { enabled: false } }\n`)
      expect(await temp.judge(starts('git'))).toMatchObject({ effect: 'deny', rule: 'user/shell.enabled' })
      expect(await temp.judge({ op: 'exec', program: '/usr/bin/git' })).toMatchObject({ effect: 'allow' })
    }
  })

  test('H1: git operations are allowed by name, here or at the top', async () => {
    for (const [key, text] of [
      ['git', 'git: { allowed: [status] }'],
      ['internal_tools.git', 'internal_tools: { git: { allowed: [status] } }'],
    ] as const) {
      temp.write('user', `mode: direct\n${text}\n`)
      expect(await temp.judge(of('git', 'status'))).toMatchObject({ effect: 'allow' })
      expect(await temp.judge(of('git', 'push'))).toMatchObject({
        effect: 'deny',
        required: `${key}.allowed: ["push"]`,
      })
      expect(await temp.judge(of('github', 'x'))).toMatchObject({ effect: 'allow' })
    }
  })

  test('H1: mcps at the top are those of internal_tools', async () => {
    temp.write('user', 'mode: proxy\nmcps: { github: { require_approval: [merge] } }\n')
    expect(await temp.judge(of('github', 'merge'))).toMatchObject({ effect: 'ask' })
    expect(await temp.judge(of('slack', 'x'))).toMatchObject({ effect: 'deny' })
  })

  test('what asks opens nothing that is not listed', async () => {
    temp.write('user', 'internal_tools: { shell: { allowed_commands: [git], require_approval: [make] } }\n')
    expect(await temp.judge(starts('make'))).toMatchObject({ effect: 'deny' })
  })
})

describe('several files', () => {
  test('H1: a project can only narrow, and so can the machine', async () => {
    temp.write('user', 'mode: direct\ninternal_tools: { shell: { blocked_commands: [curl] } }\n')
    temp.write('project', 'mode: direct\ninternal_tools: { shell: { allowed_commands: [curl, git] } }\n')
    expect(await temp.judge(starts('curl'))).toMatchObject({ effect: 'deny', layer: 'user harness' })
    expect(await temp.judge(starts('make'))).toMatchObject({ effect: 'deny', layer: 'project harness' })
    temp.write('machine', 'mode: direct\ninternal_tools: { shell: { blocked_commands: [git] } }\n')
    expect(await temp.judge(starts('git'))).toMatchObject({ effect: 'deny', layer: 'machine harness' })
  })

  test('H1: of settings the stricter counts', async () => {
    temp.write(
      'user',
      'mode: direct\nsandbox: { level: fs }\nbudgets: { tool_calls: 50 }\nsecrets: redact\nnotify: { desktop: true, webhook: "https://a.example/x", email: a@example.org }\n',
    )
    temp.write(
      'project',
      'mode: direct\nsandbox: { level: off, required: true }\nbudgets: { tool_calls: 90 }\nsecrets: flag\nnotify: { slack: "https://b.example/x" }\n',
    )
    expect(await temp.policy()).toMatchObject({
      sandbox: { level: 'fs', isRequired: true },
      callBudget: 50,
      asksIrreversible: null,
      onSecret: 'redact',
      signatureRequiredBy: null,
      notices: [
        { kind: 'webhook', to: 'https://a.example/x' },
        { kind: 'email', to: 'a@example.org' },
        { kind: 'desktop', to: null },
      ],
    })
    expect((await temp.policy()).files.at(-1)).toMatchObject({ place: 'project', hasIdleNotices: true })
  })

  test('R54: proxy mode requires signatures, and only the machine or the person may do without', async () => {
    temp.write('user', 'require_signature: false\n')
    expect((await temp.policy()).signatureRequiredBy).toBeNull()
    temp.write('project', 'require_signature: false\n')
    expect((await temp.policy()).signatureRequiredBy).toMatch(/project.*requires it$/)
    temp.write('project', 'mode: hybrid\nrequire_signature: true\n')
    expect((await temp.policy()).signatureRequiredBy).toMatch(/project.*requires it$/)
  })

  test('without any file nothing is limited', async () => {
    expect(await temp.policy()).toMatchObject({
      signatureRequiredBy: null,
      sandbox: null,
      callBudget: null,
      asksIrreversible: null,
      onSecret: 'flag',
      rateLimits: [],
      faults: [],
    })
  })
})
