import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const create = (item_type: string, item_id: string, parameters: object): Promise<Reply> =>
  temp.call('execute', { item_type, action: 'create', item_id, parameters })
const GO = 'Go.\n'
const XML =
  '<directive name="in_xml" version="1.0.0"><metadata><description>d</description></metadata><process><step name="a">go</step></process></directive>'
const FILES = { 'main.sh': '#!/bin/sh\ntrue\n' }

describe('S8: an item whose id is category/name', () => {
  test.each([
    ['knowledge', 'note', { content: 'x' }, 'knowledge/cat/sub/note.md'],
    ['knowledge', 'said', { content: 'x', category: 'cat/sub' }, 'knowledge/cat/sub/said.md'],
    ['knowledge', 'front', { content: '---\ntitle: A\n---\nx' }, 'knowledge/cat/sub/front.md'],
    ['directive', 'go', { content: GO, description: 'd' }, 'directives/cat/sub/go.md'],
    ['directive', 'in_xml', { content: XML }, 'directives/cat/sub/in_xml.md'],
    ['tool', 'folder', { manifest: BASH, files: FILES }, 'tools/cat/sub/folder'],
    ['tool', 'script', { content: '#!/bin/sh\ntrue\n', description: 'd' }, 'tools/cat/sub/script.sh'],
    [
      'mcp',
      'mcp_srv',
      { manifest: { description: 'd', executor: 'subprocess', config: { command: 'true' } } },
      'tools/cat/sub/mcp_srv.yaml',
    ],
  ])('%s %s is made in the folder of that name, and found by both', async (type, id, parameters, path) => {
    const made = await create(type, `cat/sub/${id}`, parameters)
    expect(made).toMatchObject({ status: 'success', data: { tool_id: id } })
    expect(made.data).toMatchObject({
      path: expect.stringContaining(join(temp.project, '.ai', path)),
    })
    expect((await temp.load(`other/${id}`, { item_type: type })).error?.code).toBe('NOT_FOUND')
    for (const item_id of [id, `cat/sub/${id}`]) {
      const loaded = await temp.load(item_id, { item_type: type })
      expect(loaded.data).toMatchObject({ metadata: { tool_id: id } })
    }
  })

  test.each([
    ['beside', { content: 'x', category: 'other' }],
    ['in its text', { content: '---\ntitle: A\ncategory: other\n---\nx' }],
  ])('is refused with another category %s', async (_, parameters) => {
    expect((await create('knowledge', 'cat/refused', parameters)).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: 'Cannot create "cat/refused": it says itself that its category is "other"',
      details: { invalid: [{ name: 'category' }] },
    })
  })

  test('is made in the registry, which has no folders, where it says its category itself', async () => {
    const registry = { content: 'x', location: 'registry' }
    expect((await create('knowledge', 'cat/kept', registry)).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: 'Cannot create "cat/kept": the registry has no folders',
      hint: 'Send item_id "kept" and parameters.category, such as "cat"',
    })
    expect((await create('knowledge', 'cat/kept', { ...registry, category: 'cat' })).status).toBe('success')
  })

  test.each([
    ['cat/na me', 'use letters, digits, "_", "-" and ".", at most 128, no "." in front'],
    ['na me', 'use letters, digits, "_", "-" and ".", at most 128, no "." in front'],
    ['ünder', 'use letters, digits, "_", "-" and ".", at most 128, no "." in front'],
    ['/name', 'before the last "/" use names of letters, digits, "_" and "-", joined by "/"'],
    ['../name', 'before the last "/" use names of letters, digits, "_" and "-", joined by "/"'],
    ['name@1.0.0', 'a version is no part of it'],
  ])('%s is refused in words of what was sent', async (id, reason) => {
    expect((await create('knowledge', id, { content: 'x' })).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      message: `Cannot create "${id}": "item_id": ${reason}`,
      details: { invalid: [{ name: 'item_id', reason }] },
    })
  })
})
