import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Clock } from '../shared/clock.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { FileSpace } from './file-space.ts'
import { openFileSpace } from './file-space.ts'
import type { Item } from './item.ts'

let root: string
let now: number
let space: FileSpace
const clock: Clock = { now: () => 0, monotonic: () => now }

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kiwi-space-'))
  now = 0
  space = openFileSpace({ space: 'project', root, within: root }, clock)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** Every file gets a time of its own, so that no change is too quick to be seen. */
let time = 1_700_000_000
function put(path: string, text: string): string {
  const at = join(root, path)
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, text)
  time += 1
  utimesSync(at, time, time)
  return at
}

const manifest = (id: string | null, description = 'd'): string =>
  `${id === null ? '' : `tool_id: ${id}\n`}tool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: ${description}\n`

function find(id: string, itemType: ItemType = 'tool'): Promise<Item | null> {
  space.freshen(true)
  return space.find(parseItemRef(id), itemType)
}
const pathOf = async (id: string, itemType: ItemType = 'tool'): Promise<string | undefined> =>
  (await find(id, itemType))?.path?.slice(root.length + 1)

describe('L1: an id leads to', () => {
  test('the file in the root, though there is another of its name below', async () => {
    put('tools/web/a.yaml', manifest('a'))
    put('tools/a.yaml', manifest('a'))
    expect(await pathOf('a')).toBe('tools/a.yaml')
    expect(await pathOf('web/a')).toBe('tools/web/a.yaml')
  })

  test('the one file of its name, however far down', async () => {
    put('tools/web/mail/a.yaml', manifest('a'))
    put('tools/web/mail/b/tool.yaml', manifest('b'))
    expect(await pathOf('a')).toBe('tools/web/mail/a.yaml')
    expect(await pathOf('web/mail/b')).toBe('tools/web/mail/b/tool.yaml')
    expect(await pathOf('web/a')).toBe(undefined)
    expect(await pathOf('mail/a')).toBe(undefined)
    expect(await pathOf('A')).toBe(undefined)
  })

  test('nothing, with both paths named, when two files have the name', async () => {
    const paths = [put('tools/web/a.yaml', manifest('a')), put('tools/mail/a/tool.yaml', manifest('a'))]
    await expect(find('a')).rejects.toMatchObject({
      code: 'AMBIGUOUS_ID',
      message: expect.stringContaining(paths[0] ?? ''),
    })
    await expect(find('a')).rejects.toMatchObject({
      message: expect.stringContaining(paths[1] ?? ''),
      details: {
        candidates: expect.arrayContaining([
          { id: 'web/a', path: paths[0] },
          { id: 'mail/a', path: paths[1] },
        ]),
      },
    })
    expect(await pathOf('web/a')).toBe('tools/web/a.yaml')
    expect(await pathOf('mail/a')).toBe('tools/mail/a/tool.yaml')
  })

  test('nothing in a library', async () => {
    put('tools/lib/a.yaml', manifest('a'))
    expect(await find('a')).toBe(null)
  })

  test('the document when knowledge was asked for, else the tool', async () => {
    put('tools/a.yaml', manifest('a'))
    put('knowledge/a.md', '# A')
    expect(await pathOf('a', 'tool')).toBe('tools/a.yaml')
    expect(await pathOf('a', 'knowledge')).toBe('knowledge/a.md')
  })

  test('a document for knowledge alone, and knowledge among the tools', async () => {
    put('knowledge/a.md', '# A')
    put('tools/b.yaml', 'tool_type: knowledge\nversion: 1.0.0\ndescription: d')
    expect(await pathOf('a', 'tool')).toBe(undefined)
    expect(await pathOf('a', 'knowledge')).toBe('knowledge/a.md')
    expect(await pathOf('b', 'knowledge')).toBe('tools/b.yaml')
  })

  test('the item that declares it, though its file is named otherwise', async () => {
    put('tools/file.yaml', manifest('declared'))
    expect(await find('declared')).toMatchObject({
      id: 'declared',
      warnings: ['its file is named "file", not "declared"'],
    })
    expect((await find('file'))?.id).toBe('declared')
  })

  test('nothing when two files declare it', async () => {
    put('tools/x.yaml', manifest('declared'))
    put('tools/y.yaml', manifest('declared'))
    await expect(find('declared')).rejects.toMatchObject({ code: 'AMBIGUOUS_ID' })
  })

  test('the file of its name before a file that declares it', async () => {
    put('tools/other.yaml', manifest('a'))
    put('tools/a.yaml', manifest('a'))
    expect(await pathOf('a')).toBe('tools/a.yaml')
  })

  test('an error when its file cannot be read: that is no absence', async () => {
    put('tools/a.yaml', 'a: [')
    await expect(find('a')).rejects.toMatchObject({
      code: 'PARSE_ERROR',
      message: expect.stringContaining('tools/a.yaml'),
    })
  })

  test('what it leads to beside broken files', async () => {
    put('tools/broken.yaml', 'a: [')
    put('tools/file.yaml', manifest('declared'))
    expect((await find('declared'))?.id).toBe('declared')
    expect(await find('nobody')).toBe(null)
  })
})

describe('C1, C14: changes', () => {
  test('an edited file is seen, and a new generation says so', async () => {
    put('tools/a.yaml', manifest('a', 'before'))
    const before = await find('a')
    const { generation } = space
    expect(await find('a')).toBe(before)
    expect(space.generation).toBe(generation)
    put('tools/a.yaml', manifest('a', 'after'))
    expect(before !== null && space.isCurrent(before)).toBe(false)
    expect((await find('a'))?.manifest.description).toBe('after')
    expect(space.generation).toBe(generation + 1)
  })

  test('a file of a folder is part of it', async () => {
    put('tools/a/tool.yaml', manifest('a'))
    put('tools/a/main.sh', 'one')
    const before = await find('a')
    put('tools/a/main.sh', 'two')
    expect(before !== null && space.isCurrent(before)).toBe(false)
    expect((await find('a'))?.contentHash).not.toBe(before?.contentHash)
  })

  test('a file that is new or gone is seen', async () => {
    expect(await find('a')).toBe(null)
    const path = put('tools/a.yaml', manifest('a'))
    const item = await find('a')
    expect(item !== null && space.isCurrent(item)).toBe(true)
    rmSync(path)
    expect(item !== null && space.isCurrent(item)).toBe(false)
    expect(await find('a')).toBe(null)
  })

  test('a declared id that changed is seen', async () => {
    put('tools/file.yaml', manifest('one'))
    expect((await find('one'))?.id).toBe('one')
    put('tools/file.yaml', manifest('two'))
    expect(await find('one')).toBe(null)
    expect((await find('two'))?.id).toBe('two')
  })

  test('a broken file that was mended is read', async () => {
    put('tools/a.yaml', 'a: [')
    await expect(find('a')).rejects.toMatchObject({ code: 'PARSE_ERROR' })
    put('tools/a.yaml', manifest('a'))
    expect((await find('a'))?.id).toBe('a')
  })

  test('E2: a file that is new or gone is seen at once, in whichever folder', () => {
    put('tools/a/a.yaml', manifest('a'))
    space.freshen()
    const seen = (): number => {
      space.freshen()
      return space.stamps().size
    }
    put('tools/b.yaml', manifest('b'))
    expect(seen()).toBe(2)
    put('tools/a/c.yaml', manifest('c'))
    expect(seen()).toBe(3)
    put('knowledge/d.md', '# D')
    expect(seen()).toBe(4)
    rmSync(join(root, 'tools/a/c.yaml'))
    expect(seen()).toBe(3)
    const { generation } = space
    space.freshen()
    expect(space.generation).toBe(generation)
  })

  test('E2: of very many folders the new are seen within a tenth of a second', () => {
    for (let at = 0; at < 70; at++) put(`tools/f${at}/t${at}.yaml`, manifest(`t${at}`))
    space.freshen()
    put('tools/f1/new.yaml', manifest('new'))
    now = 99
    space.freshen()
    expect(space.stamps().size).toBe(70)
    now = 100
    space.freshen()
    expect(space.stamps().size).toBe(71)
  })

  test('files that were edited are looked at once a second, unless it has to be now', async () => {
    put('tools/a.yaml', manifest('a'))
    put('tools/b.yaml', manifest('b'))
    space.freshen()
    put('tools/a.yaml', manifest('a', 'edited'))
    now = 999
    space.freshen()
    expect(space.generation).toBe(1)
    now = 1000
    space.freshen()
    expect(space.generation).toBe(2)
    put('tools/b.yaml', manifest('b', 'edited'))
    space.freshen(true)
    expect(space.generation).toBe(3)
  })

  test('with a watch they are looked at when it reports something, or after half a minute', async () => {
    const faults: string[] = []
    const onWatchFault = (reason: string): void => void faults.push(reason)
    const watched = openFileSpace({ space: 'project', root, within: root, onWatchFault }, clock)
    put('tools/a.yaml', manifest('a'))
    put('tools/b.yaml', manifest('b'))
    watched.freshen()
    const { generation } = watched
    // What the watch has to say is heard between turns of the loop, and there is none before the next lines.
    put('tools/b.yaml', manifest('b', 'edited'))
    now += 29_999
    watched.freshen()
    expect(watched.generation).toBe(generation)
    now += 1
    watched.freshen()
    expect(watched.generation).toBe(generation + 1)
    put('tools/c.yaml', manifest('c'))
    await watched.catchUp()
    expect(watched.generation).toBe(generation + 2)
    watched.close()
    put('tools/d.yaml', manifest('d'))
    await watched.catchUp()
    expect(watched.generation).toBe(generation + 3)
    expect(faults).toEqual([])
  })

  test('before the first look there is nothing', async () => {
    put('tools/a.yaml', manifest('a'))
    expect(await space.find(parseItemRef('a'), 'tool')).toBe(null)
    expect(space.stamps().size).toBe(0)
  })
})

test('a broken file is a fault by name and does not hide the others', async () => {
  const good = put('tools/good.yaml', manifest('good'))
  const faulty = {
    [put('tools/broken.yaml', 'a: [')]: 'Cannot read',
    [put('tools/untyped.json', '{"tool_id": "x"}')]: 'tool_type',
    [put('tools/old.py', '__tool_type__ = "extractor"\n')]: 'never run',
    [put('knowledge/bad.md', '---\na: [\n---\n')]: 'Cannot read',
  }
  put('tools/package.json', '{"name": "x"}')
  space.freshen(true)
  const { items, faults } = await space.read([...space.stamps().keys(), join(root, 'tools/gone.yaml')])
  expect(items.map(({ path }) => path)).toEqual([good])
  expect(new Set(faults.map(({ path }) => path))).toEqual(new Set(Object.keys(faulty)))
  for (const { path, reason } of faults) expect(reason).toContain(faulty[path])
})

test('FS-03: what is left out is a fault by name: links, pipes, and what lies too deep', () => {
  put('tools/folder/tool.yaml', manifest('folder'))
  symlinkSync('/etc/hosts', join(root, 'tools/folder/data.txt'))
  symlinkSync('/etc/hosts', join(root, 'tools/linked.sh'))
  symlinkSync(tmpdir(), join(root, 'tools/node_modules'))
  expect(spawnSync('mkfifo', [join(root, 'tools/pipe.py')]).status).toBe(0)
  put(`tools/${'d/'.repeat(17)}deep.yaml`, manifest('deep'))
  space.freshen(true)
  const left = [`tools/${'d/'.repeat(16)}d`, 'tools/folder/data.txt', 'tools/linked.sh', 'tools/pipe.py']
  expect(
    space
      .faults()
      .map(({ path }) => path.slice(root.length + 1))
      .toSorted(),
  ).toEqual(left.toSorted())
  for (const { path, reason } of space.faults()) expect(reason).toContain(`"${path}"`)
  const { generation } = space
  rmSync(join(root, 'tools/folder/data.txt'))
  space.freshen(true)
  expect([space.faults().length, space.generation]).toEqual([3, generation + 1])
})

describe('FS-03: a link in the place of a type folder', () => {
  let outside: string
  beforeEach(() => {
    outside = mkdtempSync(join(tmpdir(), 'kiwi-outside-'))
    mkdirSync(join(outside, 'tools'))
    writeFileSync(join(outside, 'tools', 'secret.yaml'), manifest('secret'))
    writeFileSync(join(outside, 'secret.md'), '# Secret')
  })
  afterEach(() => rmSync(outside, { recursive: true, force: true }))

  test('that leads out of the project shows nothing, and is a fault by name', async () => {
    put('tools/a.yaml', manifest('a'))
    symlinkSync(outside, join(root, 'knowledge'))
    expect(await find('secret', 'knowledge')).toBe(null)
    expect((await find('a'))?.id).toBe('a')
    expect(space.faults()).toEqual([
      { path: join(root, 'knowledge'), reason: expect.stringContaining(outside) },
    ])
  })

  test('that is set later is seen as a change, and so is its end', () => {
    space.freshen(true)
    const { generation } = space
    symlinkSync(outside, join(root, 'knowledge'))
    space.freshen(true)
    expect([space.generation, space.faults().length]).toEqual([generation + 1, 1])
    rmSync(join(root, 'knowledge'))
    space.freshen(true)
    expect([space.generation, space.faults().length]).toEqual([generation + 2, 0])
  })

  test('higher up is no way out either', async () => {
    symlinkSync(outside, join(root, '.ai'))
    space = openFileSpace({ space: 'project', root: join(root, '.ai'), within: root }, clock)
    expect(await find('secret')).toBe(null)
    expect(space.faults().map(({ path }) => path)).toEqual([join(root, '.ai', 'tools')])
  })

  test('is followed inside the project, and anywhere by the user, who may link as they like', async () => {
    put('shared/a.yaml', manifest('a'))
    symlinkSync('shared', join(root, 'tools'))
    expect((await find('a'))?.id).toBe('a')
    symlinkSync(outside, join(root, 'knowledge'))
    space = openFileSpace({ space: 'user', root, within: null }, clock)
    expect((await find('secret', 'knowledge'))?.id).toBe('secret')
    expect(space.faults()).toEqual([])
  })

  test('into nothing or into itself is nothing', () => {
    symlinkSync(join(outside, 'gone'), join(root, 'tools'))
    symlinkSync('knowledge', join(root, 'knowledge'))
    space.freshen(true)
    expect([space.stamps().size, space.faults()]).toEqual([0, []])
  })
})

test('PAR-02: a mistake of ours that one file brings to light is said, and keeps nobody from the others', async () => {
  const said: object[] = []
  const quiet = (): void => undefined
  const log = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (event: string, fields = {}) => void said.push({ event, ...fields }),
  }
  const learn = (): never => {
    throw new RangeError('too deep')
  }
  const path = put(
    'tools/servers/mcp_a.yaml',
    'tool_id: mcp_a\ntool_type: mcp_server\nversion: 1.0.0\ndescription: d\nexecutor: subprocess\nconfig: {command: a}\n',
  )
  const other = put('tools/b.yaml', manifest('b'))
  space = openFileSpace({ space: 'project', root, within: root, learn, log }, clock)
  expect(await pathOf('b')).toBe('tools/b.yaml')
  expect(await pathOf('nobody')).toBe(undefined)
  const { items, faults } = await space.read([path, other])
  expect(items.map(({ id }) => id)).toEqual(['b'])
  expect(faults).toMatchObject([{ path, reason: `Cannot read "${path}": too deep`, entry: { path } }])
  expect(said).toEqual([
    { event: 'item.not_read', path, reason: 'too deep', stack: expect.stringContaining('RangeError') },
  ])
  await expect(find('mcp_a', 'mcp')).rejects.toMatchObject({ code: 'INTERNAL', details: { path } })
})
