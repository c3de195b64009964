import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { field } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let kiwi: TempKiwi
beforeEach(async () => {
  kiwi = await openTempKiwi()
})
afterEach(() => kiwi.close())

describe('C12: a script in the folder of tools', () => {
  test('is found, shown and run without a manifest', async () => {
    kiwi.write('tools/text/shout.sh', '#!/bin/bash\n# Says it loudly.\ntr a-z A-Z\n')
    const [found] = resultsOf(await kiwi.search('loudly', { limit: 3 }))
    expect(found).toMatchObject({ id: 'shout', tool_type: 'script', source: 'project' })
    expect((await kiwi.load('text/shout')).data).toMatchObject({
      metadata: { _virtual: true, version: '1.0.0', mutates_state: true },
      files: [{ path: 'shout.sh', is_entrypoint: true }],
    })
    expect((await kiwi.run('shout', { a: 'b' })).data).toMatchObject({ output: { A: 'B' } })
  })

  test('takes its options as it declares them', async () => {
    kiwi.write(
      'tools/add.py',
      '"""Adds."""\nimport argparse, json\np = argparse.ArgumentParser()\np.add_argument("--left", type=int, required=True)\np.add_argument("--right", type=int, default=2)\na = p.parse_args()\nprint(json.dumps(a.left + a.right))\n',
    )
    expect((await kiwi.run('add', { left: 3 })).data).toMatchObject({ output: 5 })
    expect(await kiwi.run('add', {})).toMatchObject({
      error: { code: 'INVALID_PARAMETERS', details: { missing: ['left'] } },
    })
  })

  test('L2: indexing runs nothing of it', async () => {
    const marker = join(kiwi.folder, 'marker')
    kiwi.write('tools/evil.py', `open(${JSON.stringify(marker)}, "w")\n"""Evil."""\n`)
    expect(resultsOf(await kiwi.search('evil')).map(({ id }) => id)).toEqual(['evil'])
    await kiwi.load('evil')
    expect(existsSync(marker)).toBe(false)
  })
})

describe('L1: one id in several files of a space', () => {
  test.each([
    ['two scripts', ['tools/a.py', 'tools/a.sh']],
    ['a script and a folder', ['tools/a.py', 'tools/a/tool.yaml']],
    ['a script and a manifest that does not start it', ['tools/a.py', 'tools/a.yaml']],
    ['the folder of old', ['tools/x/a.py', 'scripts/x/a.py']],
  ])('%s: the paths are listed', async (_, paths) => {
    const manifest = 'tool_id: a\ntool_type: bash\nversion: 1.0.0\ndescription: d\n'
    const written = paths.map((path) => kiwi.write(path, path.endsWith('yaml') ? manifest : ''))
    const { error } = await kiwi.load('a')
    expect(error).toMatchObject({ code: 'AMBIGUOUS_ID' })
    for (const path of written) expect(error?.message).toContain(path)
    expect(error?.hint).toContain('Remove one of these files, or rename it')
  })

  test('a manifest that starts the script beside it is one item with it', async () => {
    kiwi.write(
      'tools/a.yaml',
      'tool_id: a\ntool_type: bash\nversion: 2.0.0\ndescription: sidecar\nconfig: {entrypoint: a.sh}\n',
    )
    kiwi.write('tools/a.sh', '#!/bin/bash\necho one\n')
    expect((await kiwi.run('a')).data).toMatchObject({ output: 'one\n' })
    expect((await kiwi.load('a')).data).toMatchObject({ version: '2.0.0', files: [{ path: 'a.sh' }] })
    expect(resultsOf(await kiwi.search('sidecar')).map(({ id }) => id)).toEqual(['a'])
    const { data } = await kiwi.search('', { source: 'project' })
    expect(field(data, 'total')).toBe(1)
    kiwi.write('tools/a.sh', '#!/bin/bash\necho another\n')
    expect((await kiwi.run('a')).data).toMatchObject({ output: 'another\n' })
  })
})

describe('a file that cannot be read', () => {
  test('is found by its name and its text, says what is wrong, and hides nothing', async () => {
    kiwi.write('tools/good.sh', '#!/bin/bash\n# Fine.\n')
    kiwi.write('tools/bad.yaml', 'tool_id: bad\ndescription: frobnicates: [')
    kiwi.write('directives/broken.md', '---\nname: [\n---\n')
    const { data, metadata } = await kiwi.search('frobnicates')
    expect(data).toMatchObject({
      results: [{ id: 'bad', description: expect.stringMatching(/^needs repair: Cannot read/), call: null }],
    })
    expect(metadata['warnings']).toEqual([
      expect.stringContaining('bad.yaml'),
      expect.stringContaining('broken.md'),
    ])
    expect(resultsOf(await kiwi.search('fine')).map(({ id }) => id)).toEqual(['good'])
    expect(await kiwi.load('bad')).toMatchObject({ error: { code: 'PARSE_ERROR' } })
    expect(await kiwi.run('bad')).toMatchObject({ error: { code: 'PARSE_ERROR' } })
    expect(await kiwi.call('load', { item_type: 'directive', item_id: 'broken' })).toMatchObject({
      error: { code: 'PARSE_ERROR' },
    })
  })
})

describe('S8: create from a source', () => {
  const create = (item_id: string, parameters: object): ReturnType<TempKiwi['call']> =>
    kiwi.call('execute', { item_type: 'tool', action: 'create', item_id, parameters })

  test.each([
    '"""Adds."""\nprint(1)\n',
    'def main():\n    pass\n',
    'import os\nprint(os.sep)\n',
    'echo hi\n',
  ])('%j: which language it is in is asked, and not guessed', async (content) => {
    expect((await create('x', { content })).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      message:
        'Cannot create "x": "content": which language? give tool_type python, bash or node, or begin with a shebang',
      details: { invalid: [{ name: 'content' }] },
    })
  })

  test('a manifest with a fault is still a manifest', async () => {
    expect((await create('x', { content: 'tool_type: api\nconfig: [' })).error?.code).toBe('PARSE_ERROR')
    expect((await create('x', { content: '{"a": ' })).error?.code).toBe('PARSE_ERROR')
  })

  test('a runtime of its own is named in the header, as of a file that lies there', async () => {
    kiwi.write(
      'tools/upper_runtime.yaml',
      'tool_id: upper_runtime\ntool_type: runtime\nexecutor: subprocess\nversion: 1.0.0\ndescription: d\nconfig: {command: cat, args: ["{entrypoint}"]}\n',
    )
    const content = '#!/usr/bin/env perl\n# Shows itself.\n# executor: upper_runtime\nprint "x";\n'
    kiwi.write('tools/copied.sh', content)
    const copied = (await kiwi.load('copied')).data
    expect((await create('made', { content })).status).toBe('success')
    const made = (await kiwi.load('made')).data
    for (const data of [copied, made]) {
      expect(data).toMatchObject({ metadata: { executor: 'upper_runtime' }, description: 'Shows itself.' })
    }
    expect((await kiwi.run('made')).data).toMatchObject({ output: expect.stringContaining('print "x"') })
    expect(
      (await create('none', { content: content.replace('# executor: upper_runtime\n', '') })).error,
    ).toMatchObject({ code: 'INVALID_PARAMETERS', message: expect.stringContaining('runs "perl"') })
  })
})
