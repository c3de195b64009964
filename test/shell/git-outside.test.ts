import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Repository } from '../fixtures/repository.ts'
import { openRepository } from '../fixtures/repository.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

const CANARY = 'canary-5f1d'
const HARNESS = `mode: proxy
internal_tools:
  filesystem: { enabled: true, allowed_paths: ['\${PROJECT_PATH}'] }
  shell: { enabled: true, allowed_commands: [git, cat, cp, mv] }
  git: { enabled: true }
`

let temp: TempKiwi
let repository: Repository
let pwned: string
let secret: string

beforeEach(async () => {
  temp = await openTempKiwi()
  repository = openRepository(temp.project)
  pwned = join(temp.folder, 'PWNED')
  secret = join(temp.folder, 'secret.txt')
  writeFileSync(secret, `${CANARY}\n`)
})
afterEach(() => temp.close())

/** For the person: nothing of it can be lost with a branch of the project. */
function bind(): void {
  mkdirSync(join(temp.folder, 'user/config'), { recursive: true })
  writeFileSync(join(temp.folder, 'user/config/agent_harness.yaml'), HARNESS)
}

const git = (...argv: readonly string[]) => temp.run('shell.run', { argv: ['git', ...argv] })

/** A folder that serves as what git shares, whose config runs a program when it is fetched from. */
function trapConfig(at: string): string {
  return `[core]\n\trepositoryformatversion = 0\n[protocol "file"]\n\tallow = always\n[remote "o"]\n\turl = ${at}\n\tuploadpack = "touch ${pwned} #"\n`
}

describe('CMD-04: a repository is no way to run a program', () => {
  test('a folder that git shares, with a config of its own, is not followed', async () => {
    bind()
    const shared = join(temp.project, 'g')
    const files = {
      config: trapConfig(shared),
      HEAD: 'ref: refs/heads/main\n',
      'objects/x': '',
      'refs/x': '',
    }
    for (const [name, content] of Object.entries(files))
      expect(await temp.run('filesystem.write', { path: `g/${name}`, content })).toMatchObject({
        status: 'success',
      })
    const commondir = join(temp.project, '.git/commondir')
    expect(await temp.run('filesystem.write', { path: commondir, content: shared })).toMatchObject({
      status: 'approval_required',
    })
    expect(existsSync(commondir)).toBe(false)
    writeFileSync(commondir, `${shared}\n`)
    expect(() => repository.git('fetch', 'o')).toThrow(/fetch/)
    expect(existsSync(pwned)).toBe(true)
    rmSync(pwned)
    expect(await git('fetch', 'o')).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: expect.stringContaining('in no folder named .git') },
    })
    expect(await temp.run('git.fetch', { remote: 'o' })).toMatchObject({
      error: { message: expect.stringContaining('in no folder named .git') },
    })
    expect(existsSync(pwned)).toBe(false)
  })

  test('a config of the repository that allows a transport and names its program is refused by its keys', async () => {
    writeFileSync(join(temp.project, '.git/config'), trapConfig(temp.project))
    expect(await temp.run('git.fetch', { remote: 'o' })).toMatchObject({
      error: { code: 'PERMISSION_DENIED', message: expect.stringMatching(/: remote\.o\.uploadpack$/) },
    })
    expect(existsSync(pwned)).toBe(false)
    const keys = ['core.worktree', 'core.gitproxy', 'include.path', 'url.x.insteadof', 'protocol.x.allow']
    for (const key of keys) {
      writeFileSync(join(temp.project, '.git/config'), '')
      repository.git('config', key, temp.folder)
      expect.soft(await git('status')).toMatchObject({
        error: { code: 'PERMISSION_DENIED', message: expect.stringContaining(key) },
      })
    }
  })

  test('what people have in the config of a repository is no hindrance', async () => {
    repository.git('config', 'core.hooksPath', '.husky/_')
    repository.git('config', 'remote.origin.url', 'git@example.com:a/b.git')
    repository.git('config', 'branch.feature/a.b.remote', 'origin')
    repository.git('config', 'branch.feature/a.b.vscode-merge-base', 'origin/main')
    repository.git('config', 'alias.st', 'status')
    repository.git('config', 'lfs.repositoryformatversion', '0')
    repository.git('config', 'extensions.worktreeConfig', 'true')
    const linked = join(temp.folder, 'linked')
    repository.git('worktree', 'add', '--quiet', linked)
    expect(await git('status')).toMatchObject({ status: 'success' })
    expect(await git('-C', linked, 'log', '-1')).toMatchObject({ status: 'success' })
    bind()
    expect(await git('status')).toMatchObject({ status: 'success' })
  })
})

describe('CMD-02 FS-01: git shows no file outside of the project', () => {
  test('as an operand or as the value of an option, in any spelling', async () => {
    bind()
    mkdirSync(join(temp.folder, 'beside'))
    symlinkSync(join(temp.folder, 'beside'), join(temp.project, 'link'))
    const attempts = [
      ['diff', '/dev/null', secret],
      ['diff', 'a.txt', '../secret.txt'],
      ['diff', '--anchored', '-S', secret, 'a.txt'],
      ['diff', 'a.txt', 'link/../secret.txt'],
      ['diff', '--', secret, '/dev/null'],
      ['diff', '/dev/null', 'a.txt'],
      ['diff', `-O${secret}`],
      ['blame', '-S', secret, 'a.txt'],
      ['blame', '--ignore-revs-file', secret, 'a.txt'],
      ['blame', `--conten=${secret}`, 'a.txt'],
      ['ls-files', '-o', '-i', '-X', secret],
      ['grep', `-hf${secret}`, 'x'],
      ['commit', '--allow-empty', `--fil=${secret}`],
      ['add', `--pathspec-from-f=${secret}`],
    ]
    for (const argv of attempts) {
      const reply = await git(...argv)
      expect.soft(reply, argv.join(' ')).toMatchObject({ error: { code: 'PERMISSION_DENIED' } })
      expect.soft(JSON.stringify(reply.data ?? ''), argv.join(' ')).not.toContain(CANARY)
    }
    const shown = await temp.run('git.diff', { paths: ['/dev/null', secret] })
    expect(shown).toMatchObject({ error: { code: 'PERMISSION_DENIED', details: { op: 'read' } } })
    expect(await git('diff', 'HEAD', '--', 'a.txt')).toMatchObject({ status: 'success' })
  })

  test('by -C, one after the other, through a link, or by what a repository borrows', async () => {
    bind()
    const other = join(temp.folder, 'other')
    mkdirSync(other)
    const foreign = openRepository(other)
    foreign.write('s.txt', CANARY)
    foreign.git('add', '.')
    foreign.git('commit', '--quiet', '-m', CANARY)
    foreign.git('branch', 'topic', 'HEAD~1')
    symlinkSync(join(other, '.git'), join(temp.project, 'link'))
    const refused = { error: { code: 'PERMISSION_DENIED' } }
    expect(await git('-C', temp.folder, '-C', 'other', 'show', 'HEAD:s.txt')).toMatchObject(refused)
    expect(await git('-C', '..', '-C', temp.project, '-C', '../other', 'log')).toMatchObject(refused)
    expect(await git('-C', 'link/..', 'log')).toMatchObject(refused)
    expect(await git('-C', '..', '-C', 'other', 'switch', 'topic')).toMatchObject({
      error: { code: 'PERMISSION_DENIED', details: { op: 'write' } },
    })
    expect(existsSync(join(other, 's.txt'))).toBe(true)
    writeFileSync(join(temp.project, '.git/objects/info/alternates'), join(other, '.git/objects\n'))
    const head = foreign.git('rev-parse', 'HEAD').trim()
    expect(repository.git('show', `${head}:s.txt`)).toBe(CANARY)
    expect(await git('show', `${head}:s.txt`)).toMatchObject(refused)
    rmSync(join(temp.project, '.git'), { recursive: true })
    writeFileSync(join(temp.project, '.git'), `gitdir: ${join(other, '.git')}\n`)
    expect(await temp.run('git.log')).toMatchObject(refused)
  })

  test('when the repository begins above the project; without a policy, that is allowed', async () => {
    rmSync(join(temp.project, '.git'), { recursive: true })
    const above = openRepository(temp.folder)
    above.git('branch', 'topic')
    expect(await git('show', 'HEAD:secret.txt')).toMatchObject({ data: { output: `${CANARY}\n` } })
    bind()
    expect(await git('show', 'HEAD:secret.txt')).toMatchObject({
      error: { code: 'PERMISSION_DENIED', details: { op: 'read' } },
    })
    expect(await temp.run('git.switch', { branch: 'topic' })).toMatchObject({
      error: { code: 'PERMISSION_DENIED', details: { op: 'write' } },
    })
    expect(await temp.run('git.checkpoint')).toMatchObject({ status: 'error' })
  })
})

describe('FS-10: what a person is asked about', () => {
  test('is not changed by a switch', async () => {
    temp.write('config/agent_harness.yaml', HARNESS)
    repository.git('branch', 'before')
    repository.git('add', '--force', '.')
    repository.git('commit', '--quiet', '-m', 'harness')
    repository.git('branch', 'same')
    const harness = join(temp.project, '.ai/config/agent_harness.yaml')
    for (const argv of [
      ['switch', '--orphan', 'free'],
      ['switch', 'before'],
      ['switch', '--detach', 'HEAD~1'],
      ['switch', '-c', 'new', 'HEAD~1'],
      ['switch', '-qc', 'new', 'HEAD~1'],
      ['switch', '--', 'before'],
      ['switch', '--discard-changes', 'before'],
    ])
      expect.soft(await git(...argv), argv.join(' ')).toMatchObject({ error: { code: 'PERMISSION_DENIED' } })
    expect(await temp.run('git.switch', { branch: 'before' })).toMatchObject({
      error: { message: expect.stringContaining('.ai/config/agent_harness.yaml') },
    })
    expect(readFileSync(harness, 'utf8')).toBe(HARNESS)
    expect(await git('switch', 'same')).toMatchObject({ status: 'success' })
    expect(await git('switch', '-c', 'new')).toMatchObject({ status: 'success' })
    rmSync(harness)
    expect(await temp.run('shell.run', { argv: ['cat', secret] })).toMatchObject({
      error: { code: 'POLICY_ERROR', message: expect.stringContaining('it is gone') },
    })
  })

  test('is not changed by a pull, which brings the rest', async () => {
    const bin = sshHere()
    const first = temp
    temp = await openTempKiwi({ environment: { PATH: `${bin}:${process.env['PATH'] ?? ''}` } })
    const remote = join(temp.folder, 'remote')
    mkdirSync(remote)
    const upstream = openRepository(remote)
    execFileSync('git', ['clone', '--quiet', remote, temp.project])
    execFileSync('git', ['-C', temp.project, 'remote', 'set-url', 'origin', `ssh://localhost${remote}`])
    upstream.write('a.txt', 'two\n')
    upstream.git('commit', '--quiet', '-a', '-m', 'second')
    expect(await temp.run('git.pull', { remote: 'origin', branch: 'main' })).toMatchObject({
      status: 'success',
    })
    expect(readFileSync(join(temp.project, 'a.txt'), 'utf8')).toBe('two\n')
    mkdirSync(join(remote, '.ai/config'), { recursive: true })
    upstream.write('.ai/config/agent_harness.yaml', 'mode: direct\n')
    upstream.git('add', '.')
    upstream.git('commit', '--quiet', '-m', 'third')
    expect(await temp.run('git.pull', { remote: 'origin', branch: 'main' })).toMatchObject({
      error: { message: expect.stringContaining('.ai/config/agent_harness.yaml') },
    })
    expect(existsSync(join(temp.project, '.ai/config'))).toBe(false)
    await first.close()
  })

  test.each([
    '.git/info/attributes',
    'sub/.git/config',
    '.husky/pre-commit',
    '.npmrc',
    '.envrc',
    '.mcp.json',
  ])('is %s', async (path) => {
    expect(await temp.run('filesystem.write', { path, content: 'x' })).toMatchObject({
      status: 'approval_required',
    })
    expect(existsSync(join(temp.project, path))).toBe(false)
  })
})

describe('CMD-02: what a command puts into a folder is judged by its whole path', () => {
  test('cp and mv ask where a file of that name would be asked about, and cat reads what it is led to', async () => {
    bind()
    const at = (path: string): string => join(temp.project, path)
    mkdirSync(at('x'))
    mkdirSync(at('-x'))
    writeFileSync(at('x/package.json'), '{}')
    writeFileSync(at('x/b.txt'), '')
    for (const argv of [
      ['cp', 'x/package.json', '.'],
      ['cp', '-r', 'x/.', '.'],
      ['cp', '-t', '.', 'x/package.json'],
      ['cp', '-r', 'x', 'y'],
      ['mv', 'x/package.json', '.'],
    ]) {
      const reply = await temp.run('shell.run', { argv })
      expect.soft(reply.status, argv.join(' ')).toBe('approval_required')
    }
    expect(existsSync(at('package.json'))).toBe(false)
    expect(await temp.run('shell.run', { argv: ['cp', 'x/b.txt', '.'] })).toMatchObject({ status: 'success' })
    expect(await temp.run('shell.run', { argv: ['cat', '--', '-x/../../secret.txt'] })).toMatchObject({
      error: { code: 'PERMISSION_DENIED', details: { op: 'read' } },
    })
  })
})

/** A folder with an ssh that starts what it is asked for right here. */
function sshHere(): string {
  const bin = join(temp.folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'ssh'), '#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
  chmodSync(join(bin, 'ssh'), 0o755)
  return bin
}
