import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StoreFolder } from '../../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../../test/fixtures/store-folder.ts'
import { sampleVersion, SHIPPED } from '../../../test/fixtures/store-samples.ts'

let place: StoreFolder
beforeEach(async () => {
  place = await makeStoreFolder()
})
afterEach(() => place.dispose())

const silent = (): void => undefined
const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(7)

test('T4: short text stands in its row, everything else once by its hash, and goes with its last user', async () => {
  const { registry } = await place.open()
  const raw = await place.raw()
  const files = [
    { path: 'main.py', content: new TextEncoder().encode('print(1)\n'), isExecutable: true },
    { path: 'a.bin', content: bytes(70_000), isExecutable: false },
    { path: 'b.bin', content: bytes(70_000), isExecutable: false },
  ]
  await registry.publish(sampleVersion({ files, entrypoint: 'main.py' }))
  await registry.publish(sampleVersion({ tool_id: 'other', files: files.slice(1, 2) }))
  const columns =
    'path, media_type, size_bytes, mode, is_entrypoint, content_text, storage_key IS NULL AS inline'
  expect(raw.prepare(`SELECT ${columns} FROM tool_version_files ORDER BY rowid LIMIT 2`).all()).toEqual([
    {
      path: 'main.py',
      media_type: 'text/x-python',
      size_bytes: 9,
      mode: 0o755,
      is_entrypoint: 1,
      content_text: 'print(1)\n',
      inline: 1,
    },
    {
      path: 'a.bin',
      media_type: 'application/octet-stream',
      size_bytes: 70_000,
      mode: 0o644,
      is_entrypoint: 0,
      content_text: null,
      inline: 0,
    },
  ])
  const blobs = () => raw.prepare('SELECT count(*) AS n FROM blobs').get()
  expect(blobs()).toEqual({ n: 1 })
  await registry.remove('sample')
  expect(blobs()).toEqual({ n: 1 })
  await registry.remove('other')
  expect(blobs()).toEqual({ n: 0 })
})

test('T4: the row of a tool shows its latest version, with defaults for the rest', async () => {
  const { registry } = await place.open({ clock: { now: () => 0, monotonic: () => 0 } })
  await registry.publish(
    sampleVersion({ category: 'dev/git/hooks', tags: ['a', 'b'], description: 'does it' }),
  )
  const raw = await place.raw()
  expect(raw.prepare('SELECT * FROM tools').get()).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    tool_id: 'sample',
    namespace: 'public',
    name: 'sample',
    description: 'does it',
    tool_type: 'script',
    executor_id: 'python_runtime',
    category: 'dev',
    subcategory: 'git/hooks',
    tags: '["a","b"]',
    is_official: 0,
    is_builtin: 0,
    visibility: 'public',
    download_count: 0,
    quality_score: 0,
    latest_version: '1.0.0',
    created_at: '1970-01-01T00:00:00.000Z',
    updated_at: '1970-01-01T00:00:00.000Z',
  })
})

test.each([
  ['T6', "DELETE FROM tools WHERE tool_id = 'subprocess'"],
  ['T6', "UPDATE tools SET tool_id = 'x' WHERE tool_id = 'subprocess'"],
  ['T6', "UPDATE tools SET is_builtin = 0 WHERE tool_id = 'subprocess'"],
  ['T6', "UPDATE tools SET is_builtin = 1 WHERE tool_id = 'sample'"],
  ['T6', "DELETE FROM tool_versions WHERE tool_pk = (SELECT id FROM tools WHERE tool_id = 'subprocess')"],
  ['T6', 'UPDATE tool_versions SET is_latest = 0; UPDATE tools SET latest_version = NULL'],
  ['T10', "UPDATE tool_versions SET manifest = '{}'"],
  ['T10', "UPDATE tool_versions SET content_hash = ''"],
  ['T10', "UPDATE tool_version_files SET content_text = ''"],
  ['T5', "UPDATE tools SET latest_version = '9.9.9' WHERE tool_id = 'sample'"],
  ['T5', "UPDATE tool_versions SET is_latest = 1 WHERE version = '0.9.0'"],
  [
    'T5',
    "INSERT INTO tool_versions SELECT 'n', tool_pk, version, NULL, '{}', NULL, '', NULL, 0, '' FROM tool_versions",
  ],
  ['T5', "DELETE FROM tools WHERE tool_id = 'sample'; DELETE FROM removed_versions"],
  ['T5', "DELETE FROM tools WHERE tool_id = 'sample'; UPDATE removed_versions SET content_hash = ''"],
  ['T1', "UPDATE tools SET tool_type = 'gadget' WHERE tool_id = 'sample'"],
  ['R2', "UPDATE tools SET executor_id = NULL WHERE tool_id = 'sample'"],
  ['R2', "UPDATE tools SET tool_type = 'knowledge' WHERE tool_id = 'sample'"],
  ['T4', "UPDATE tools SET visibility = 'secret' WHERE tool_id = 'sample'"],
  ['T4', "UPDATE tools SET quality_score = 0.123 WHERE tool_id = 'sample'"],
  ['T4', "UPDATE tools SET tags = 'a, b' WHERE tool_id = 'sample'"],
  ['T4', "INSERT INTO tool_version_files SELECT id, 'x', '', '', 0, 420, 0, NULL, NULL FROM tool_versions"],
  ['T9', "INSERT INTO tool_version_files SELECT id, '../x', '', '', 0, 420, 0, '', NULL FROM tool_versions"],
])('%s: the tables themselves refuse %s', async (_, sql) => {
  const { registry } = await place.open()
  await registry.seed(SHIPPED, 'd1')
  const files = [{ path: 'a', content: bytes(3), isExecutable: false }]
  await registry.publish(sampleVersion({ files }))
  await registry.publish(sampleVersion({ version: '0.9.0' }))
  const raw = await place.raw()
  const all = (): unknown =>
    ['tools', 'tool_versions', 'tool_version_files'].map((table) =>
      raw.prepare(`SELECT * FROM ${table}`).all(),
    )
  const before = all()
  raw.exec('BEGIN')
  expect(() => raw.exec(sql)).toThrow(/constraint|cannot|must|only seeding|not forgotten/)
  raw.exec('ROLLBACK')
  expect(all()).toEqual(before)
})

test('T6: what somebody published under a shipped id is kept apart, with its files', async () => {
  const warnings: string[] = []
  const log = {
    debug: silent,
    info: silent,
    warn: (event: string) => void warnings.push(event),
    error: silent,
  }
  const { registry } = await place.open({ log })
  const files = [{ path: 'mine.txt', content: bytes(3), isExecutable: false }]
  await registry.publish(sampleVersion({ tool_id: 'subprocess', files }))
  await registry.seed(SHIPPED, 'd1')
  const raw = await place.raw()
  const kept = raw
    .prepare(
      `SELECT f.path FROM tools t JOIN tool_versions v ON v.tool_pk = t.id
       JOIN tool_version_files f ON f.version_pk = v.id WHERE t.namespace LIKE 'displaced.%'`,
    )
    .all()
  expect(kept).toEqual([{ path: 'mine.txt' }])
  expect(warnings).toEqual(['store.item_displaced'])
})
