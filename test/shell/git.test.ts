import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { field, textField } from '../fixtures/field.ts'
import type { Repository } from '../fixtures/repository.ts'
import { openRepository } from '../fixtures/repository.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
let repository: Repository
beforeEach(async () => {
  temp = await openTempKiwi()
  repository = openRepository(temp.project)
})
afterEach(() => temp.close())

const AUTHOR = { author_name: 'Ada', author_email: 'ada@example.com' }

test('H6: a change is seen, staged, committed and found in the log', async () => {
  repository.write('a.txt', 'two\n')
  expect(await temp.run('git.status')).toMatchObject({ data: { output: '## main\n M a.txt\n' } })
  expect(await temp.run('git.diff', { paths: ['a.txt'] })).toMatchObject({
    data: { output: expect.stringContaining('-one\n+two\n') },
  })
  expect(await temp.run('git.add', { paths: ['a.txt'] })).toMatchObject({ status: 'success' })
  expect(await temp.run('git.commit', { message: '-m is no option; $(id)', ...AUTHOR })).toMatchObject({
    status: 'success',
  })
  expect(await temp.run('git.log', { max_count: 1 })).toMatchObject({
    data: { output: expect.stringMatching(/ Ada: -m is no option; \$\(id\)\n$/) },
  })
})

test('H6: branches are made, listed, changed to and removed', async () => {
  expect(await temp.run('git.branch', { name: 'topic' })).toMatchObject({ status: 'success' })
  expect(await temp.run('git.switch', { create: 'work', from: 'topic' })).toMatchObject({ status: 'success' })
  expect(await temp.run('git.branch')).toMatchObject({ data: { output: '  main\n  topic\n* work\n' } })
  expect(await temp.run('git.branch', { name: 'topic', delete: true })).toMatchObject({ status: 'success' })
  expect(await temp.run('git.switch', {})).toMatchObject({ error: { code: 'INVALID_PARAMETERS' } })
})

test('H6: a commit without an author says which parameters are missing', async () => {
  repository.write('a.txt', 'two\n')
  await temp.run('git.add', { paths: ['.'] })
  expect(await temp.run('git.commit', { message: 'second' })).toMatchObject({
    error: { code: 'TOOL_FAILED', hint: expect.stringMatching(/author_name and author_email/) },
  })
  repository.git('config', 'user.name', 'Grace')
  repository.git('config', 'user.email', 'grace@example.com')
  expect(await temp.run('git.commit', { message: 'second' })).toMatchObject({ status: 'success' })
  expect(repository.git('log', '-1', '--format=%an')).toBe('Grace\n')
})

test('CMD-04 H6: no path of this machine is a remote', async () => {
  repository.git('remote', 'add', 'origin', temp.folder)
  expect(await temp.run('git.push', { remote: 'origin', branch: 'main' })).toMatchObject({
    error: { code: 'TOOL_FAILED', message: expect.stringContaining("transport 'file' not allowed") },
  })
})

test('H6: each command is a grant of its own: git.push is refused though git.commit is allowed', async () => {
  temp.write(
    'config/agent_harness.yaml',
    'mode: proxy\ninternal_tools:\n  git:\n    enabled: true\n    allowed: [status, add, commit]\n',
  )
  repository.write('a.txt', 'two\n')
  expect(await temp.run('git.add', { paths: ['a.txt'] })).toMatchObject({ status: 'success' })
  expect(await temp.run('git.commit', { message: 'second', ...AUTHOR })).toMatchObject({ status: 'success' })
  expect(await temp.run('git.push', { remote: 'origin', branch: 'main' })).toMatchObject({
    error: { code: 'PERMISSION_DENIED', details: { op: 'tool', resource: 'git.push' } },
  })
})

describe('D17: git.checkpoint', () => {
  test('D17: in a part of a repository it says where that begins, and what to do, and records nothing', async () => {
    const part = join(temp.project, 'packages/a')
    mkdirSync(part, { recursive: true })
    const { error } = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'git.checkpoint',
      project_path: part,
    })
    expect(error).toMatchObject({
      code: 'TOOL_FAILED',
      message: expect.stringContaining(`the repository begins above the project, in ${temp.project}`),
      hint: expect.stringContaining('project_path'),
    })
    expect(repository.git('for-each-ref', 'refs/kiwi')).toBe('')
  })

  test('records a dirty repository whose status, HEAD, index, stash and files stay as they are', async () => {
    repository.write('a.txt', 'staged\n')
    repository.git('add', 'a.txt')
    repository.write('a.txt', 'changed\n')
    repository.write('new file.txt', 'new\n')
    const look = (): readonly string[] => [
      repository.git('status', '--porcelain'),
      repository.git('rev-parse', 'HEAD'),
      repository.git('diff', '--cached'),
      repository.git('stash', 'list'),
      readFileSync(join(temp.project, '.git/index')).toString('hex'),
      readFileSync(join(temp.project, 'a.txt'), 'utf8'),
    ]
    const before = look()
    const reply = await temp.run('git.checkpoint', { message: 'before $(id) "x"', name: 'run-1' })
    expect(reply).toMatchObject({
      status: 'success',
      data: { output: { recorded: true, ref: 'refs/kiwi/checkpoints/run-1/1' } },
    })
    expect(look()).toEqual(before)
    const sha = textField(reply.data, 'output', 'sha')
    expect(repository.git('show', `${sha}:a.txt`)).toBe('changed\n')
    expect(repository.git('show', `${sha}:new file.txt`)).toBe('new\n')
    expect(repository.git('log', '-1', '--format=%s', sha)).toBe('before $(id) "x"\n')
    expect(await temp.run('git.checkpoint', { name: 'run-1' })).toMatchObject({
      data: { output: { ref: 'refs/kiwi/checkpoints/run-1/2' } },
    })
  })

  test('says that a clean repository has nothing to record', async () => {
    expect(await temp.run('git.checkpoint')).toMatchObject({
      status: 'success',
      data: { output: { recorded: false, reason: 'nothing differs from HEAD', sha: null } },
    })
    expect(repository.git('for-each-ref', 'refs/kiwi')).toBe('')
  })

  test('leaves submodules as they are, and records the rest', async () => {
    const inner = await openTempKiwi()
    try {
      openRepository(inner.project)
      repository.git('submodule', '--quiet', 'add', inner.project, 'inner')
      repository.git('commit', '--quiet', '-m', 'inner')
      writeFileSync(join(temp.project, 'inner/a.txt'), 'changed\n')
      repository.write('a.txt', 'changed\n')
      expect(await temp.run('git.checkpoint')).toMatchObject({ data: { output: { recorded: true } } })
    } finally {
      await inner.close()
    }
  })

  test('says that there is no repository, and what to do', async () => {
    const bare = await openTempKiwi()
    try {
      expect(await bare.run('git.checkpoint')).toMatchObject({
        error: { code: 'TOOL_FAILED', hint: expect.stringContaining('git init') },
      })
      expect(existsSync(join(bare.project, '.git'))).toBe(false)
    } finally {
      await bare.close()
    }
  })

  test('D17: the directive that uses it runs to ready, and grants what it needs and nothing else', async () => {
    const reply = await temp.call('execute', {
      item_type: 'directive',
      action: 'run',
      item_id: 'git_checkpoint',
      parameters: { reason: 'before a change' },
    })
    expect(reply).toMatchObject({
      status: 'ready',
      data: {
        directive: {
          name: 'git_checkpoint',
          version: '1.0.0',
          process: expect.arrayContaining([expect.objectContaining({ name: 'record' })]),
        },
        tool_context: { git: { available: true } },
        warnings: [],
        permissions: {
          granted: ['allow tool git.status', 'allow tool git.diff', 'allow tool git.checkpoint'],
          ignored: [],
        },
      },
    })
    const call = { ...Object(field(reply.data, 'call_format', 'example')) }
    const status = await temp.call('execute', { ...call, item_id: 'git.status' })
    expect(status.status).toBe('success')
    const add = await temp.call('execute', { ...call, item_id: 'git.add', parameters: { paths: ['.'] } })
    expect(add.error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { layer: 'directive git_checkpoint' },
    })
  })

  test('the directive that uses it is shipped: it is found and can be loaded', async () => {
    const found = resultsOf(await temp.search('git checkpoint', { item_type: 'directive' }))
    expect(found[0]).toMatchObject({ id: 'git_checkpoint' })
    expect(await temp.load('git_checkpoint', { item_type: 'directive' })).toMatchObject({
      status: 'success',
      data: { content: expect.stringContaining('<execute item_type="tool" item_id="git.checkpoint">') },
    })
  })
})
