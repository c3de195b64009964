import { describe, expect, test } from 'vitest'
import type { Order } from './understand.ts'
import { understand } from './understand.ts'

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
    ['directive', 'run'],
    ['mcp', 'discover'],
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

  test('delete needs a yes, and the refusal holds the call that says it', async () => {
    const refused = understand(order({ action: 'delete', parameters: { location: 'user' } }))
    await expect(refused).rejects.toMatchObject({
      code: 'CONFIRM_REQUIRED',
      fix: {
        call: 'execute',
        arguments: {
          item_type: 'tool',
          action: 'delete',
          item_id: 'x',
          parameters: { location: 'user', confirm: true },
        },
      },
    })
    expect(
      await understand(order({ action: 'delete', parameters: { confirm: true, location: 'user' } })),
    ).toMatchObject({ kind: 'delete', source: 'user' })
    expect(await understand(order({ action: 'delete', parameters: { confirm: true } }))).toMatchObject({
      source: null,
    })
  })

  test.each([
    [{ confirm: true, location: 'elsewhere' }, 'location'],
    [{ confirm: true, force: true }, 'force'],
    [{ confirm: 'yes' }, 'confirmed'],
  ])('delete with %j is refused', async (parameters, named) => {
    await expect(understand(order({ action: 'delete', parameters }))).rejects.toThrow(named)
  })

  test('an id is needed for everything but create', async () => {
    await expect(understand(order({ itemId: undefined }))).rejects.toMatchObject({
      details: { missing: ['item_id'] },
    })
  })
})

describe('T13: what create takes', () => {
  const create = (parameters: Order['parameters'], more: Partial<Order> = {}) =>
    understand(order({ action: 'create', parameters, ...more }))

  test('the id of the call, the version 1.0.0 and the project, unless it says otherwise', async () => {
    expect(await create({ manifest: { tool_type: 'api' } })).toEqual({
      kind: 'create',
      location: 'project',
      item: { raw: { tool_id: 'x', tool_type: 'api', version: '1.0.0' }, text: null, files: [] },
    })
  })

  test('a manifest in the parameters, beside them, or as text', async () => {
    const raw = { tool_id: 'x', tool_type: 'api', version: '2.0.0', description: 'd' }
    expect(await create(raw, { itemId: undefined })).toMatchObject({ item: { raw } })
    expect(await create({ content: raw })).toMatchObject({ item: { raw } })
    expect(
      await create({ tool_type: 'api', manifest: { version: '2.0.0', description: 'd' } }),
    ).toMatchObject({ item: { raw } })
    const text = 'tool_id: x # mine\ntool_type: api\nversion: 2.0.0\ndescription: d\n'
    expect(await create({ content: text })).toMatchObject({ item: { raw, text } })
  })

  test('text that had to be completed is not kept as it was', async () => {
    expect(await create({ content: 'tool_type: api\n' })).toMatchObject({ item: { text: null } })
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
        files: [
          { path: 'a', isExecutable: false },
          { path: 'b', isExecutable: true },
          { path: 'c', content: Buffer.from([0, 1, 2]), isExecutable: false },
          { path: 'd', isExecutable: true },
        ],
      },
    })
  })

  test('the content of knowledge is its text', async () => {
    const wish = await create({ content: '# Hello', description: 'd' }, { kind: 'knowledge' })
    expect(wish).toMatchObject({
      item: {
        raw: { tool_type: 'knowledge', description: 'd' },
        files: [{ path: 'content.md', content: Buffer.from('# Hello') }],
      },
    })
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
