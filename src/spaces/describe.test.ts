import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../shared/json.ts'
import type { ItemFile } from '../store/store.ts'
import { nameOf, toIndexEntry, toNewVersion } from './describe.ts'
import type { Item } from './item.ts'
import { contentHash } from './item.ts'
import { readManifest } from './manifest.ts'

const PLAIN: JsonObject = {
  tool_id: 'mail',
  tool_type: 'script',
  executor: 'python_runtime',
  version: '1.2.0',
  description: 'Sends mail',
}

function itemOf(given: JsonObject, files: readonly ItemFile[] = []): Item & { reads: () => number } {
  const raw = { ...PLAIN, ...given }
  const { manifest, warnings } = readManifest(raw, { stem: null, category: null })
  let reads = 0
  return {
    id: manifest.tool_id,
    space: 'project',
    form: 'manifest',
    path: '/p/mail.yaml',
    manifest,
    raw,
    text: 'the text',
    contentHash: contentHash(raw, files),
    warnings,
    isReserved: false,
    updatedAt: '2026-01-01T00:00:00.000Z',
    filePaths: files.map(({ path }) => path),
    files: async () => {
      reads += 1
      return files
    },
    reads: () => reads,
  }
}

const content = (text: string): ItemFile => ({
  path: 'content.md',
  content: Buffer.from(text),
  isExecutable: false,
})

describe('E2: an item as search sees it', () => {
  test('by its name, description, category, tags and parameters', async () => {
    const item = itemOf({
      name: 'Mail sender',
      category: 'web/mail',
      tags: ['smtp'],
      parameters: [{ name: 'to_address', description: 'Who gets it' }, { name: 'subject' }],
    })
    expect(await toIndexEntry(item, '/p/mail.yaml', 'stamp')).toEqual({
      server: null,
      path: '/p/mail.yaml',
      stamp: 'stamp',
      item_id: 'mail',
      tool_type: 'script',
      name: 'Mail sender',
      description: 'Sends mail',
      category: 'web/mail',
      tags: ['smtp', 'python'],
      version: '1.2.0',
      updated_at: '2026-01-01T00:00:00.000Z',
      search_text: { parameters: 'to_address Who gets it\nsubject ', body: '' },
    })
    expect(item.reads()).toBe(0)
  })

  test('D16: knowledge also by its text', async () => {
    const item = itemOf({ tool_type: 'knowledge', executor: null }, [content('# Patterns\nUse cursors')])
    expect((await toIndexEntry(item, 'p', 's')).search_text.body).toBe('# Patterns\nUse cursors')
  })

  test('a schema of any shape is described', async () => {
    const input_schema = { properties: { a: true, b: { description: 5 }, c: {} } }
    expect((await toIndexEntry(itemOf({ input_schema }), 'p', 's')).search_text.parameters).toBe(
      'a \nb 5\nc ',
    )
  })

  test('S3: a parameter is also found by the words it takes, unless they are too many or too long', async () => {
    const many = Array.from({ length: 21 }, (_, n) => `n${n}`)
    const input_schema = {
      properties: {
        how: { description: 'How to join', enum: ['squash', 'rebase', 1] },
        path: { examples: ['src/main.ts', 'x'.repeat(41)] },
        none: { enum: 'squash', examples: { a: 'b' } },
        country: { enum: many },
      },
    }
    expect((await toIndexEntry(itemOf({ input_schema }), 'p', 's')).search_text.parameters).toBe(
      'how How to join squash rebase\npath src/main.ts\nnone \ncountry ',
    )
  })

  test.each([
    ['bash_runtime', [], ['bash']],
    ['python_runtime', ['python'], ['python']],
    ['my_own_runtime', ['x'], ['x', 'my_own']],
    ['strange', [], []],
  ])('S4, R1: a script on %s with tags %j is found by %j', async (executor, tags, expected) => {
    expect((await toIndexEntry(itemOf({ executor, tags }), 'p', 's')).tags).toEqual(expected)
  })

  test('only a script is tagged with its language', async () => {
    const item = itemOf({ tool_type: 'directive', executor: 'llm_runtime' })
    expect((await toIndexEntry(item, 'p', 's')).tags).toEqual([])
  })
})

test('T4: an item as the registry takes it, with its text and files as they are', async () => {
  const files = [{ path: 'main.py', content: Buffer.from('print(1)'), isExecutable: true }]
  const item = itemOf({}, files)
  expect(await toNewVersion(item, 'first')).toEqual({
    tool_id: 'mail',
    tool_type: 'script',
    executor_id: 'python_runtime',
    version: '1.2.0',
    name: 'mail',
    description: 'Sends mail',
    category: null,
    tags: ['python'],
    manifest: item.raw,
    manifest_yaml: 'the text',
    content_hash: item.contentHash,
    changelog: 'first',
    files,
    entrypoint: 'main.py',
    search_text: { parameters: '', body: '' },
  })
})

test('the name to show is the one that was given, else the id', () => {
  expect(nameOf(itemOf({ name: 'Mail sender' }).manifest)).toBe('Mail sender')
  expect(nameOf(itemOf({}).manifest)).toBe('mail')
  expect(nameOf(itemOf({ name: 5 }).manifest)).toBe('mail')
})
