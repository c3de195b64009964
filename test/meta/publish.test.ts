import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { listField, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const act = (action: string, item_id: string, parameters: object = {}, item_type = 'tool'): Promise<Reply> =>
  temp.call('execute', { item_type, action, item_id, parameters })
const publish = (item_id: string, parameters: object = {}): Promise<Reply> =>
  act('publish', item_id, parameters)
const onDisk = (path: string): string => readFileSync(join(temp.project, '.ai', path), 'utf8')

describe('S8, T10: publish', () => {
  test('makes an immutable version of the nearest item, text and files to the byte, signatures too', async () => {
    await temp.create('shipped', BASH, { 'main.sh': '#!/bin/bash\necho one', 'lib/a.txt': 'a' })
    expect(await publish('shipped', { changelog: 'first' })).toMatchObject({
      status: 'success',
      data: { version: '1.0.0', source: 'registry', changed: true },
    })
    const { data } = await temp.load('shipped', { source: 'registry' })
    expect(data).toMatchObject({
      content: onDisk('tools/shipped/tool.yaml'),
      files: [
        { path: 'lib/a.txt', content: 'a' },
        { path: 'main.sh', content: '#!/bin/bash\necho one' },
      ],
      signature: { state: 'signed', by: 'agent' },
      versions: [{ version: '1.0.0', is_latest: true, changelog: 'first' }],
    })
    expect(await publish('shipped')).toMatchObject({ data: { changed: false, version: '1.0.0' } })
  })

  test('a changed body under a version that stands is refused with both hashes, and the fix goes through', async () => {
    await temp.create('twice', BASH, { 'main.sh': '#!/bin/bash\necho one' })
    const first = textField((await publish('twice')).data, 'content_hash')
    writeFileSync(join(temp.project, '.ai/tools/twice/main.sh'), '#!/bin/bash\necho two')
    expect((await publish('twice')).error).toMatchObject({
      code: 'CONTENT_MODIFIED',
      fix: { call: 'help' },
      hint: expect.stringMatching(/^Ask the person .*kiwi sign twice$/),
    })
    await act('sign', 'twice')
    const { error } = await publish('twice')
    expect(error).toMatchObject({
      code: 'VERSION_EXISTS',
      hint: expect.stringContaining('update'),
      details: { published_hash: first, content_hash: expect.not.stringContaining(first) },
    })
    expect(await temp.call('execute', error?.fix?.arguments)).toMatchObject({
      status: 'success',
      data: { version: '1.0.1' },
    })
    expect(await temp.run('twice@1.0.0')).toMatchObject({ data: { output: 'one\n' } })
    expect(await temp.run('twice@1.0.1')).toMatchObject({ data: { output: 'two\n' } })
    expect(onDisk('tools/twice/tool.yaml')).toContain('version: 1.0.1')
  })

  test('T10: a version that is asked for is written into the source first; the latest only goes forward', async () => {
    await temp.create('ahead', BASH, { 'main.sh': '#!/bin/bash\necho one' })
    expect((await publish('ahead', { version: '2.0.0' })).data).toMatchObject({ version: '2.0.0' })
    expect(onDisk('tools/ahead/tool.yaml')).toContain('version: 2.0.0')
    expect((await publish('ahead', { version: '1.9.0' })).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: expect.stringContaining('not higher than 2.0.0'),
    })
    expect((await publish('ahead', { version: 'v3' })).error?.message).toContain('semantic version')
    // From another project, behind what is there.
    await temp.create('ahead', { ...BASH, version: '1.5.0' }, { 'main.sh': '#!/bin/bash\necho user' }, 'user')
    expect((await publish('ahead', { location: 'user' })).data).toMatchObject({ version: '1.5.0' })
    expect((await temp.load('ahead', { source: 'registry' })).data).toMatchObject({ version: '2.0.0' })
    expect(await temp.run('ahead@1.5.0')).toMatchObject({ data: { output: 'user\n' } })
  })

  test('L3: everything that is not declared is named at once', async () => {
    temp.write('tools/bare.py', 'print(1)\n')
    expect((await publish('bare')).error).toMatchObject({
      code: 'INVALID_MANIFEST',
      details: {
        invalid: ['description', 'version', 'tool_type', 'executor'].map((name) => ({ name })),
      },
    })
  })

  test('what it runs through and does not have in the registry is said', async () => {
    await temp.create('lua_runtime', {
      tool_type: 'runtime',
      executor: 'subprocess',
      description: 'Runs what it is',
      config: { command: 'sh' },
    })
    await temp.create('on_lua', { ...BASH, executor: 'lua_runtime' }, { 'main.lua': 'echo lua' })
    expect((await publish('on_lua')).metadata.warnings?.join()).toContain('"lua_runtime"')
    expect((await publish('lua_runtime')).metadata.warnings).toBeUndefined()
  })

  test('what is shipped, what is in the registry alone, and what is not there', async () => {
    expect((await publish('hello_world')).error?.code).toBe('BUILTIN_PROTECTED')
    expect((await publish('nowhere')).error?.code).toBe('NOT_FOUND')
    await temp.create('alone', BASH, { 'main.sh': '#!/bin/bash\ntrue' }, 'registry')
    expect((await publish('alone')).data).toMatchObject({ changed: false })
    const { error } = await publish('alone', { version: '2.0.0' })
    expect(error).toMatchObject({ code: 'CONFLICT', fix: { arguments: { action: 'update' } } })
    expect((await temp.call('execute', error?.fix?.arguments)).data).toMatchObject({ version: '2.0.0' })
  })

  test('S9: a dry run says what would be, and writes neither the source nor a version', async () => {
    await temp.create('dry', BASH, { 'main.sh': '#!/bin/bash\ntrue' })
    const before = onDisk('tools/dry/tool.yaml')
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'publish',
      item_id: 'dry',
      parameters: { version: '2.0.0' },
      dry_run: true,
    })
    expect(reply).toMatchObject({ status: 'dry_run', data: { would_write: 'registry', version: '2.0.0' } })
    expect(onDisk('tools/dry/tool.yaml')).toBe(before)
    expect((await temp.load('dry')).data).toMatchObject({ versions: [] })
  })

  test('T5: 20 that publish one version at once leave it whole, and one latest', async () => {
    await temp.create('crowd', BASH, { 'main.sh': '#!/bin/bash\necho crowd' })
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => publish('crowd', { version: '1.1.0' })),
    )
    for (const { error } of replies) expect([undefined, 'CONFLICT']).toContain(error?.code)
    const { data } = await temp.load('crowd')
    expect(listField(data, 'versions')).toMatchObject([{ version: '1.1.0', is_latest: true }])
  })
})

test('X12: only a person rolls back, and it is on record either way', async () => {
  await temp.create('rolled', BASH, { 'main.sh': '#!/bin/bash\necho one' })
  await publish('rolled')
  await act('update', 'rolled', { files: { 'main.sh': '#!/bin/bash\necho two' } })
  await publish('rolled')
  const order = { itemType: 'tool', itemId: 'rolled', version: '1.0.0', isDryRun: false }
  const by = (kind: 'agent' | 'person'): Promise<Reply> =>
    temp.kiwi.rollback(temp.project, order, {
      principal: kind,
      session: kind,
      kind,
      defaultProject: () => Promise.resolve(temp.project),
    })
  expect((await by('agent')).error).toMatchObject({
    code: 'PERMISSION_DENIED',
    hint: expect.stringContaining('kiwi rollback rolled 1.0.0'),
  })
  const former = (await temp.load('rolled@1.0.0', { source: 'registry' })).data
  expect((await by('person')).data).toMatchObject({ version: '1.0.2', rolled_back_to: '1.0.0' })
  const { data } = await temp.load('rolled')
  expect(data).toMatchObject({
    version: '1.0.2',
    source: 'project',
    signature: { state: 'signed', by: 'person' },
    files: listField(former, 'files'),
    versions: [
      { version: '1.0.2', changelog: 'rollback to 1.0.0' },
      { version: '1.0.1' },
      { version: '1.0.0' },
    ],
  })
  const records = await temp.kiwi.store.records({ limit: 10, tool: 'rolled' })
  expect(records.filter(({ operation }) => operation === 'rollback').map(({ status }) => status)).toEqual([
    'success',
    'allow',
    'denied',
    'deny',
  ])
})

describe('S5: a published item in another project', () => {
  test.each([
    ['tool', 'one_file', 'tools/text/one_file.sh', { content: '#!/bin/sh\necho one\n', category: 'text' }],
    [
      'tool',
      'a_folder',
      'tools/a_folder',
      { manifest: BASH, files: { 'main.sh': '#!/bin/bash\ncat lib/a', 'lib/a': 'one' } },
    ],
    ['knowledge', 'a-page', 'knowledge/a-page.md', { content: '# Page' }],
    ['directive', 'a_plan', 'directives/a_plan.md', { content: '# Plan' }],
  ])('%s %s is the same to the byte, and runs', async (type, id, path, parameters) => {
    await act('create', id, { description: 'd', ...parameters }, type)
    expect((await act('publish', id, {}, type)).status).toBe('success')
    const other = await openTempKiwi({ beside: temp, project: 'other' })
    try {
      const args = { item_type: type, item_id: id, source: 'registry', destination: 'project' }
      const copied = await other.call('load', args)
      expect(copied).toMatchObject({ status: 'success', data: { destination: { changed: true } } })
      expect(tree(join(other.project, '.ai', path))).toEqual(tree(join(temp.project, '.ai', path)))
      if (type === 'tool')
        expect(await other.run(id)).toMatchObject({ data: { output: expect.stringMatching(/^one/) } })
      expect((await other.call('load', args)).data).toMatchObject({ destination: { changed: false } })
    } finally {
      await other.close()
    }
  })
})

function tree(path: string): unknown {
  if (!existsSync(path)) return null
  try {
    return readdirSync(path).map((name) => [name, tree(join(path, name))])
  } catch {
    return readFileSync(path, 'utf8')
  }
}
