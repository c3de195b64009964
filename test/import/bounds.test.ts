import { spawnSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { soon } from '../fixtures/soon.ts'
import type { TempImport } from '../fixtures/temp-import.ts'
import { lineAt, openTempImport, statesOf } from '../fixtures/temp-import.ts'

let at: TempImport
let user: string
beforeAll(async () => {
  at = await openTempImport()
  user = at.temp.config.userSpace
})
afterEach(() => at.clear())
afterAll(() => at.close())

const SCRIPT = '#!/bin/bash\necho hello\n'

/** What was left, by its path below the source. */
async function leftOf(path = ''): Promise<Readonly<Record<string, string>>> {
  const { not_imported, items } = await soon(() => at.run(path))
  return Object.fromEntries(
    [
      ...not_imported,
      ...items.flatMap(({ from, state, reason }) => (state === 'skipped' ? [{ path: from, reason }] : [])),
    ].map((line) => [line.path.slice(at.source.length + 1), line.reason ?? '']),
  )
}

describe('C15: a folder that is too much', () => {
  test('more names in one folder than an import looks at are one line, and the rest is imported', async () => {
    at.put('.ai/tools/good.sh', SCRIPT)
    const first = at.put('.ai/tools/bomb/0.sh', SCRIPT)
    // Links of one file are quicker to make than files; a file has 65,000 at most on common disks.
    for (let n = 1; n < 20_001; n++) linkSync(first, join(at.source, `.ai/tools/bomb/${n}.sh`))
    expect(await leftOf()).toEqual({
      '.ai/tools/bomb': 'more than 20000 names in one folder, or 50000 in all',
    })
    expect(existsSync(join(user, 'tools/good.sh'))).toBe(true)
  })

  test('folders inside folders come to an end', async () => {
    at.put(`.ai/tools/${'d/'.repeat(40)}deep.sh`, SCRIPT)
    at.put(`.ai/tools/lib/${'l/'.repeat(40)}deep.py`, '')
    at.put('.ai/tools/good.sh', SCRIPT)
    const reasons = Object.values(await leftOf())
    expect(reasons).toEqual(['nested deeper than 16 folders', 'nested deeper than 16 folders'])
    expect(existsSync(join(user, 'tools/good.sh'))).toBe(true)
  })

  test('an item folder with too many files, or too deep, is one line', async () => {
    at.put('.ai/tools/many/tool.yaml', 'tool_type: bash\ndescription: d\n')
    for (let n = 0; n < 2002; n++) at.put(`.ai/tools/many/f${n}`)
    at.put('.ai/tools/deep/tool.yaml', 'tool_type: bash\ndescription: d\n')
    at.put(`.ai/tools/deep/${'d/'.repeat(20)}x`)
    at.put('.ai/tools/good.sh', SCRIPT)
    expect(await leftOf()).toEqual({
      '.ai/tools/deep': expect.stringContaining('nested deeper'),
      '.ai/tools/many': expect.stringContaining('more than 2000 files'),
    })
  })
})

describe('C15: a file that is too much, or none', () => {
  test('of 200 MB is left with its reason, whatever it is called', async () => {
    for (const path of [
      'tools/big.py',
      'tools/big.yaml',
      'tools/lib/big.py',
      'knowledge/big.md',
      'tools/f/main.sh',
    ]) {
      truncateSync(at.put(`.ai/${path}`), 200 * 1024 * 1024)
    }
    at.put('.ai/tools/f/tool.yaml', 'tool_type: bash\ndescription: d\n')
    at.put('.ai/tools/good.sh', SCRIPT)
    const left = await leftOf()
    expect(Object.keys(left)).toHaveLength(5)
    for (const reason of Object.values(left)) expect(reason).toContain('larger than')
    expect(existsSync(join(user, 'tools/good.sh'))).toBe(true)
  })

  test('links, pipes and hidden files are left, each with a line', async () => {
    writeFileSync(join(at.temp.folder, 'outside.sh'), SCRIPT)
    at.put('.ai/tools/good.sh', SCRIPT)
    symlinkSync(join(at.temp.folder, 'outside.sh'), join(at.source, '.ai/tools/link.sh'))
    symlinkSync(at.temp.folder, join(at.source, '.ai/tools/folder'))
    symlinkSync(at.temp.folder, join(at.source, '.ai/knowledge'))
    spawnSync('mkfifo', [join(at.source, '.ai/tools/pipe.py')])
    spawnSync('mkfifo', [join(at.source, '.ai/.env')])
    at.put('.ai/tools/.hidden.py', SCRIPT)
    at.put('.ai/tools/half/main.sh', SCRIPT)
    symlinkSync('main.sh', join(at.source, '.ai/tools/half/tool.yaml'))
    expect(await leftOf()).toEqual({
      '.ai/knowledge': 'a link: links are not followed',
      '.ai/tools/.hidden.py': 'hidden',
      '.ai/tools/folder': 'a link: links are not followed',
      '.ai/tools/half': expect.stringContaining('not a regular file'),
      '.ai/tools/link.sh': 'a link: links are not followed',
      '.ai/tools/pipe.py': 'not a regular file',
    })
    spawnSync('mkfifo', [join(at.source, 'alone.py')])
    expect(await leftOf('alone.py')).toEqual({ 'alone.py': 'not a regular file' })
  })

  test('a link in the folder of an item stays behind, and that is said', async () => {
    at.put('.ai/tools/linked/tool.yaml', 'tool_type: bash\nversion: 1.0.0\ndescription: d\n')
    at.put('.ai/tools/linked/main.sh', SCRIPT)
    symlinkSync('/etc/passwd', join(at.source, '.ai/tools/linked/passwords'))
    const batch = await at.run()
    expect(lineAt(batch, 'tools/linked').warnings).toContain('"passwords" is no plain file: left out')
    expect(existsSync(join(user, 'tools/linked/passwords'))).toBe(false)
  })

  test('names that differ only in case do not overwrite each other', async () => {
    at.put('.ai/tools/Hello.sh', SCRIPT)
    at.put('.ai/tools/hello.sh', `${SCRIPT}echo two\n`)
    expect(statesOf(await at.run())).toEqual({ 'tools/Hello.sh': 'imported', 'tools/hello_2.sh': 'conflict' })
    expect((await at.run()).totals).toMatchObject({ unchanged: 2 })
    at.put('.ai/tools/cased/tool.yaml', 'tool_type: bash\ndescription: d\n')
    at.put('.ai/tools/cased/a.txt', '1')
    at.put('.ai/tools/cased/A.txt', '2')
    expect(await leftOf()).toEqual({ '.ai/tools/cased': expect.stringContaining('upper from lower case') })
  })

  test('FS-03: a project whose folder is a link to elsewhere takes nothing', async () => {
    at.put('.ai/tools/good.sh', SCRIPT)
    mkdirSync(join(at.temp.project, '.ai'))
    const outside = join(at.temp.folder, 'outside')
    mkdirSync(outside, { recursive: true })
    symlinkSync(outside, join(at.temp.project, '.ai/tools'))
    const batch = await at.run('', { to: 'project' })
    expect(batch.items).toMatchObject([
      { state: 'skipped', reason: expect.stringContaining('a link leads out') },
    ])
    expect(existsSync(join(outside, 'good.sh'))).toBe(false)
  })
})
