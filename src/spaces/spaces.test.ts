import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoreFolder } from '../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../test/fixtures/store-folder.ts'
import { sampleVersion } from '../../test/fixtures/store-samples.ts'
import { systemClock } from '../shared/clock.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { Store } from '../store/store.ts'
import type { Lookup } from './lookup.ts'
import type { Spaces } from './spaces.ts'
import { openSpaces } from './spaces.ts'

const BUILTIN = fileURLToPath(new URL('../../builtin', import.meta.url))

let place: StoreFolder
let store: Store
let spaces: Spaces
beforeEach(async () => {
  place = await makeStoreFolder()
  store = await place.open()
  spaces = await openSpaces({
    store,
    clock: systemClock,
    userSpace: join(place.folder, 'user'),
    builtinFolder: BUILTIN,
  })
})
afterEach(() => place.dispose())

const MANIFEST = 'tool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: d\n'

function project(name: string, ...tools: readonly string[]): string {
  const folder = join(place.folder, name)
  mkdirSync(join(folder, '.ai', 'tools'), { recursive: true })
  for (const tool of tools) writeFileSync(join(folder, '.ai', 'tools', `${tool}.yaml`), MANIFEST)
  return folder
}

async function spaceOf(lookup: Lookup, id: string): Promise<string | undefined> {
  lookup.freshen(true)
  return (await lookup.find(parseItemRef(id), 'tool'))?.space
}

test('T7, L1: opening them puts what is shipped into the store', async () => {
  expect(await spaceOf(spaces.at(null), 'subprocess')).toBe('builtin')
})

test('L1: each project sees its own items, and all see the user’s and the shipped ones', async () => {
  mkdirSync(join(place.folder, 'user', 'tools'), { recursive: true })
  writeFileSync(join(place.folder, 'user', 'tools', 'mine.yaml'), MANIFEST)
  const [one, two, none] = [spaces.at(project('one', 'a')), spaces.at(project('two', 'b')), spaces.at(null)]
  const seen = async (lookup: Lookup) =>
    Promise.all(['a', 'b', 'mine', 'python_runtime'].map((id) => spaceOf(lookup, id)))
  expect(await seen(one)).toEqual(['project', undefined, 'user', 'builtin'])
  expect(await seen(two)).toEqual([undefined, 'project', 'user', 'builtin'])
  expect(await seen(none)).toEqual([undefined, undefined, 'user', 'builtin'])
  expect(none.projectPath).toBe(null)
  expect(one.roots).toEqual([
    { space: 'project', root: join(place.folder, 'one', '.ai') },
    { space: 'user', root: join(place.folder, 'user') },
  ])
})

describe('S11: the project path', () => {
  test.each<readonly [string, (folder: string) => string]>([
    ['that does not exist', (folder) => join(folder, 'missing')],
    [
      'that is a file',
      (folder) => {
        writeFileSync(join(folder, 'file'), '')
        return join(folder, 'file')
      },
    ],
    ['below a file', (folder) => join(folder, 'kiwi.db', 'x')],
    [
      'that is a link to itself',
      (folder) => {
        symlinkSync('loop', join(folder, 'loop'))
        return join(folder, 'loop')
      },
    ],
    ['that is too long for any disk', (folder) => join(folder, 'x'.repeat(5000))],
    ['with a NUL byte', (folder) => `${folder}/a\0b`],
  ])('%s is refused, and it says how to pass one', (_, make) => {
    const path = make(place.folder)
    expect(() => spaces.at(path)).toThrow(
      expect.objectContaining({
        code: 'PROJECT_PATH_REQUIRED',
        message: expect.stringContaining('as the project'),
        hint: expect.stringContaining('project_path'),
      }),
    )
  })

  test('a project without any items is a project', async () => {
    mkdirSync(join(place.folder, 'empty'))
    const lookup = spaces.at(join(place.folder, 'empty'))
    expect(await spaceOf(lookup, 'bash_runtime')).toBe('builtin')
    expect((await lookup.syncIndex()).faults).toEqual([])
  })

  test('spellings of one folder are one project', () => {
    const folder = project('one')
    expect(spaces.at(`${folder}/`)).toBe(spaces.at(folder))
    expect(spaces.at(join(folder, '.ai', '..'))).toBe(spaces.at(folder))
    expect(spaces.at(null)).toBe(spaces.at(null))
  })
})

test('the reserved ids are asked for again when the store did not answer', async () => {
  let isBroken = true
  const reserved = (): Promise<ReadonlySet<string>> =>
    isBroken ? Promise.reject(new Error('locked')) : store.registry.reserved()
  const shaky = await openSpaces({
    store: { ...store, registry: { ...store.registry, reserved } },
    clock: systemClock,
    userSpace: join(place.folder, 'user'),
    builtinFolder: BUILTIN,
  })
  await expect(spaceOf(shaky.at(null), 'subprocess')).rejects.toThrow('locked')
  isBroken = false
  expect(await spaceOf(shaky.at(null), 'subprocess')).toBe('builtin')
})

test('only the projects used last are kept', () => {
  const folders = Array.from({ length: 65 }, (_, n) => project(`p${n}`))
  const [first, second] = [spaces.at(folders[0] ?? ''), spaces.at(folders[1] ?? '')]
  for (const folder of folders.slice(2, 64)) spaces.at(folder)
  expect(spaces.at(folders[0] ?? '')).toBe(first)
  spaces.at(folders[64] ?? '')
  expect(spaces.at(folders[0] ?? '')).toBe(first)
  expect(spaces.at(folders[1] ?? '')).not.toBe(second)
})

test('C14: what another process publishes is seen by all projects, a new reserved id too', async () => {
  const lookup = spaces.at(project('one', 'fresh'))
  expect(await spaceOf(lookup, 'fresh')).toBe('project')
  const other = await place.open()
  await other.registry.publish(
    sampleVersion({
      tool_id: 'other',
      manifest: { tool_id: 'other', tool_type: 'script', executor: 'python_runtime', version: '1.0.0' },
    }),
  )
  expect(await spaceOf(lookup, 'other')).toBe('registry')
  const shipped = join(place.folder, 'shipped')
  mkdirSync(join(shipped, 'tools'), { recursive: true })
  writeFileSync(
    join(shipped, 'tools', 'fresh.yaml'),
    'tool_type: runtime\nexecutor: subprocess\nversion: 1.0.0\ndescription: d',
  )
  await openSpaces({
    store: other,
    clock: systemClock,
    userSpace: join(place.folder, 'user'),
    builtinFolder: shipped,
  })
  expect(await spaceOf(lookup, 'fresh')).toBe('builtin')
  rmSync(shipped, { recursive: true })
})
