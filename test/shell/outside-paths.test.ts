import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openArgvPolicies } from '../../src/chain/shell/argv-policies.ts'
import { policiesOf } from '../../src/chain/shell/program-family.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi } from '../temp-kiwi.ts'

const PROGRAMS =
  'tee, ln, sort, dd, diff, cmp, chmod, truncate, install, rmdir, tr, cut, basename, expr, cat, od, comm, grep, find, cp'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
  temp.write(
    'config/agent_harness.yaml',
    `mode: proxy\ninternal_tools:\n  filesystem: { allowed_paths: ['\${PROJECT_PATH}'], read_only_paths: [/usr] }\n  shell: { allowed_commands: [${PROGRAMS}] }\n`,
  )
  writeFileSync(join(temp.folder, 'outside.txt'), 'as it was\n')
  writeFileSync(join(temp.project, 'in.txt'), 'b\na\n')
})
afterEach(() => temp.close())

const shell = (command: string) => temp.run('shell.run', { command })

describe('H5, FS-09: what a program is given is judged by where it leads', () => {
  test.each([
    ['tee ../made', 'write'],
    ['sort -o ../made in.txt', 'write'],
    ['sort --outp=../made in.txt', 'write'],
    ['sort ../outside.txt', 'read'],
    ['ln ../outside.txt second', 'write'],
    ['diff in.txt ../outside.txt', 'read'],
    ['diff --from-file=../outside.txt in.txt', 'read'],
    ['chmod 600 ../outside.txt', 'write'],
    ['chmod -w ../outside.txt', 'write'],
    ['truncate -s 0 ../outside.txt', 'write'],
    ['install in.txt ../made', 'write'],
    ['rmdir ../empty', 'write'],
    ['cut -c1 ../outside.txt', 'read'],
  ])('H5: %s would %s outside of what is allowed, and is refused', async (command, op) => {
    expect((await shell(command)).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { op, layer: 'project harness' },
    })
    expect(existsSync(join(temp.folder, 'made'))).toBe(false)
    expect(readFileSync(join(temp.folder, 'outside.txt'), 'utf8')).toBe('as it was\n')
  })

  test.each([
    'grep -R was .',
    'grep -inR was inner',
    'grep --dereference-recursive was inner',
    'find -L inner -type f',
    'find inner -follow',
    'cp -rL inner copy',
    'diff -r inner other',
  ])(
    'H5, FS-03: what follows links in a folder is refused, since nobody can tell where to: %s',
    async (command) => {
      for (const folder of ['inner', 'other']) mkdirSync(join(temp.project, folder))
      symlinkSync(temp.folder, join(temp.project, 'inner', 'link'))
      const { error } = await shell(command)
      expect(error).toMatchObject({
        code: 'PERMISSION_DENIED',
        message: expect.stringContaining('follows links out of what it is given'),
        details: { rule: 'project/shell.allowed_commands' },
      })
      const plain = await shell('grep -r was inner')
      expect(JSON.stringify(plain)).not.toContain('as it was')
      expect(await shell('cp -r inner copy')).toMatchObject({ status: 'success' })
    },
  )

  test.each([
    'dd if=../outside.txt of=copy',
    'dd if=in.txt of=../made',
    'cmp in.txt ../outside.txt',
    'od ../outside.txt',
    'comm ../outside.txt in.txt',
    'od --address-radix=x ../outside.txt',
  ])('H5: of a program of which nothing is known so is whatever leads there: %s', async (command) => {
    expect((await shell(command)).error).toMatchObject({
      code: 'PERMISSION_DENIED',
      details: { op: 'read', rule: 'project/filesystem.allowed_paths' },
    })
  })

  test.each([
    'sort in.txt',
    'tee made/../copy.txt',
    'tr / _',
    'chmod u+x in.txt',
    'basename a/b',
    'cut -d/ -f1 in.txt',
    'cmp in.txt in.txt',
    'basename a/b/c',
    'expr a/b : a',
    'od in.txt',
    'od /usr/bin/env',
    'comm ./in.txt in.txt',
  ])('BEN-01: %s passes', async (command) => {
    expect((await shell(command)).error?.code).not.toBe('PERMISSION_DENIED')
  })
})

test('H5: what runs code, by the name of any common program, asks although a list allows it', async () => {
  const { policies } = await openArgvPolicies(join(import.meta.dirname, '../../builtin/config/argv'))()
  const runsCode = (name: string): boolean => policiesOf(policies, name).some(({ runs_code }) => runs_code)
  const names =
    'php php8.2 java nodejs python3.12 perl ruby uv uvx npm cargo go vim vi nvim rsync ssh make docker su runuser chroot systemd-run sudo env xargs timeout'
  for (const name of names.split(' ')) expect([name, runsCode(name)]).toEqual([name, true])
})
