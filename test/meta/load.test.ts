import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

describe('load', () => {
  test('S5: shows the item whole, down to its chain, and an example that runs', async () => {
    const { data } = await temp.load('hello_world')
    expect(data).toMatchObject({
      name: 'hello_world',
      version: '1.0.0',
      source: 'builtin',
      parameters: { type: 'object', properties: { name: { type: 'string', default: 'World' } } },
      files: [{ path: 'main.py', is_entrypoint: true, content: expect.stringContaining('Hello') }],
      versions: [{ version: '1.0.0', is_latest: true }],
      content_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      trust: { level: 4, name: 'builtin' },
      signature: { state: 'builtin', by: null },
      destination: null,
    })
    // T3
    expect(field(data, 'chain')).toMatchObject([
      { depth: 0, tool_id: 'hello_world', tool_type: 'script', executor_id: 'python_runtime' },
      { depth: 1, tool_id: 'python_runtime', tool_type: 'runtime', executor_id: 'subprocess' },
      { depth: 2, tool_id: 'subprocess', tool_type: 'primitive', executor_id: null },
    ])
    expect((await temp.call('execute', field(data, 'call_example'))).status).toBe('success')
  })

  test('L1, T10: a registry item is found under its whole category, and an older version under its own', async () => {
    const publish = (version: string, category: string): Promise<Reply> =>
      temp.create('filed', { ...BASH, version, category }, { 'main.sh': 'true\n' }, 'registry')
    await publish('1.0.0', 'old/place')
    await publish('2.0.0', 'text/tools')
    expect((await temp.load('text/tools/filed')).data).toMatchObject({ version: '2.0.0' })
    expect((await temp.load('text/filed')).error?.code).toBe('NOT_FOUND')
    expect((await temp.load('old/place/filed@1.0.0')).data).toMatchObject({ version: '1.0.0' })
    expect((await temp.load('text/tools/filed@1.0.0')).error?.code).toBe('NOT_FOUND')
    const copied = await temp.load('filed', { destination: 'project' })
    expect(field(copied.data, 'destination', 'path')).toBe(
      join(temp.project, '.ai/tools/text/tools/filed/tool.yaml'),
    )
  })

  test('L1: what is shipped is found under the folder it is shipped in', async () => {
    expect((await temp.load('samples/hello_bash')).data).toMatchObject({ source: 'builtin' })
    expect((await temp.load('other/hello_bash')).error?.code).toBe('NOT_FOUND')
  })

  test('S5: a copy has equal bytes, the same copy again changes nothing, another file there is not replaced', async () => {
    await temp.create(
      'copied',
      { ...BASH, category: 'deep/down' },
      { 'main.sh': 'echo one\n', 'lib/x.sh': '#!/bin/sh\n' },
      'user',
    )
    const first = await temp.load('copied', { source: 'user', destination: 'project' })
    expect(first.data).toMatchObject({ destination: { destination: 'project', changed: true } })
    const at = (space: string, file: string): string => join(space, 'tools/deep/down/copied', file)
    for (const file of ['main.sh', 'lib/x.sh', 'tool.yaml']) {
      expect(readFileSync(at(join(temp.project, '.ai'), file))).toEqual(
        readFileSync(at(join(temp.folder, 'user'), file)),
      )
    }
    expect((await temp.load('copied', { source: 'user', destination: 'project' })).data).toMatchObject({
      destination: { changed: false },
    })
    writeFileSync(at(join(temp.project, '.ai'), 'main.sh'), 'echo mine\n')
    const refused = await temp.load('copied', { source: 'user', destination: 'project' })
    expect(refused.error).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(at(join(temp.project, '.ai'), 'tool.yaml')),
    })
    expect(readFileSync(at(join(temp.project, '.ai'), 'main.sh'), 'utf8')).toBe('echo mine\n')
    expect(
      (await temp.load('copied', { source: 'user', destination: 'project', overwrite: true })).status,
    ).toBe('success')
    expect(readFileSync(at(join(temp.project, '.ai'), 'main.sh'), 'utf8')).toBe('echo one\n')
  })

  test('S5: a shipped sample can be copied and then wins over the shipped one', async () => {
    const reply = await temp.load('hello_node', { destination: 'project' })
    expect(reply.status).toBe('success')
    writeFileSync(join(temp.project, '.ai/tools/samples/hello_node/main.mjs'), "console.log('mine')")
    expect(await temp.run('hello_node')).toMatchObject({ data: { output: 'mine\n' } })
    await temp.call('execute', {
      item_type: 'tool',
      action: 'delete',
      item_id: 'hello_node',
      parameters: { confirm: true },
    })
    expect(await temp.run('hello_node')).toMatchObject({ data: { output: 'Hello, World!\n' } })
  })

  test('S5: a file is read page by page', async () => {
    await temp.create('paged', BASH, { 'main.sh': 'true', 'big.txt': 'abc'.repeat(30_000) })
    const { data } = await temp.load('paged')
    expect(field(data, 'files')).not.toContainEqual(expect.objectContaining({ content: expect.anything() }))
    const page = await temp.load('paged', { path: 'big.txt', offset: 3, limit: 5 })
    expect(page.data).toMatchObject({ text: 'abcab', bytes: 90_000, next_offset: 8 })
    expect((await temp.load('paged', { path: 'none.txt' })).error?.code).toBe('NOT_FOUND')
  })

  test('T10: name@version loads and runs exactly that version, a range the highest that fits', async () => {
    for (const version of ['1.0.0', '1.2.0', '2.0.0', '1.1.0']) {
      await temp.create('versioned', { ...BASH, version }, { 'main.sh': `echo ${version}` }, 'registry')
    }
    expect(await temp.run('versioned')).toMatchObject({ data: { output: '2.0.0\n' } })
    expect(await temp.run('versioned@1.0.0')).toMatchObject({ data: { output: '1.0.0\n' } })
    expect(await temp.run('versioned@^1')).toMatchObject({ data: { output: '1.2.0\n' } })
    expect((await temp.load('versioned@1.1.0')).data).toMatchObject({
      version: '1.1.0',
      versions: [{ version: '2.0.0', is_latest: true }, {}, {}, {}],
    })
    expect((await temp.run('versioned@9.9.9')).error?.code).toBe('NOT_FOUND')
    expect(
      (await temp.create('versioned', { ...BASH, version: '1.0.0' }, { 'main.sh': 'echo other' }, 'registry'))
        .error?.code,
    ).toBe('VERSION_EXISTS')
  })
})
