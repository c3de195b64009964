import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Repository } from '../fixtures/repository.ts'
import { openRepository } from '../fixtures/repository.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
let repository: Repository
let pwned: string
let touch: string

beforeEach(async () => {
  temp = await openTempKiwi()
  repository = openRepository(temp.project)
  pwned = join(temp.folder, 'PWNED')
  touch = join(temp.folder, 'touch.sh')
  writeFileSync(touch, `#!/bin/sh\ntouch ${pwned}\n`)
  chmodSync(touch, 0o755)
})
afterEach(() => temp.close())

const AUTHOR = { author_name: 'Ada', author_email: 'ada@example.com' }

/** Everything an agent can have git do through Kiwi, one after the other. */
async function useGit(): Promise<void> {
  await temp.run('git.status')
  await temp.run('git.diff')
  await temp.run('git.diff', { from: 'HEAD' })
  await temp.run('git.log')
  await temp.run('git.add', { paths: ['.'] })
  await temp.run('git.commit', { message: 'second', ...AUTHOR })
  await temp.run('git.branch', { name: 'topic' })
  await temp.run('git.switch', { branch: 'topic' })
  await temp.run('git.fetch', { remote: 'origin' })
  await temp.run('git.pull', { remote: 'origin', branch: 'main' })
  await temp.run('git.push', { remote: 'origin', branch: 'main' })
  await temp.run('git.checkpoint')
  await temp.run('shell.run', {
    command: 'git status; git diff; git show; git log -p -1; git grep one; git blame a.txt; git ls-files -m',
  })
}

/** The same through a plain git, to know that the trap works. */
function fallInto(...args: readonly string[]): void {
  try {
    repository.git(...args)
  } catch {
    // What it was made to run is what counts.
  }
  expect(existsSync(pwned)).toBe(true)
  rmSync(pwned)
}

const TRAPS: readonly (readonly [string, (traps: Traps) => void])[] = [
  [
    'a file system monitor',
    ({ config, fall }) => {
      config('core.fsmonitor', touch)
      fall('status')
    },
  ],
  [
    'hooks',
    ({ config, fall }) => {
      const hooks = join(temp.project, 'hooks')
      mkdirSync(hooks)
      for (const name of [
        'pre-commit',
        'post-checkout',
        'pre-push',
        'post-index-change',
        'reference-transaction',
      ]) {
        writeFileSync(join(hooks, name), `#!/bin/sh\ntouch ${pwned}\n`)
        chmodSync(join(hooks, name), 0o755)
      }
      config('core.hooksPath', hooks)
      fall('branch', 'other')
    },
  ],
  [
    'a filter that attributes name',
    ({ config, fall }) => {
      repository.write('.gitattributes', '* filter=evil\n')
      config('filter.evil.clean', touch)
      config('filter.evil.smudge', touch)
      fall('add', '.')
      repository.git('reset', '--quiet')
    },
  ],
  [
    'a filter that an included file names',
    ({ config, fall }) => {
      repository.write('.gitattributes', '* filter=evil\n')
      writeFileSync(join(temp.project, '.git/more'), `[filter "evil"]\n\tclean = ${touch}\n`)
      config('include.path', 'more')
      fall('add', '.')
      repository.git('reset', '--quiet')
    },
  ],
  [
    'an external diff',
    ({ config, fall }) => {
      config('diff.external', touch)
      fall('diff')
    },
  ],
  [
    'a driver that shows a difference',
    ({ config, fall }) => {
      repository.write('.gitattributes', '* diff=evil\n')
      config('diff.evil.textconv', touch)
      config('diff.evil.command', touch)
      fall('diff')
    },
  ],
  [
    'a program that reaches the remote',
    ({ config, fall }) => {
      config('core.sshCommand', touch)
      config('remote.origin.url', 'ssh://localhost/nowhere')
      fall('fetch', 'origin')
    },
  ],
  [
    'a transport of its own',
    ({ config, fall }) => {
      config('remote.origin.url', `ext::${touch}`)
      config('protocol.ext.allow', 'always')
      fall('fetch', 'origin')
    },
  ],
  [
    'another upload-pack',
    ({ config, fall }) => {
      config('remote.origin.url', temp.project)
      config('remote.origin.uploadpack', touch)
      fall('fetch', 'origin')
    },
  ],
  [
    'a pager, an editor, a signer and a format that asks it',
    ({ config, fall }) => {
      config('core.pager', touch)
      config('core.editor', touch)
      config('gpg.program', touch)
      config('commit.gpgSign', 'true')
      config('format.pretty', '%G?')
      fall('commit', '--allow-empty', '-m', 'signed')
    },
  ],
  ...(['.git/config', '.gitmodules'] as const).map((file): readonly [string, (traps: Traps) => void] => [
    `a submodule that has a filter, and is looked into as ${file} says`,
    ({ fall }) => {
      const inner = join(temp.project, 'inner')
      mkdirSync(inner)
      const sub = openRepository(inner)
      repository.git('submodule', '--quiet', 'add', './inner')
      repository.git('commit', '--quiet', '-m', 'inner')
      repository.git('config', '--file', file, 'submodule.inner.ignore', 'none')
      sub.write('.gitattributes', '* filter=evil\n')
      sub.git('config', 'filter.evil.clean', touch)
      sub.write('a.txt', 'six\n')
      fall('add', '.')
      sub.write('a.txt', 'ten\n')
    },
  ]),
]

interface Traps {
  readonly config: (key: string, value: string) => void
  readonly fall: (...args: readonly string[]) => void
}

describe('CMD-04: what a repository names is never run', () => {
  test.each(TRAPS)('%s', async (_, set) => {
    repository.write('a.txt', 'two\n')
    set({ config: (key, value) => void repository.git('config', key, value), fall: fallInto })
    repository.write('a.txt', 'ten\n')
    rmSync(pwned, { force: true })
    await useGit()
    expect(existsSync(pwned)).toBe(false)
  })

  test('a folder that looks like a repository of its own is none', async () => {
    const bare = join(temp.project, 'looks')
    mkdirSync(bare)
    openRepository(bare)
    repository.git('clone', '--quiet', '--bare', bare, join(temp.project, 'bare'))
    const reply = await temp.run('shell.run', { command: 'git log -1', cwd: 'bare' })
    expect(reply).toMatchObject({
      status: 'error',
      data: { stderr: expect.stringContaining('safe.bareRepository') },
    })
  })

  test('the refusal names what the repository would have run', async () => {
    repository.git('config', 'filter.evil.clean', touch)
    expect(await temp.run('git.status')).toMatchObject({
      error: {
        code: 'PERMISSION_DENIED',
        hint: expect.stringContaining('Ask the person'),
        details: { layer: 'argv', rule: null },
        message:
          'Cannot run "git.status": the config of the repository names programs, files or places that git would follow: filter.evil.clean',
      },
    })
  })
})

describe('CMD-02: no parameter is an option', () => {
  test.each([
    ['git.diff', { from: '--output=x' }],
    ['git.diff', { from: '-c core.sshCommand=' }],
    ['git.log', { ref: '--upload-pack=touch PWNED' }],
    ['git.add', { paths: ['--chmod=+x'] }],
    ['git.branch', { name: '--edit-description' }],
    ['git.branch', { name: 'x', from: '-f' }],
    ['git.switch', { branch: '--detach' }],
    ['git.push', { remote: '--receive-pack=touch PWNED', branch: 'main' }],
    ['git.push', { remote: 'origin', branch: '--force' }],
    ['git.push', { remote: 'origin', branch: '+main' }],
    ['git.push', { remote: 'origin', branch: 'main:other' }],
    ['git.push', { remote: 'ext::sh -c id', branch: 'main' }],
    ['git.push', { remote: 'https://elsewhere.example/x', branch: 'main' }],
    ['git.fetch', { remote: '--upload-pack=touch PWNED' }],
    ['git.pull', { remote: 'origin', branch: '--upload-pack=x' }],
  ])('%s %j', async (id, parameters) => {
    const before = readdirSync(temp.project)
    expect(await temp.run(id, parameters)).toMatchObject({ error: { code: 'INVALID_PARAMETERS' } })
    expect(readdirSync(temp.project)).toEqual(before)
  })

  test('paths stand behind "--", and no variable of git is passed on', async () => {
    await temp.close()
    const environment = { GIT_DIR: '/nowhere', GIT_EXTERNAL_DIFF: 'false', GIT_SSH_COMMAND: 'false' }
    temp = await openTempKiwi({ environment })
    openRepository(temp.project)
    const rehearsed = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'git.diff',
      parameters: { paths: ['HEAD'] },
      dry_run: true,
    })
    expect(rehearsed).toMatchObject({
      data: {
        would_run: {
          command: expect.stringMatching(/\/git$/),
          args: ['diff', '--no-color', '--', 'HEAD'],
          with: "Kiwi's fixed options",
          env: expect.not.arrayContaining(['GIT_DIR', 'GIT_EXTERNAL_DIFF', 'GIT_SSH_COMMAND']),
        },
      },
    })
    expect(await temp.run('git.status')).toMatchObject({ status: 'success' })
  })
})
