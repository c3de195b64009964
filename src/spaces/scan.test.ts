import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../shared/limits.ts'
import { readItem } from './read-item.ts'
import type { Entry } from './scan.ts'
import { scan, stampAt } from './scan.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kiwi-scan-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function put(path: string, text = 'x'): string {
  const at = join(root, path)
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, text)
  return at
}

/** What was found, by its path below the root. */
const found = (): Readonly<Record<string, Pick<Entry, 'stem' | 'category' | 'kind'>>> =>
  Object.fromEntries(
    [...scan(root).values()].map(({ path, stem, category, kind }) => [
      path.slice(root.length + 1),
      { stem, category, kind },
    ]),
  )

const only = (): Entry => {
  const [entry, another] = scan(root).values()
  if (entry === undefined || another !== undefined) throw new Error('not one entry')
  return entry
}

describe('L1: what is found in a space', () => {
  test('manifests, folders with a tool.yaml and documents, with the folders above them as category', () => {
    put('tools/a.yaml')
    put('tools/web/b.yml')
    put('tools/web/mail/c.json')
    put('tools/d/tool.yaml')
    put('tools/web/e/tool.yaml')
    put('tools/web/e/data.yaml')
    put('tools/web/e/deep/tool.yaml')
    put('knowledge/f.md')
    put('knowledge/api/g.md')
    put('tools/dotted.name.yaml')
    expect(found()).toEqual({
      'tools/a.yaml': { stem: 'a', category: null, kind: 'manifest' },
      'tools/web/b.yml': { stem: 'b', category: 'web', kind: 'manifest' },
      'tools/web/mail/c.json': { stem: 'c', category: 'web/mail', kind: 'manifest' },
      'tools/d/tool.yaml': { stem: 'd', category: null, kind: 'folder' },
      'tools/web/e/tool.yaml': { stem: 'e', category: 'web', kind: 'folder' },
      'knowledge/f.md': { stem: 'f', category: null, kind: 'document' },
      'knowledge/api/g.md': { stem: 'g', category: 'api', kind: 'document' },
      'tools/dotted.name.yaml': { stem: 'dotted.name', category: null, kind: 'manifest' },
    })
  })

  test('scripts of every language, TOML, directives and skills, in the folder of old too', () => {
    for (const path of [
      'tools/a.py',
      'tools/web/b.sh',
      'tools/c.js',
      'tools/d.mjs',
      'tools/e.cjs',
      'tools/f.ts',
      'tools/g.toml',
      'scripts/old/h.py',
      'directives/i.md',
      'directives/web/lib/j.md',
      'directives/web/my-skill/SKILL.md',
      'directives/web/my-skill/references/more.md',
      'directives/web/my-skill/scripts/run.py',
    ]) {
      put(path)
    }
    const script = (stem: string, category: string | null = null): object => ({
      stem,
      category,
      kind: 'script',
    })
    expect(found()).toEqual({
      'tools/a.py': script('a'),
      'tools/web/b.sh': script('b', 'web'),
      'tools/c.js': script('c'),
      'tools/d.mjs': script('d'),
      'tools/e.cjs': script('e'),
      'tools/f.ts': script('f'),
      'tools/g.toml': { stem: 'g', category: null, kind: 'manifest' },
      'scripts/old/h.py': script('h', 'old'),
      'directives/i.md': { stem: 'i', category: null, kind: 'document' },
      'directives/web/lib/j.md': { stem: 'j', category: 'web/lib', kind: 'document' },
      'directives/web/my-skill/SKILL.md': { stem: 'my-skill', category: 'web', kind: 'folder' },
    })
  })

  test('a manifest and a script of one name know of each other, and change with each other', () => {
    const manifest = put('tools/a.yaml')
    const script = put('tools/a.py')
    put('tools/b.py')
    const before = scan(root)
    expect(before.get(manifest)?.beside).toEqual(['a.py'])
    expect(before.get(script)?.beside).toEqual(['a.yaml'])
    expect(before.get(join(root, 'tools/b.py'))?.beside).toEqual([])
    put('tools/a.py', 'changed')
    const after = scan(root)
    expect(after.get(manifest)?.stamp).not.toBe(before.get(manifest)?.stamp)
    const entry = after.get(manifest)
    expect(entry === undefined ? null : stampAt(entry)).toBe(entry?.stamp)
  })

  test('no libraries, hidden files, other files, or anything outside the two folders', () => {
    for (const path of [
      'tools/lib/a.yaml',
      'tools/web/lib/a.yaml',
      'tools/primitives/subprocess.yaml',
      'tools/node_modules/p/package.json',
      'tools/__pycache__/a.json',
      'tools/.hidden.yaml',
      'tools/.git/a.yaml',
      'tools/__init__.py',
      'tools/lib/a.py',
      'scripts/lib/b.py',
      'tools/types.d.ts',
      'directives/a.yaml',
      'directives/a.py',
      'tools/readme.md',
      'tools/yaml',
      'tools/.yaml',
      'knowledge/a.yaml',
      'knowledge/tool.yaml',
      'other/a.yaml',
      'a.yaml',
      'kiwi.json',
    ]) {
      put(path)
    }
    expect(found()).toEqual({})
  })

  test('a document may lie in a folder of any name', () => {
    put('knowledge/lib/a.md')
    put('knowledge/primitives/b.md')
    expect(Object.keys(found()).toSorted()).toEqual(['knowledge/lib/a.md', 'knowledge/primitives/b.md'])
  })

  test('a tool.yaml without a folder of its own is no item: removing it would remove everything', () => {
    put('tools/tool.yaml')
    put('tools/a.yaml')
    expect(Object.keys(found())).toEqual(['tools/a.yaml'])
  })

  test('shipped items may lie in a folder that others may not use', () => {
    put('tools/primitives/subprocess.yaml')
    expect([...scan(root, new Set()).values()].map(({ stem }) => stem)).toEqual(['subprocess'])
  })

  test('nothing where there is nothing', () => {
    expect(scan(join(root, 'missing')).size).toBe(0)
    writeFileSync(join(root, 'tools'), 'a file')
    expect(found()).toEqual({})
  })
})

describe('links and other things that are no plain files', () => {
  test('a link to a file or a folder is not followed', () => {
    put('tools/real.yaml')
    put('elsewhere/secret.yaml')
    symlinkSync(join(root, 'elsewhere', 'secret.yaml'), join(root, 'tools', 'link.yaml'))
    symlinkSync(join(root, 'elsewhere'), join(root, 'tools', 'linked'))
    symlinkSync(join(root, 'tools'), join(root, 'tools', 'again'))
    expect(Object.keys(found())).toEqual(['tools/real.yaml'])
  })

  test('a tool.yaml that is a link, a loop or a pipe is shown, so that reading it can say what is wrong', () => {
    put('elsewhere/tool.yaml')
    put('tools/good.yaml')
    for (const name of ['linked', 'loop', 'pipe']) mkdirSync(join(root, 'tools', name), { recursive: true })
    symlinkSync(join(root, 'elsewhere', 'tool.yaml'), join(root, 'tools', 'linked', 'tool.yaml'))
    symlinkSync('tool.yaml', join(root, 'tools', 'loop', 'tool.yaml'))
    expect(spawnSync('mkfifo', [join(root, 'tools', 'pipe', 'tool.yaml')]).status).toBe(0)
    expect(Object.keys(found()).toSorted()).toEqual([
      'tools/good.yaml',
      'tools/linked/tool.yaml',
      'tools/loop/tool.yaml',
      'tools/pipe/tool.yaml',
    ])
  })

  test('folders without end come to an end', () => {
    put(`tools/${'d/'.repeat(16)}in.yaml`)
    put(`tools/${'e/'.repeat(17)}out.yaml`)
    expect([...scan(root).values()].map(({ stem }) => stem)).toEqual(['in'])
  })
})

describe('C1: the stamp', () => {
  test('stays while nothing changes, and is the same when it is asked for again', () => {
    put('tools/a.yaml')
    expect(only()).toEqual(only())
    expect(stampAt(only())).toBe(only().stamp)
  })

  test.each<readonly [string, (path: string) => void]>([
    ['the text', (path) => writeFileSync(path, 'longer')],
    ['the time', (path) => utimesSync(path, 1, 1)],
    ['the mode', (path) => chmodSync(path, 0o700)],
    [
      'the file itself',
      (path) => {
        writeFileSync(`${path}.new`, 'x')
        renameSync(`${path}.new`, path)
      },
    ],
  ])('changes with %s', (_, change) => {
    const path = put('tools/a.yaml')
    const before = only()
    change(path)
    expect(only().stamp).not.toBe(before.stamp)
    expect(stampAt(before)).not.toBe(before.stamp)
  })

  test.each<readonly [string, () => void]>([
    ['a file that is new', () => void put('tools/a/b.py')],
    ['a file that is gone', () => rmSync(join(root, 'tools/a/main.py'))],
    ['a file below', () => void put('tools/a/lib/deep.py', 'changed')],
    ['a mode', () => chmodSync(join(root, 'tools/a/main.py'), 0o755)],
    ['the manifest', () => void put('tools/a/tool.yaml', 'changed')],
    ['a name', () => renameSync(join(root, 'tools/a/main.py'), join(root, 'tools/a/other.py'))],
  ])('of a folder changes with %s', (_, change) => {
    put('tools/a/tool.yaml')
    put('tools/a/main.py')
    put('tools/a/lib/deep.py')
    const before = only()
    change()
    expect(only().stamp).not.toBe(before.stamp)
    expect(stampAt(before)).not.toBe(before.stamp)
  })

  test.each<readonly [string, () => void]>([
    [
      'files',
      () => {
        mkdirSync(join(root, 'tools/a/node_modules'))
        for (let n = 0; n < LIMITS.bundleFiles + 1; n++)
          writeFileSync(join(root, 'tools/a/node_modules', `${n}.js`), '')
      },
    ],
    [
      'folders',
      () => {
        mkdirSync(join(root, 'tools/a/deep'))
        for (let n = 0; n < 2 * LIMITS.bundleFiles; n++) mkdirSync(join(root, 'tools/a/deep', `${n}`))
      },
    ],
  ])('of a folder with too many %s is that there are too many, and reading says so', async (_, fill) => {
    put('tools/a/tool.yaml', 'tool_type: bash\ndescription: d\n')
    fill()
    const entry = only()
    expect(stampAt(entry)).toBe('MESSAGE_TOO_LARGE')
    await expect(readItem(entry, 'project')).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' })
  })

  test('of a folder with as many files as an item may have is that of its files', async () => {
    put('tools/a/tool.yaml', 'tool_type: bash\ndescription: d\n')
    for (let n = 0; n < LIMITS.bundleFiles; n++) writeFileSync(join(root, 'tools/a', `${n}.js`), '')
    const entry = only()
    expect(entry.stamp).toMatch(/^[0-9a-f]{64}$/)
    expect((await readItem(entry, 'project')).filePaths.length).toBe(LIMITS.bundleFiles)
    put('tools/a/one-more.js')
    expect(only().stamp).toBe('MESSAGE_TOO_LARGE')
  })

  test('of what is gone is null', () => {
    const path = put('tools/a.yaml')
    const before = only()
    rmSync(path)
    expect(stampAt(before)).toBe(null)
  })

  test('the time of a folder is that of its newest file', () => {
    utimesSync(put('tools/a/tool.yaml'), 100, 100)
    utimesSync(put('tools/a/main.py'), 200, 200)
    expect(only().modified).toBe(200_000)
  })
})

describe('E2: a scan that knows what was there before', () => {
  const again = (before: ReadonlyMap<string, Entry>): ReadonlyMap<string, Entry> =>
    scan(root, undefined, undefined, { before })

  test('gives the same entries for what is the same, and new ones for what changed', () => {
    put('tools/a.yaml')
    put('tools/b.py')
    put('knowledge/c.md')
    const first = scan(root)
    const second = again(first)
    for (const [path, entry] of first) expect(second.get(path)).toBe(entry)
    put('tools/b.py', 'changed')
    rmSync(join(root, 'knowledge/c.md'))
    put('tools/d.sh')
    const third = again(second)
    expect(third).toEqual(scan(root))
    expect(third.get(join(root, 'tools/a.yaml'))).toBe(first.get(join(root, 'tools/a.yaml')))
  })

  test('sees that a manifest got a script beside it, and lost it', () => {
    put('tools/a.yaml')
    const alone = scan(root)
    put('tools/a.py')
    const beside = again(alone)
    expect(beside).toEqual(scan(root))
    expect(beside.get(join(root, 'tools/a.yaml'))?.beside).toEqual(['a.py'])
    rmSync(join(root, 'tools/a.py'))
    expect(again(beside)).toEqual(alone)
  })
})
