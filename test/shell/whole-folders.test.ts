import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { putFile } from '../fixtures/put-file.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
  temp.write(
    'config/agent_harness.yaml',
    `mode: proxy
internal_tools:
  filesystem: { allowed_paths: ['\${PROJECT_PATH}'], read_only_paths: [src/vendor] }
  shell: { allowed_commands: [grep, cp, mv, rm, chmod, cat, diff] }
rules:
  - { op: read, match: { path: ['**/.env', private.txt] }, effect: deny }
  - { op: write, match: { path: 'src/generated/**' }, effect: deny }
  - { op: write, match: { path: '**/*.lock' }, effect: ask }
`,
  )
  for (const name of ['.env', 'private.txt', 'src/app/.env', 'src/app/a.ts', 'src/generated/b.ts'])
    putFile(join(temp.project, name), 'KEY=canary-7f3a\n')
  for (const name of ['src/vendor/c.ts', 'docs/d.md', 'deps/x/package.json', 'deps/x.lock'])
    putFile(join(temp.project, name), 'plain\n')
})
afterEach(() => temp.close())

const shell = (command: string, more: object = {}): Promise<Reply> =>
  temp.run('shell.run', { command, ...more })

describe('H5, FS-09: a command that takes a folder whole is judged by what rules say of what is in it', () => {
  test.each([
    ['grep -r KEY .', 'read'],
    ['grep -r KEY', 'read'],
    ['grep -rn KEY src', 'read'],
    ['grep -d recurse KEY src', 'read'],
    ['grep --recurs KEY src', 'read'],
    ['cp -r src copy', 'read'],
    ['cp -a src copy', 'read'],
    ['cp -rt docs src', 'read'],
    ['cp -r --target-directory=docs src', 'read'],
    ['rm -r src', 'write'],
    ['rm --recursive .ai/../src', 'write'],
    ['mv src moved', 'write'],
    ['mv -t docs src', 'write'],
    ['chmod -R 777 src', 'write'],
  ])('H5, FS-09: %s is refused', async (command, op) => {
    const reply = await shell(command)
    expect(reply.error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: {
        op,
        layer: 'project harness',
        resource: expect.stringMatching(/\.env$|private|generated|vendor/),
      },
    })
    expect(JSON.stringify(reply)).not.toContain('canary')
    expect(existsSync(join(temp.project, 'src/generated/b.ts'))).toBe(true)
  })

  test.each([
    'grep -r plain docs',
    'grep KEY src/app/a.ts',
    'cp -r docs copy',
    'mv docs src/moved',
    'rm -r docs',
    'rm -r src/app',
    'chmod -R 700 docs',
  ])('H5: %s touches none of it, and runs', async (command) => {
    expect(await shell(command)).toMatchObject({ status: 'success' })
  })

  test('H9: what is asked about there is asked about, by its name', async () => {
    expect(await shell('rm -r deps')).toMatchObject({
      status: 'approval_required',
      data: { summary: expect.stringContaining('rule project/rules/3: write') },
    })
  })

  test('H5: where it is started counts when it is given no folder', async () => {
    expect(await shell('grep -r plain', { cwd: 'docs' })).toMatchObject({ status: 'success' })
    expect((await shell('grep -r plain', { cwd: 'src' })).error).toMatchObject({ code: 'PERMISSION_DENIED' })
  })

  test('N6: what Kiwi itself asks about is single files: a folder that holds one is removed without a word', async () => {
    temp.write('config/agent_harness.yaml', 'mode: direct\n')
    mkdirSync(join(temp.project, 'node_modules/a'), { recursive: true })
    putFile(join(temp.project, 'node_modules/a/package.json'), '{}')
    expect(await shell('rm -r node_modules')).toMatchObject({ status: 'success' })
  })
})
