import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openRepository } from '../fixtures/repository.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
  openRepository(temp.project)
})
afterEach(() => temp.close())

const harness = (text: string): string => temp.write('config/agent_harness.yaml', text)
const shell = (parameters: object) => temp.run('shell.run', parameters)

describe.each([
  [
    'proxy',
    'internal_tools: { shell: { allowed_commands: [git, env] }, git: { allowed: [status, commit] } }',
  ],
  [
    'proxy',
    'internal_tools: { shell: { allowed_commands: [git, env] } }\ngit: { allowed: [status, commit] }',
  ],
  ['direct', 'git: { allowed: [status, commit] }'],
])('in %s mode with %s', (mode, keys) => {
  beforeEach(() => void harness(`mode: ${mode}\n${keys}\n`))

  test.each([
    [{ command: 'git push origin main' }, 'git.push'],
    [{ argv: ['git', 'push', 'origin', 'main'] }, 'git.push'],
    [{ command: 'git status && git -C . push origin main' }, 'git.push'],
    [{ command: 'git show' }, 'git.show'],
    [{ command: 'git stash' }, 'git.stash'],
  ])('H6: %j is refused without its grant', async (parameters, resource) => {
    const { error } = await shell(parameters)
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED' })
    if (!resource.endsWith('stash')) expect(error?.details).toMatchObject({ op: 'tool', resource })
  })

  test.each([
    { command: 'env git push origin main' },
    { command: 'git -c a.b=c push origin main' },
    { command: 'git push origin main', raw: true },
  ])('H6: %j is no way round', async (parameters) => {
    expect((await shell(parameters)).error?.code).toBe('PERMISSION_DENIED')
  })

  test('H6: what is granted runs', async () => {
    expect((await shell({ command: 'git status' })).error).toBeNull()
  })
})

test('H6: who lists git as a program, and says nothing of its tools, lets it do what it does', async () => {
  harness('mode: proxy\ninternal_tools: { shell: { allowed_commands: [git] } }\n')
  expect((await shell({ command: 'git status && git log -1 && git show' })).error).toBeNull()
  harness('mode: proxy\ninternal_tools: { shell: { allowed_commands: [git] }, git: { enabled: false } }\n')
  expect((await shell({ command: 'git status' })).error?.details).toMatchObject({
    rule: 'project/git.enabled',
  })
})

test('H6: what asks about a tool of git asks about the command', async () => {
  harness('mode: direct\ngit: { require_approval: [commit] }\n')
  expect((await shell({ command: 'git status' })).error).toBeNull()
  expect((await shell({ command: 'git commit --allow-empty -m x' })).status).toBe('approval_required')
})

test('H6: a tool that an agent made is no new right', async () => {
  await temp.call('execute', {
    item_type: 'tool',
    action: 'create',
    item_id: 'sender',
    parameters: {
      tool_type: 'script',
      executor: 'git_runtime',
      description: 'Sends',
      category: 'x',
      config: { args: ['push', 'origin', 'main'] },
    },
  })
  harness('mode: direct\ngit: { allowed: [status, commit] }\n')
  expect((await temp.run('sender')).error).toMatchObject({
    code: 'PERMISSION_DENIED',
    details: { resource: 'git.push' },
  })
})

test('H1: what a file does not say is told as what to add, where it belongs', async () => {
  const file = join(temp.project, '.ai/config/agent_harness.yaml')
  harness('mode: proxy\ninternal_tools: { shell: { allowed_commands: [git] } }\n')
  expect((await temp.run('git.status')).error).toMatchObject({
    hint: `Add internal_tools.git.allowed: ["status"] to ${file}: whoever keeps the project keeps it`,
    details: { rule: 'project/git.allowed', required: 'internal_tools.git.allowed: ["status"]' },
  })
  expect((await temp.run('filesystem.read', { path: 'a.txt' })).error?.details).toMatchObject({
    required: `internal_tools.filesystem.allowed_paths: [${JSON.stringify(join(temp.project, 'a.txt'))}]`,
  })
  harness('mode: proxy\ngit: { allowed: [log] }\n')
  expect((await temp.run('git.status')).error?.details).toMatchObject({
    required: 'git.allowed: ["status"]',
  })
})

test('H5: a raw script is offered only where it would not be refused', async () => {
  harness('mode: direct\ninternal_tools: { shell: { allowed_commands: [git] } }\n')
  expect((await shell({ command: 'git -c a=b status' })).error?.hint).not.toContain('raw')
  expect((await shell({ command: 'echo $HOME' })).error?.hint).not.toContain('raw')
  harness('mode: direct\ninternal_tools: { shell: { allowed_commands: [git, "shell:raw"] } }\n')
  expect((await shell({ command: 'git -c a=b status' })).error?.hint).toContain(
    'raw: true, which a person is asked about',
  )
  expect((await shell({ command: 'echo $HOME' })).error?.hint).toContain(
    'raw: true, which a person is asked about',
  )
})
