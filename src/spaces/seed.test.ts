import { cpSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoreFolder } from '../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../test/fixtures/store-folder.ts'
import { sampleQuery } from '../../test/fixtures/store-samples.ts'
import type { Store } from '../store/store.ts'
import { seed } from './seed.ts'

const BUILTIN = fileURLToPath(new URL('../../builtin', import.meta.url))

let place: StoreFolder
let store: Store
let shipped: string
beforeEach(async () => {
  place = await makeStoreFolder()
  store = await place.open()
  shipped = join(place.folder, 'builtin')
  cpSync(BUILTIN, shipped, { recursive: true })
})
afterEach(() => place.dispose())

const idsOf = async (): Promise<readonly string[]> => {
  const { hits } = await store.index.search(
    sampleQuery('', { spaces: ['builtin'], limit: 100, sortBy: 'name' }),
  )
  return hits.map(({ item_id }) => item_id)
}

describe('T7: what is shipped', () => {
  const RESERVED = [
    'subprocess',
    'http_client',
    'python_runtime',
    'bash_runtime',
    'node_runtime',
    'deno_runtime',
    'docker_runtime',
    'docker_command_runtime',
    'git_runtime',
    'shell_runtime',
    'llm_runtime',
    'filesystem',
    ...['read', 'write', 'create', 'delete', 'move', 'list', 'stat', 'search'].map(
      (name) => `filesystem.${name}`,
    ),
    'shell.run',
    ...'status diff log add commit branch switch push pull fetch checkpoint'
      .split(' ')
      .map((name) => `git.${name}`),
  ]
  const OTHERS = ['mcp_supabase', 'mcp_github', 'mcp_filesystem', 'mcp_postgres', 'mcp_slack']

  test('is all there in a fresh store, and seeding again writes nothing', async () => {
    const written = await seed(store, shipped)
    expect(await idsOf()).toEqual(expect.arrayContaining([...RESERVED, ...OTHERS]))
    expect((await idsOf()).length).toBe(written)
    const generation = store.generation()
    expect(await seed(store, shipped)).toBe(0)
    expect(store.generation()).toBe(generation)
  })

  test('primitives and runtimes are reserved, the others are not', async () => {
    await seed(store, shipped)
    expect(await store.registry.reserved()).toEqual(new Set(RESERVED))
  })

  test('a server is off until it is enabled', async () => {
    await seed(store, shipped)
    const nodes = await store.registry.nodes(OTHERS)
    expect(OTHERS.map((id) => nodes.get(id)?.manifest['enabled'])).toEqual(OTHERS.map(() => false))
  })

  test('files come with their bytes and modes', async () => {
    await seed(store, shipped)
    const files = await store.registry.files('hello_bash', '1.0.0')
    expect(files.map(({ path }) => path)).toEqual(['main.sh'])
    expect(Buffer.from(files[0]?.content ?? []).toString()).toContain('ello')
  })
})

describe('T7: whether it has to be done again is told by content', () => {
  test('a fresh install of the same release, with other times and in another folder, writes nothing', async () => {
    await seed(store, shipped)
    const again = join(place.folder, 'again')
    cpSync(shipped, again, { recursive: true })
    utimesSync(join(again, 'tools', 'runtimes', 'bash_runtime.yaml'), 1, 1)
    expect(await seed(store, again)).toBe(0)
  })

  test('one item that changed is written, the others are not', async () => {
    await seed(store, shipped)
    writeFileSync(
      join(shipped, 'tools', 'runtimes', 'bash_runtime.yaml'),
      'tool_id: bash_runtime\ntool_type: runtime\nexecutor: subprocess\nversion: 1.0.0\ndescription: Changed\nconfig: { command: bash }\n',
    )
    expect(await seed(store, shipped)).toBe(1)
    expect((await store.registry.nodes(['bash_runtime'])).get('bash_runtime')?.manifest['description']).toBe(
      'Changed',
    )
  })

  test('what is no longer shipped goes', async () => {
    await seed(store, shipped)
    rmSync(join(shipped, 'tools', 'samples'), { recursive: true })
    await seed(store, shipped)
    expect(await idsOf()).not.toContain('hello_world')
  })

  test('a broken file stops it before anything is written', async () => {
    writeFileSync(join(shipped, 'tools', 'broken.yaml'), 'a: [')
    await expect(seed(store, shipped)).rejects.toMatchObject({ code: 'PARSE_ERROR' })
    expect(await idsOf()).toEqual([])
    expect(await store.registry.seeded()).toBe(null)
  })
})
