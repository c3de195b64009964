import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TempPolicy } from '../../../test/fixtures/temp-policy.ts'
import { layerMeans, openTempPolicy } from '../../../test/fixtures/temp-policy.ts'
import { openPolicy } from './open-policy.ts'
import { policyFaultText } from './policy-fault.ts'
import type { Demand } from './rule.ts'

let temp: TempPolicy
beforeEach(() => {
  temp = openTempPolicy()
})
afterEach(() => temp.close())

const faults = async (text: string): Promise<readonly string[]> => {
  temp.write('project', text)
  const found = (await temp.policy()).faults
  return found.map(({ line, column, reason }) => `${line}:${column} ${reason}`)
}

describe('H1: what could never match, or says two things at once, is refused with its place', () => {
  test.each<[string, RegExp]>([
    ['internal_tools:\n  shell:\n    rate_limit: 100/week\n', /^3:5 "100\/week" is no rate/],
    ['git:\n  rate_limits: { push: 1/week }\n', /^2:18 "1\/week" is no rate/],
    [
      'internal_tools:\n  filesystem:\n    rate_limits: { fly: 1/day }\n',
      /^3:20 "fly" is no operation on files/,
    ],
    [
      'internal_tools:\n  filesystem:\n    enabled: false\n    allowed_paths: [/a]\n',
      /^4:5 "allowed_paths" lists what "enabled: false" takes away/,
    ],
    [
      'internal_tools: { shell: { enabled: false, allowed_commands: [ls] } }\n',
      /^1:44 "allowed_commands" lists what/,
    ],
    ['git:\n  enabled: false\n  allowed: [log]\n', /^3:3 "allowed" lists what/],
    [
      'internal_tools:\n  shell:\n    allowed_commands: [git, bin/x]\n',
      /^3:29 "bin\/x" is a path that is not absolute/,
    ],
    ['internal_tools:\n  shell:\n    allowed_commands: ["git log"]\n', /^3:24 .*more than the name/],
    ['internal_tools:\n  shell:\n    blocked_commands: [" "]\n', /^3:24 .*is empty/],
    [
      'internal_tools:\n  shell:\n    allowed_commands: [git]\n    blocked_commands: [git]\n',
      /^3:24 "git" is in blocked_commands too/,
    ],
    ['internal_tools:\n  filesystem:\n    allowed_paths: [../x]\n', /^3:21 .*can never match/],
    ['internal_tools:\n  filesystem:\n    allowed_paths: ["${HOME}/x"]\n', /^3:21 .*only \$\{PROJECT_PATH\}/],
    ['internal_tools:\n  filesystem:\n    read_only_paths: ["~other/x"]\n', /^3:23 .*another person/],
    ['internal_tools:\n  filesystem:\n    read_only_paths: ["/a/{b,c}"]\n', /^3:23 .*brackets/],
    ['internal_tools:\n  filesystem:\n    require_approval: [fly]\n', /^3:24 "fly" is no operation on files/],
    ['internal_tools:\n  mcps:\n    filesystem: {}\n', /^3:5 .*group of its own/],
    ['mcps:\n  a.b: {}\n', /^2:3 .*holds a dot/],
    ['mcps:\n  "g*": {}\n', /^2:3 .*is a pattern/],
    ['mcps:\n  kiwi: {}\n', /^2:3 .*reserved/],
    [
      'mcps: { a: { rate_limit: 1/hour } }\ninternal_tools: { mcps: { a: { rate_limit: 2/hour } } }\n',
      /^1:14 "rate_limit" stands here and in internal_tools, with another value: keep one/,
    ],
    [
      'mcps: { a: { rate_limits: { x: 1/hour } } }\ninternal_tools: { mcps: { a: { rate_limits: { x: 2/hour } } } }\n',
      /^1:29 "x" stands here and in internal_tools/,
    ],
    [
      'git: { allowed: [log] }\ninternal_tools: { git: { allowed: [log, diff] } }\n',
      /^1:8 "allowed" stands here/,
    ],
    ['mcps: { a: {} }\ninternal_tools: { mcps: { "b*": {} } }\n', /^2:27 "b\*" is a pattern/],
    [
      'git: { enabled: false }\ninternal_tools: { git: { allowed: [log] } }\n',
      /^2:26 "allowed" lists what "enabled: false" takes away/,
    ],
    ['git: { require_approval: [push, "pu sh"] }\n', /^1:\d+ "pu sh" holds " ", which no name has/],
    ['mcps: { "a b": { enabled: false } }\n', /can never match/],
    ['mcps: { a: { require_approval: ["x:y"] } }\n', /holds ":"/],
    ['rules:\n  - { op: tool, match: { tool: "a@1" }, effect: deny }\n', /^2:\d+ "a@1" holds "@"/],
    ['rules:\n  - { op: tool, match: { server: "a b" }, effect: deny }\n', /can never match/],
    ['rules:\n  - { op: spawn, match: { directive: "déploy" }, effect: deny }\n', /holds "é"/],
    ['git: { allowed: ["(x)"] }\n', /^1:18 .*brackets/],
    ['rules:\n  - { op: tool, match: { server: a.b }, effect: deny }\n', /^2:26 .*holds a dot/],
    [
      'rules:\n  - { op: tool, match: { tool: x, actions: [fly] }, effect: deny }\n',
      /^2:35 "fly" is no action/,
    ],
    ['rules:\n  - { op: exec, match: { program: a, command: b }, effect: deny }\n', /^2:17 it has both/],
    ['rules:\n  - { op: exec, match: { command: " " }, effect: deny }\n', /is empty/],
    [
      'rules:\n  - { op: exec, match: { command: "a && b" }, effect: deny }\n',
      /^2:26 "a && b" holds &, .*never match/,
    ],
    [
      'rules:\n  - { op: exec, match: { command: "npm run t*" }, effect: allow }\n',
      /^2:26 .*no \* alone at its end/,
    ],
    ['rules:\n  - { op: exec, match: { command: "bin/x *" }, effect: allow }\n', /^2:26 .*not absolute/],
    ['internal_tools:\n  shell:\n    blocked_commands: [curl, "curl | sh"]\n', /^3:30 "curl \| sh" holds \|/],
    ['internal_tools:\n  shell:\n    blocked_commands: ["echo \'x\'"]\n', /^3:24 .*holds '/],
    ['internal_tools:\n  shell:\n    blocked_commands: ["/opt/*"]\n', /^3:24 .*path with a pattern/],
    ['internal_tools:\n  shell:\n    allowed_commands: ["/opt/*"]\n', /^3:24 .*path with a pattern/],
    ['internal_tools:\n  shell:\n    blocked_commands: ["./x{a,b}"]\n', /^3:24 .*brackets/],
    [
      'rules:\n  - { op: net, match: { host: "https://a/b" }, effect: deny }\n',
      /^2:25 .*leave scheme and path out/,
    ],
    ['rules:\n  - { op: net, match: { host: "[a]" }, effect: deny }\n', /brackets/],
    ['rules:\n  - { op: net, match: { host: "a.org:443" }, effect: deny }\n', /^2:25 .*leave ":443" out/],
    ['rules:\n  - { op: net, match: { host: "*.a.org:80" }, effect: allow }\n', /leave ":80" out/],
    ['rules:\n  - { op: net, match: { host: "a.org:70000" }, effect: deny }\n', /no port/],
    [
      'rules:\n  - { op: tool, match: { server: filesystem, tool: raed }, effect: deny }\n',
      /^2:\d+ "raed" is no operation on files/,
    ],
    [
      'rules:\n  - { op: tool, match: { tool: filesystem.raed }, effect: deny }\n',
      /^2:\d+ "filesystem.raed" is no operation on files/,
    ],
    [
      'rules:\n  - { op: tool, match: { server: shell, tool: exec }, effect: deny }\n',
      /"exec" is none of the shell: run/,
    ],
    [
      'internal_tools:\n  filesystem:\n    allowed_paths: [src, lib]\n    read_only_paths: [./lib]\n',
      /^4:23 "\.\/lib" is in allowed_paths too/,
    ],
    ['notify: { webhook: "ftp://a" }\n', /^1:11 "notify.webhook" is no https address/],
    ['notify: { email: ada }\n', /^1:11 "notify.email" is no mail address/],
    ['rules:\n  - { op: net, match: { method: "G T" }, effect: deny }\n', /is no method/],
    ['rules:\n  - { op: write, match: { path: a/../b }, effect: deny }\n', /can never match/],
    ['rules:\n  - { op: spawn, match: { directive: "!x" }, effect: deny }\n', /"!"/],
    [
      'rules:\n  - { op: tool, effect: deny }\n  - { op: tool, effect: allow }\n',
      /^3:5 it says allow where another rule .* says deny/,
    ],
    ['rules:\n  - { op: tool, effect: deny, when: { type: nonsense } }\n', /^2:31 Cannot use the condition/],
  ])('H1: %j', async (text, fault) => {
    const found = await faults(text)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(fault)
  })

  test('a pattern is a name of operations too', async () => {
    expect(await faults('internal_tools: { filesystem: { require_approval: ["*"] } }\n')).toEqual([])
  })

  test('the same said twice is no contradiction', async () => {
    expect(await faults('rules:\n  - { op: tool, effect: deny }\n  - { op: tool, effect: deny }\n')).toEqual(
      [],
    )
  })
})

describe('examples are the tests of a rule', () => {
  test.each<[string, readonly RegExp[]]>([
    [
      '{ op: exec, match: { command: rm -rf }, effect: deny, examples: { match: [rm -fr x, [rm, -r, -f, x]], not_match: [rm x] } }',
      [],
    ],
    [
      '{ op: exec, match: { command: rm -rf }, effect: deny, examples: { match: [rm x], not_match: [rm -rf x] } }',
      [/"rm x" does not match/, /"rm -rf x" matches/],
    ],
    [
      '{ op: exec, match: { command: "npm run *" }, effect: allow, examples: { match: [npm run x], not_match: [npm x] } }',
      [],
    ],
    ['{ op: exec, effect: deny, examples: { match: [7, [1]] } }', [/7 is no exec/, /\[1\] is no exec/]],
    [
      '{ op: tool, match: { server: github, tool: merge_* }, effect: ask, examples: { match: [github.merge_x], not_match: [github.list, merge_x] } }',
      [],
    ],
    [
      '{ op: tool, match: { tool: a, actions: delete }, effect: ask, examples: { match: [a delete], not_match: [a] } }',
      [],
    ],
    [
      '{ op: tool, effect: deny, when: { properties: { env: { const: prod } }, required: [env] }, examples: { match: [{ of: a, parameters: { env: prod } }], not_match: [a] } }',
      [],
    ],
    [
      '{ op: tool, effect: deny, examples: { match: [{ of: a, parameters: 7 }, 8] } }',
      [/is no tool/, /8 is no tool/],
    ],
    [
      '{ op: net, match: { host: "*.a.org", method: post }, effect: deny, examples: { match: [POST x.a.org], not_match: [x.a.org, POST a.org] } }',
      [],
    ],
    [
      '{ op: write, match: { path: src/** }, effect: deny, examples: { match: [src/a], not_match: [lib/a, "${PROJECT_PATH}/b"] } }',
      [],
    ],
    ['{ op: read, effect: deny, examples: { match: ["src/*"] } }', [/is no read/]],
    [
      '{ op: spawn, match: { directive: deploy* }, effect: deny, examples: { match: [deploy_x], not_match: [x] } }',
      [],
    ],
  ])('H1: %s', async (rule, wanted) => {
    const found = await faults(`mode: direct\nrules:\n  - ${rule}\n`)
    expect(found).toHaveLength(wanted.length)
    for (const [at, fault] of wanted.entries()) expect(found[at]).toMatch(fault)
  })

  test('without a project nothing is said of what lies in one', async () => {
    temp.write(
      'user',
      'mode: direct\nrules:\n  - { op: write, match: { path: src/** }, effect: deny, examples: { match: [src/a] } }\n',
    )
    expect((await temp.policyOf(null)).faults).toEqual([])
  })
})

test.each<[string, RegExp]>([
  ['{ propertys: { a: { const: 1 } } }', /^2:\d+ "propertys" is no keyword of JSON Schema: "properties" is/],
  [
    '{ stage: production }',
    /"stage" is no keyword of JSON Schema: what is asked of an argument stands below/,
  ],
  ['{ properties: { a: { cosnt: 1 } } }', /"cosnt" is no keyword/],
  ['{ anyOf: [{ required: [a] }, { requires: [b] }] }', /"requires" is no keyword/],
  ['{ $defs: { x: { tpye: string } } }', /"tpye" is no keyword/],
  [
    '{ minimum: 3 }',
    /"minimum" says nothing of all arguments together: what is asked of an argument stands below "properties"/,
  ],
  ['{ required: [a], pattern: "^staging" }', /"pattern" says nothing of all arguments together/],
  ['{ type: string }', /no arguments can meet it, so it can never match/],
  ['{ not: {} }', /can never match/],
  ['{ not: true }', /can never match/],
  ['{ allOf: [{ required: [a] }, false] }', /can never match/],
  ['{ anyOf: [false, { const: 1, type: string }] }', /can never match/],
  ['{ oneOf: [{ enum: [null, [1]], type: [boolean, number] }] }', /can never match/],
  ['{ required: [a], properties: { a: false } }', /can never match/],
  ['{ required: [a], properties: { a: { const: x, type: integer } } }', /can never match/],
])('H1: the condition %s is a fault where it stands', async (when, fault) => {
  const text = `rules:\n  - { op: tool, match: { tool: x }, when: ${when}, effect: allow }\n`
  expect(await faults(text)).toMatchObject([expect.stringMatching(fault)])
})

test.each([
  '{ required: [a], properties: { a: { const: 1, type: number }, b: false } }',
  '{ properties: { type: { enum: [x, 1.5, 2], type: [string, integer] }, const: { type: object } } }',
  '{ const: { stage: 1 } }',
  '{ dependentRequired: { stage: [b] }, additionalProperties: true }',
  '{ not: { required: [a] }, anyOf: [false, true] }',
])('H1: the condition %s is none', async (when) => {
  expect(
    await faults(`rules:\n  - { op: tool, match: { tool: x }, when: ${when}, effect: allow }\n`),
  ).toEqual([])
})

test('PRM-12, H1: a file with a fault counts for nothing but the refusal, which names file, line and column', async () => {
  temp.write('user', 'mode: direct\nrules: [7]\n')
  const { faults: found, layers } = await temp.policy()
  expect(found.map(policyFaultText)).toEqual([
    expect.stringMatching(/^\/.*user\/config\/agent_harness\.yaml:2:9: "rules\.0" must be an object$/),
  ])
  expect(layers.map(({ name }) => name)).toEqual(['machine', 'builtin harness'])
})

test('a file is read once, and again when it changed', async () => {
  temp.write('project', 'mode: direct\n')
  await temp.policy()
  expect(temp.policyOf(temp.project)).not.toBeInstanceOf(Promise)
  temp.write('project', 'mode: direct\ninternal_tools: { shell: { enabled: false } }\n')
  const shell: Demand = { op: 'tool', id: 'shell.run', action: 'run', of: { server: 'shell', tool: 'run' } }
  expect(await temp.judge(shell)).toMatchObject({ effect: 'deny' })
})

test('a fault of something else is no policy, and is tried again', async () => {
  temp.write('user', 'mode: direct\ninternal_tools: { shell: { blocked_commands: [x] } }\n')
  let isBroken = true
  const policyOf = openPolicy({
    ...layerMeans(),
    argvPolicies: () =>
      isBroken ? Promise.reject(new Error('no disk')) : Promise.resolve({ policies: new Map() }),
    canHold: () => Promise.resolve(true),
    home: temp.folder,
    places: { builtinFolder: temp.folder, machineHarness: '/nowhere', userSpace: join(temp.folder, 'user') },
    own: { neverWritten: [], neverRead: [], programs: [] },
  })
  await expect(policyOf(null)).rejects.toThrow('no disk')
  isBroken = false
  expect(await policyOf(null)).toMatchObject({ faults: [] })
})

test('many projects are forgotten again', async () => {
  for (let at = 0; at < 205; at++) await temp.policyOf(join(temp.folder, `p${at}`))
  expect(temp.policyOf(join(temp.folder, 'p0'))).toBeInstanceOf(Promise)
})

describe('H1: a rule speaks of a tool however it is called', () => {
  const tool = (server: string, name: string): Demand => ({
    op: 'tool',
    id: `${server}.${name}`,
    action: 'run',
    of: { server, tool: name },
  })

  test.each([
    ['{ server: filesystem, tool: write_file }', tool('filesystem', 'write')],
    ['{ tool: filesystem.write }', tool('filesystem', 'write')],
    ['{ tool: filesystem.write_file }', tool('filesystem', 'write')],
    ['{ server: filesystem, tool: filesystem.write_file }', tool('filesystem', 'write')],
    ['{ tool: github.merge }', tool('github', 'merge')],
    ['{ tool: "github.*" }', tool('github', 'merge')],
    ['{ tool: mcp_github.merge }', tool('github', 'merge')],
    ['{ server: github, tool: github.merge }', tool('github', 'merge')],
    ['{ tool: merge }', tool('github', 'merge')],
    ['{ server: "*", tool: git.push }', tool('git', 'push')],
  ])('H1: %s is denied', async (match, demand) => {
    temp.write('user', `mode: direct\nrules:\n  - { op: tool, match: ${match}, effect: deny }\n`)
    expect(await temp.judge(demand)).toMatchObject({ effect: 'deny', rule: 'user/rules/1' })
    expect(await temp.judge(tool('slack', 'post'))).toMatchObject({ effect: 'allow' })
  })

  test('H1: a pattern without a dot speaks of names at the server alone', async () => {
    temp.write('user', 'mode: direct\nrules:\n  - { op: tool, match: { tool: git* }, effect: deny }\n')
    expect(await temp.judge(tool('github', 'merge'))).toMatchObject({ effect: 'allow' })
  })
})

describe('rules of a file', () => {
  const merge: Demand = { op: 'tool', id: 'm', action: 'run', of: { server: 'github', tool: 'merge' } }
  const STAGING = 'when: { required: [env], properties: { env: { const: staging } } }'

  test('H1: a condition over the arguments decides', async () => {
    temp.write(
      'user',
      `mode: direct\nrules:\n  - { op: tool, match: { server: github, tool: merge }, ${STAGING}, effect: deny }\n`,
    )
    expect(await temp.judge(merge, { env: 'staging' })).toMatchObject({
      effect: 'deny',
      rule: 'user/rules/1',
    })
    expect(await temp.judge(merge, { env: 'prod' })).toMatchObject({ effect: 'allow' })
  })

  test('H1: in proxy mode a rule lists what it allows or asks about, and only under its condition', async () => {
    temp.write(
      'user',
      `rules:\n  - { op: tool, match: { server: github, tool: merge }, ${STAGING}, effect: ask }\n  - { op: exec, effect: allow }\n`,
    )
    expect(await temp.judge(merge, { env: 'staging' })).toMatchObject({ effect: 'ask' })
    expect(await temp.judge(merge, {})).toMatchObject({ effect: 'deny' })
  })

  test('what a condition fills in does not reach the call', async () => {
    temp.write(
      'user',
      'mode: direct\nrules:\n  - { op: tool, when: { properties: { a: { default: 1 } } }, effect: allow }\n',
    )
    const parameters = {}
    await temp.judge(merge, parameters)
    expect(parameters).toEqual({})
  })

  test.each<[string, Demand]>([
    ['op: tool', merge],
    ['op: exec', { op: 'exec', program: '/bin/x' }],
    ['op: net', { op: 'net', host: 'a', method: 'GET' }],
    ['op: read', { op: 'read', path: '/a' }],
    ['op: spawn', { op: 'spawn', directive: 'x' }],
    ['op: spawn, match: { directive: x }', { op: 'spawn', directive: 'x' }],
    ['op: exec, match: { program: /bin/x }', { op: 'exec', program: '/bin/x' }],
  ])('H1: a rule with %s speaks of it', async (rule, demand) => {
    temp.write('user', `mode: direct\nrules:\n  - { ${rule}, effect: deny }\n`)
    expect(await temp.judge(demand)).toMatchObject({ effect: 'deny', rule: 'user/rules/1' })
  })
})
