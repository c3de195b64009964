import { describe, expect, test } from 'vitest'
import type { Wish } from '../kernel/call.ts'
import type { Order } from './understand.ts'
import { understand as understandNow } from './understand.ts'

const understand = async (given: Order): Promise<Wish> => understandNow(given)
const order = (given: Partial<Order>): Order => ({
  kind: 'tool',
  action: 'run',
  itemId: 'x',
  version: undefined,
  parameters: {},
  ...given,
})

describe('S8: what an action means', () => {
  test('run, and its other word call', async () => {
    const wish = {
      kind: 'run',
      ref: { name: 'x', category: null, version: null },
      itemType: 'tool',
      parameters: { a: 1 },
    }
    expect(await understand(order({ parameters: { a: 1 } }))).toEqual(wish)
    expect(await understand(order({ action: 'call', parameters: { a: 1 } }))).toEqual(wish)
  })

  test('a version may stand in the id or beside it, not differently in both', async () => {
    expect(await understand(order({ itemId: 'x@1.0.0' }))).toMatchObject({ ref: { version: '1.0.0' } })
    expect(await understand(order({ version: '^2' }))).toMatchObject({ ref: { version: '^2' } })
    await expect(understand(order({ itemId: 'x@1.0.0', version: '2.0.0' }))).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
    })
  })

  test.each([
    ['directive', 'undo'],
    ['tool', 'finish'],
    ['mcp', 'undo'],
    ['thread', 'spawn'],
    ['tool', 'approve'],
    ['tool', 'constructor'],
    ['tool', 'RUN'],
  ] as const)('%s has no %s, and says what it has', async (kind, action) => {
    await expect(understand(order({ kind, action }))).rejects.toMatchObject({
      code: 'UNKNOWN_ACTION',
      details: { supported: expect.arrayContaining(['create', 'delete']) },
    })
  })

  test.each([
    ['knowledge', 'a piece of knowledge'],
    ['mcp', 'an MCP server'],
  ] as const)('S8: what %s cannot is said as people say it', async (kind, name) => {
    await expect(understand(order({ kind, action: 'undo' }))).rejects.toThrow(
      `Cannot do "undo" with ${name}:`,
    )
  })

  test.each([
    [{}, 'is missing', { missing: ['tool'], invalid: [] }],
    [{ tool: '' }, 'is empty', { missing: [], invalid: [{ name: 'tool', reason: 'is empty' }] }],
    [{ tool: 5 }, 'must be a text', { missing: [], invalid: [{ name: 'tool', reason: 'must be a text' }] }],
    [{ tool: null }, 'must be a text', { invalid: [{ name: 'tool' }] }],
  ])('S12: a server called with %j is told what is wrong with "tool"', async (parameters, said, details) => {
    await expect(understand(order({ kind: 'mcp', itemId: 'docs', parameters }))).rejects.toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: `Cannot call "docs": "tool" ${said}`,
      details,
    })
  })

  test('D9: a directive is run, and a run is finished by its id alone', async () => {
    const run = '01M7PEGPAZFS1E8A1F4G52T5A2'
    const given = { kind: 'directive', action: 'finish', itemId: run } as const
    expect(await understand(order(given))).toEqual({ kind: 'finish', runId: run, directive: null })
    await expect(understand(order({ ...given, parameters: { a: 1 } }))).rejects.toThrow('takes run_id alone')
    await expect(understand(order({ ...given, parameters: { run_id: 1 } }))).rejects.toThrow('run_id alone')
    await expect(understand(order({ ...given, action: 'undo', parameters: { a: 1 } }))).rejects.toThrow()
  })

  test('D9, S8: a run is also finished by its directive, with the run named beside it', async () => {
    const run = '01M7PEGPAZFS1E8A1F4G52T5A2'
    const other = '01M7PEGQ6W0J9K8WPTWT5V05BB'
    const finish = (itemId: string, more: object): unknown =>
      understand(order({ kind: 'directive', action: 'finish', itemId, ...more }))
    const ended = { kind: 'finish', runId: run, directive: 'deploy' }
    expect(await finish('deploy', { parameters: { run_id: run } })).toEqual(ended)
    expect(await finish('web/deploy@1.0.0', { runId: run })).toEqual(ended)
    // A run that was begun in another is ended by its own id.
    expect(await finish(run, { runId: other })).toEqual({ ...ended, directive: null })
    expect(await finish(run, { parameters: { run_id: run } })).toEqual({ ...ended, directive: null })
    // None is named: it is the one that the session is in, if it is in any.
    expect(await finish('deploy', {})).toEqual({ ...ended, runId: null })
    const neither = { kind: 'finish', runId: null, directive: null }
    expect(await understand(order({ kind: 'directive', action: 'finish', itemId: undefined }))).toEqual(
      neither,
    )
  })

  test('L5: sign means one item, or all that fit a pattern', async () => {
    const one = { kind: 'sign', itemType: 'tool', location: null, category: null }
    expect(await understand(order({ action: 'sign', itemId: 'a/x' }))).toEqual({
      ...one,
      target: { name: 'x', category: 'a', version: null },
    })
    const parameters = { location: 'user', category: 'web' }
    expect(await understand(order({ action: 'sign', itemId: 'x*', parameters }))).toEqual({
      ...one,
      ...parameters,
      target: { pattern: 'x*' },
    })
    for (const wrong of [{ location: 'builtin' }, { category: '../x' }, { force: true }]) {
      await expect(understand(order({ action: 'sign', parameters: wrong }))).rejects.toMatchObject({
        code: 'INVALID_PARAMETERS',
      })
    }
  })

  test('delete says where from, and whether that is meant', async () => {
    const read = (parameters: Order['parameters']): Promise<unknown> =>
      understand(order({ action: 'delete', parameters }))
    expect(await read({ location: 'user' })).toMatchObject({ source: 'user', isConfirmed: false })
    expect(await read({ confirm: 'yes' })).toMatchObject({ source: null, isConfirmed: false })
    expect(await read({ confirm: true })).toMatchObject({ kind: 'delete', source: null, isConfirmed: true })
  })

  test.each([
    [{ confirm: true, location: 'elsewhere' }, 'location'],
    [{ confirm: true, force: true }, 'force'],
  ])('delete with %j is refused', async (parameters, named) => {
    await expect(understand(order({ action: 'delete', parameters }))).rejects.toThrow(named)
  })

  test('an id is needed for everything but create', async () => {
    await expect(understand(order({ itemId: undefined }))).rejects.toMatchObject({
      details: { missing: ['item_id'] },
    })
  })
})

describe('S8: what update and publish take', () => {
  const ref = { name: 'x', category: null, version: null }

  test('keys or text of the manifest, content, files, a version, and what it was made for', async () => {
    const parameters = {
      manifest: { description: 'd', tags: null },
      files: { a: 'plain', gone: null },
      version: '2.0.0',
      location: 'user',
      changelog: 'why',
      expected_hash: 'h',
    }
    expect(await understand(order({ action: 'update', parameters }))).toEqual({
      kind: 'update',
      ref,
      itemType: 'tool',
      change: {
        manifest: parameters.manifest,
        content: undefined,
        files: new Map([
          ['a', { path: 'a', content: Buffer.from('plain'), isExecutable: false }],
          ['gone', null],
        ]),
      },
      version: '2.0.0',
      location: 'user',
      changelog: 'why',
      expectedHash: 'h',
    })
  })

  test('the version may stand beside the id, and is the one to be made', async () => {
    const publish = order({ action: 'publish', version: '2.0.0', parameters: { changelog: 'why' } })
    expect(await understand(publish)).toEqual({
      kind: 'publish',
      ref,
      itemType: 'tool',
      location: null,
      version: '2.0.0',
      changelog: 'why',
    })
    expect(await understand({ ...publish, action: 'update' })).toMatchObject({ version: '2.0.0' })
  })

  test.each([
    ['update', {}, 'what is to change'],
    ['update', { manifest: 1, content: [], files: { a: 1 } }, 'content'],
    ['update', { manifest: {}, force: true, hurry: true }, 'hurry'],
    ['update', { manifest: {}, location: 'builtin' }, 'location'],
    ['update', { manifest: { a: 1 }, content: { b: 1 } }, 'content'],
    ['publish', { manifest: {} }, 'manifest'],
    ['publish', { version: 2 }, 'version'],
  ])('%s with %j is refused, naming what is wrong', async (action, parameters, named) => {
    const refused = understand(order({ action, parameters }))
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_PARAMETERS' })
    await expect(refused).rejects.toThrow(named)
  })

  test.each(['update', 'publish', 'delete'])(
    '%s of one version is refused: versions stay',
    async (action) => {
      const refused = understand(order({ action, itemId: 'x@1.0.0', parameters: { confirm: true } }))
      await expect(refused).rejects.toThrow('versions stay')
    },
  )
})

describe('T13: what create takes', () => {
  const create = (parameters: Order['parameters'], more: Partial<Order> = {}) =>
    understand(order({ action: 'create', parameters, ...more }))

  const made = async (
    parameters: Order['parameters'],
    more: Partial<Order> = {},
  ): Promise<{ place: string; kind: string; name: string; text: string; files: readonly string[] }> => {
    const wish = await create(parameters, more)
    if (wish.kind !== 'create') throw new TypeError(wish.kind)
    const { place, kind, manifest, files } = wish.item.written
    const text = Buffer.from(manifest.content).toString()
    return { place, kind, name: manifest.path, text, files: files.map(({ path }) => path) }
  }

  test('the id of the call, the version 1.0.0 and the project, unless it says otherwise', async () => {
    expect(await create({ manifest: { tool_type: 'api' } })).toMatchObject({
      kind: 'create',
      location: 'project',
      item: { id: 'x', itemType: 'tool' },
    })
    expect(await made({ manifest: { tool_type: 'api' } })).toEqual({
      place: 'tools',
      kind: 'manifest',
      name: 'x.yaml',
      text: 'tool_id: x\ntool_type: api\nversion: 1.0.0\n',
      files: [],
    })
  })

  test('a manifest in the parameters, beside them, or as text', async () => {
    const raw = { tool_id: 'x', tool_type: 'api', version: '2.0.0', description: 'd' }
    const text = 'tool_id: x\ntool_type: api\nversion: 2.0.0\ndescription: d\n'
    expect(await made(raw, { itemId: undefined })).toMatchObject({ text })
    expect(await made({ content: raw })).toMatchObject({ text })
    expect(await made({ tool_type: 'api', manifest: { version: '2.0.0', description: 'd' } })).toMatchObject({
      text,
    })
    const commented = text.replace('x\n', 'x # mine\n')
    expect(await made({ content: commented })).toMatchObject({ text: commented })
  })

  test('text is completed where it lacks something, and stays as it was otherwise', async () => {
    expect(await made({ content: '# why\ntool_type: api # so\n' })).toMatchObject({
      text: '# why\ntool_type: api # so\ntool_id: x\nversion: 1.0.0\n',
    })
    expect(await made({ content: 'id: x\ntool_type: api\n', version: '3.0.0' })).toMatchObject({
      text: 'tool_type: api\ntool_id: x\nversion: 3.0.0\n',
    })
  })

  test('files are texts or bytes, executable when they say so or begin with a shebang', async () => {
    const files = {
      a: 'plain',
      b: '#!/bin/sh',
      c: { content: 'AAEC', encoding: 'base64' },
      d: { content: 'x', executable: true },
    }
    const wish = await create({ manifest: { tool_type: 'script' }, files })
    expect(wish).toMatchObject({
      item: {
        written: {
          kind: 'folder',
          manifest: { path: 'tool.yaml' },
          files: [
            { path: 'a', isExecutable: false },
            { path: 'b', isExecutable: true },
            { path: 'c', content: Buffer.from([0, 1, 2]), isExecutable: false },
            { path: 'd', isExecutable: true },
          ],
        },
      },
    })
  })

  test.each([
    ['python', { tool_type: 'python' }, 'print(1)\n', 'x.py'],
    ['python by its executor', { executor_id: 'python_runtime' }, 'print(1)\n', 'x.py'],
    ['python by its first line', {}, '#!/usr/bin/env python3\nprint(1)\n', 'x.py'],
    ['bash', { tool_type: 'bash' }, 'echo: 1\n', 'x.sh'],
    ['bash by its first line', { category: 'text' }, '#!/bin/sh\necho 1\n', 'x.sh'],
    ['a module', { tool_type: 'node' }, 'import os from "node:os"\n', 'x.mjs'],
    ['no module', { tool_type: 'node' }, 'const os = require("os")\n', 'x.js'],
  ])(
    'a source alone is one file that says in its header what it is: %s',
    async (_, beside, content, name) => {
      const { text, ...rest } = await made({ content, description: 'd', ...beside })
      expect(rest).toEqual({ place: 'tools', kind: 'script', name, files: [] })
      expect(text).toContain('1.0.0')
      expect(text.endsWith(content.replace(/^#!.*\n/, ''))).toBe(true)
    },
  )

  test('a source with more to say than a header holds is a folder with a manifest', async () => {
    const more = { content: 'print(1)', tool_type: 'python', parameters: [{ name: 'a' }] }
    expect(await made(more)).toMatchObject({ kind: 'folder', files: ['main.py'] })
    expect(await made({ content: 'print(1)', tool_type: 'python', files: { 'lib/a.py': '' } })).toMatchObject(
      {
        kind: 'folder',
        files: ['main.py', 'lib/a.py'],
      },
    )
    expect(await made({ content: 'print 1', executor: 'perl_runtime' })).toMatchObject({
      kind: 'folder',
      text: expect.stringContaining('perl_runtime'),
      files: ['main'],
    })
    await expect(
      create({ content: 'x = 1', tool_type: 'python' }, { itemId: undefined }),
    ).rejects.toMatchObject({
      details: { missing: ['item_id'] },
    })
  })

  test('the content of knowledge and of a directive is a document', async () => {
    expect(await made({ content: '# Hello', description: 'd' }, { kind: 'knowledge' })).toMatchObject({
      place: 'knowledge',
      kind: 'document',
      name: 'x.md',
      text: expect.stringMatching(/^---\n[^]*description: d\n[^]*---\n# Hello$/),
    })
    const whole = '---\nid: x\ntitle: T # mine\n---\nText'
    expect(await made({ content: whole }, { kind: 'knowledge' })).toMatchObject({ text: whole })
    expect(await made({ content: whole, tags: ['a'] }, { kind: 'knowledge' })).toMatchObject({
      text: whole.replace('mine\n', 'mine\ntags:\n  - a\n'),
    })
    const xml = '# X\n<directive name="x" version="1.0.0"><description>d</description></directive>\n'
    expect(await made({ content: xml }, { kind: 'directive' })).toMatchObject({
      place: 'directives',
      text: xml,
    })
    await expect(create({ content: xml, description: 'e' }, { kind: 'directive' })).rejects.toThrow('XML')
  })

  test.each([
    [{ manifest: { tool_id: 'y' } }, {}, 'y'],
    [{ manifest: { tool_type: 'script' } }, { kind: 'mcp' as const }, 'script'],
    [{ location: 'moon' }, {}, 'location'],
    [{ files: { a: 1 } }, {}, 'files'],
    [{ content: 'a: [' }, {}, 'manifest of x'],
  ])('%j is refused, naming what is wrong', async (parameters, more, named) => {
    await expect(create(parameters, more)).rejects.toThrow(named)
  })
})
