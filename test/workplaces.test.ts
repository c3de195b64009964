import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../src/shared/reply.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { BASH, openTempKiwi } from './temp-kiwi.ts'
import { person } from './trust/callers.ts'

let temp: TempKiwi
let other: string
let secret: string
beforeEach(async () => {
  temp = await openTempKiwi()
  other = join(temp.folder, 'other')
  secret = join(temp.folder, '.ssh/id_rsa')
  for (const folder of [join(temp.project, 'sub'), other, dirname(secret)]) mkdirSync(folder)
  for (const [file, text] of [
    [join(temp.project, 'a.txt'), 'one'],
    [join(other, 'a.txt'), 'two'],
    [secret, 'canary'],
  ] as const)
    writeFileSync(file, text)
})
afterEach(() => temp.close())

const FILES = 'internal_tools: { filesystem: { allowed_paths: ["${PROJECT_PATH}"] } }\n'
const users = (text: string): void => {
  mkdirSync(join(temp.config.userSpace, 'config'), { recursive: true })
  writeFileSync(join(temp.config.userSpace, 'config/agent_harness.yaml'), text)
}
const run = (item_id: string, parameters: object, project_path?: string): Promise<Reply> =>
  temp.call('execute', {
    item_type: 'tool',
    action: 'run',
    item_id,
    parameters,
    ...(project_path === undefined ? {} : { project_path }),
  })
const read = (path: string, project?: string): Promise<Reply> => run('filesystem.read', { path }, project)
const trustOther = (): Promise<Reply> => temp.kiwi.trust(other, false, person(temp))

describe('PRM-05, H1: the project that a call names does not choose its policy', () => {
  test('PRM-05, H1: a folder of the project is held to what the project says', async () => {
    temp.write(
      'config/agent_harness.yaml',
      'internal_tools:\n  filesystem: { allowed_paths: ["${PROJECT_PATH}"], require_approval: [delete] }\n',
    )
    const sub = join(temp.project, 'sub')
    expect(await read(secret, sub)).toMatchObject({
      error: { code: 'PERMISSION_DENIED', details: { layer: 'project harness' } },
    })
    expect((await run('shell.run', { argv: ['true'] }, sub)).error?.code).toBe('PERMISSION_DENIED')
    const file = join(temp.project, 'a.txt')
    expect((await run('filesystem.delete', { path: file }, sub)).status).toBe('approval_required')
    expect((await read(file, sub)).status).toBe('success')
  })

  test('PRM-12: so it is when the file above cannot be read', async () => {
    temp.write('config/agent_harness.yaml', 'mode: [')
    expect((await read('a.txt', join(temp.project, 'sub'))).error?.code).toBe('POLICY_ERROR')
  })

  test('FS-01: the root, the home, what lies above it and the user space are no project', async () => {
    users(FILES)
    for (const wide of ['/', temp.folder, dirname(temp.folder), temp.config.userSpace]) {
      const reply = await read(secret, wide)
      expect(reply).toMatchObject({
        error: { code: 'PERMISSION_DENIED', details: { rule: 'machine/project' } },
      })
      expect(JSON.stringify(reply)).not.toContain('canary')
    }
  })

  test('FS-01: another folder is refused until a person has trusted it, by whatever name', async () => {
    users(FILES)
    symlinkSync(dirname(secret), join(temp.project, 'link'))
    for (const named of [dirname(secret), join(temp.project, 'link'), `${temp.project}/../.ssh`])
      expect(await read(secret, named)).toMatchObject({
        error: { code: 'UNTRUSTED', details: { command: `kiwi trust --project ${dirname(secret)}` } },
      })
    expect((await read(join(other, 'a.txt'), other)).error?.code).toBe('UNTRUSTED')
    await trustOther()
    expect((await read('a.txt', other)).data).toMatchObject({ output: { content: 'two' } })
    expect((await read(secret, other)).error?.code).toBe('PERMISSION_DENIED')
  })

  test('FS-01: nothing is made or copied there, and what only looks is free', async () => {
    const made = { item_type: 'tool', action: 'create', item_id: 'made', project_path: other }
    const parameters = { manifest: BASH, files: { 'main.sh': '#!/bin/bash\ntrue' }, location: 'project' }
    expect((await temp.call('execute', { ...made, parameters })).error?.code).toBe('UNTRUSTED')
    const there = { project_path: other }
    expect((await temp.load('hello_bash', { ...there, destination: 'project' })).error?.code).toBe(
      'UNTRUSTED',
    )
    expect(existsSync(join(other, '.ai'))).toBe(false)
    expect((await temp.load('hello_bash', there)).status).toBe('success')
    expect((await temp.search('hello', there)).status).toBe('success')
    expect((await temp.call('help', there)).status).toBe('success')
  })

  test('H1: in a trusted project what the session works in still has its say', async () => {
    await trustOther()
    expect((await run('shell.run', { argv: ['true'] }, other)).status).toBe('success')
    temp.write('config/agent_harness.yaml', 'mode: direct\ninternal_tools: { shell: { enabled: false } }\n')
    expect((await run('shell.run', { argv: ['true'] }, other)).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { layer: 'project harness' },
    })
  })

  test("FS-01: what the person's file forbids in the project is forbidden from everywhere", async () => {
    users('mode: direct\nrules: [{ op: read, match: { path: "${PROJECT_PATH}/a.txt" }, effect: deny }]\n')
    await trustOther()
    const file = join(temp.project, 'a.txt')
    for (const project of [undefined, join(temp.project, 'sub'), other])
      expect((await read(file, project)).error?.code).toBe('PERMISSION_DENIED')
  })

  test('H8: a limit that the project sets counts in its folders too', async () => {
    const limited = 'mode: direct\ninternal_tools: { filesystem: { rate_limit: 2/minute } }\n'
    temp.write('config/agent_harness.yaml', limited)
    temp.write('../sub/.ai/config/agent_harness.yaml', limited)
    const file = join(temp.project, 'a.txt')
    await read(file)
    await read(file, join(temp.project, 'sub'))
    expect((await read(file)).error?.code).toBe('RATE_LIMITED')
    expect((await read(file, join(temp.project, 'sub'))).error?.code).toBe('RATE_LIMITED')
  })

  test('H1: a person works wherever they say', async () => {
    const args = {
      item_type: 'tool',
      action: 'run',
      item_id: 'filesystem.read',
      parameters: { path: 'a.txt' },
    }
    const reply = await temp.kiwi.call('execute', { ...args, project_path: other }, person(temp))
    expect(reply.data).toMatchObject({ output: { content: 'two' } })
  })

  test('FS-01: a session that was begun at the root or at home has no project', async () => {
    users(FILES)
    for (const folder of ['/', temp.folder]) {
      const client = {
        ...person(temp),
        kind: 'agent',
        defaultProject: () => Promise.resolve(folder),
      } as const
      const use = (path: string, project_path?: string): Promise<Reply> =>
        temp.kiwi.call(
          'execute',
          {
            item_type: 'tool',
            action: 'run',
            item_id: 'filesystem.read',
            parameters: { path },
            project_path,
          },
          client,
        )
      expect((await use(secret)).error?.code).toBe('PERMISSION_DENIED')
      expect((await use('a.txt')).error?.code).toBe('PROJECT_PATH_REQUIRED')
      expect((await use('a.txt', other)).error?.code).toBe('UNTRUSTED')
      expect((await use('a.txt', temp.project)).status).toBe('success')
    }
  })
})

describe('H1: items are files', () => {
  test('H1, FS-01: an agent writes them only where it may write; a person anywhere', async () => {
    users(FILES)
    const create = (location: string): Promise<Reply> =>
      temp.create(`made_${location}`, BASH, { 'main.sh': 'true' }, location)
    expect(await create('user')).toMatchObject({
      error: { code: 'PERMISSION_DENIED', details: { op: 'write', rule: 'user/filesystem.allowed_paths' } },
    })
    const copy = { item_type: 'tool', item_id: 'hello_bash', destination: 'user' }
    expect((await temp.call('load', copy)).error?.code).toBe('PERMISSION_DENIED')
    expect(existsSync(join(temp.config.userSpace, 'tools'))).toBe(false)
    expect((await create('project')).status).toBe('success')
    expect((await temp.kiwi.call('load', copy, person(temp))).status).toBe('success')
    for (const action of ['sign', 'delete', 'update'])
      expect(
        await temp.call('execute', {
          item_type: 'tool',
          action,
          item_id: 'hello_bash',
          parameters: {
            location: 'user',
            ...(action === 'delete' ? { confirm: true } : {}),
            ...(action === 'update' ? { manifest: { description: 'x' } } : {}),
          },
        }),
      ).toMatchObject({ error: { code: 'PERMISSION_DENIED' } })
    users(FILES.replace(']', `, ${JSON.stringify(temp.config.userSpace)}]`))
    expect((await create('user')).status).toBe('success')
  })

  test('H11: within a run the grant of the action is enough', async () => {
    const { id: runId } = await temp.kiwi.openRun({
      kind: 'run',
      parent: null,
      principal: 'tester',
      directive: 'makes',
      permissions: '<permissions><kiwi><execute actions="create"/></kiwi></permissions>',
      servers: [],
      projectPath: temp.project,
      tools: null,
    })
    const parameters = { manifest: BASH, files: { 'main.sh': '#!/bin/bash\ntrue' }, location: 'project' }
    const args = { item_type: 'tool', action: 'create', item_id: 'made', parameters, run_id: runId }
    expect((await temp.call('execute', args)).status).toBe('success')
  })
})

test('H7, PRM-05: what Kiwi keeps of calls is read by no tool', async () => {
  const { store, heads } = temp.config
  for (const path of [store, `${store}-wal`, heads])
    expect((await read(path)).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { rule: 'machine/own-secrets' },
    })
  expect((await run('shell.run', { argv: ['cat', store] })).error?.code).toBe('PERMISSION_DENIED')
})

test('PRM-12: a policy is neither moved away nor hidden behind another name', async () => {
  temp.write('config/agent_harness.yaml', 'mode: direct\n')
  for (const argv of [
    ['mv', '.ai', 'gone'],
    ['mv', '.ai/config', 'gone'],
    ['rm', '-r', '.ai/config'],
    ['touch', '.ai/config/agent_harness.yml'],
  ])
    expect((await run('shell.run', { argv })).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { rule: 'machine/own-policy' },
    })
})
