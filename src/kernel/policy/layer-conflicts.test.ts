import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { TempPolicy } from '../../../test/fixtures/temp-policy.ts'
import { openTempPolicy } from '../../../test/fixtures/temp-policy.ts'

let temp: TempPolicy
beforeEach(() => {
  temp = openTempPolicy()
})
afterEach(() => temp.close())

const USER = `mode: direct
internal_tools:
  filesystem: { read_only_paths: ['\${PROJECT_PATH}/vendor', /etc] }
  shell:
    blocked_commands: [curl, rm -rf]
  git: { enabled: false }
mcps:
  slack: { enabled: false }
rules:
  - { op: net, match: { host: a.org }, effect: deny }
  - { op: net, match: { host: b.org }, effect: ask }
`
const PROJECT = `mode: direct
internal_tools:
  filesystem: { allowed_paths: [vendor, src] }
  shell:
    allowed_commands: [git, curl]
  mcps:
    slack: {}
git: { allowed: [push] }
rules:
  - { op: net, match: { host: a.org }, effect: allow }
  - { op: net, match: { host: b.org }, effect: allow }
`

test('H1: what one file allows by name and another denies is told with both lines', async () => {
  temp.write('user', USER)
  temp.write('project', PROJECT)
  const user = join(temp.folder, 'user/config/agent_harness.yaml')
  const project = join(temp.project, '.ai/config/agent_harness.yaml')
  expect((await temp.policy()).conflicts).toEqual([
    { what: 'the program "curl"', allowedAt: `${project}:5`, deniedAt: `${user}:5` },
    { what: 'writing to "vendor"', allowedAt: `${project}:3`, deniedAt: `${user}:3` },
    { what: 'the tools of git', allowedAt: `${project}:8`, deniedAt: `${user}:6` },
    { what: 'the server "slack"', allowedAt: `${project}:7`, deniedAt: `${user}:8` },
    { what: 'net {"host":["a.org"]}', allowedAt: `${project}:10`, deniedAt: `${user}:10` },
  ])
})

test('H1: within one file, and where a list only leaves something out, nothing is crossed', async () => {
  temp.write('user', 'mode: direct\ninternal_tools: { shell: { allowed_commands: [git] } }\n')
  temp.write('project', 'mode: direct\ninternal_tools: { shell: { allowed_commands: [curl] } }\n')
  expect((await temp.policy()).conflicts).toEqual([])
  temp.write('user', 'mode: [\n')
  temp.write('project', 'internal_tools: { filesystem: { allowed_paths: [/a], read_only_paths: [/a] } }\n')
  expect((await temp.policy()).conflicts).toEqual([])
  temp.write('user', 'internal_tools: { filesystem: { read_only_paths: ["../a"] } }\n')
  expect((await temp.policy()).conflicts).toEqual([])
})
