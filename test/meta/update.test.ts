import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { stripSignatures } from '../../src/spaces/signature-line.ts'
import { textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const act = (action: string, item_id: string, parameters: object = {}, item_type = 'tool'): Promise<Reply> =>
  temp.call('execute', { item_type, action, item_id, parameters })
const update = (item_id: string, parameters: object, item_type = 'tool'): Promise<Reply> =>
  act('update', item_id, parameters, item_type)
/** What lies below `.ai`, without its signatures. */
const bare = (path: string): string =>
  stripSignatures(readFileSync(join(temp.project, '.ai', path), 'utf8'), path)

describe('S8: update', () => {
  test('changes keys of the manifest and files, raises the version, signs, and runs in the next call', async () => {
    await temp.create('grows', BASH, { 'main.sh': '#!/bin/bash\necho one', 'lib/old.sh': '#!/bin/bash\nold' })
    const reply = await update('grows', {
      manifest: { description: 'it grew', tags: ['a'] },
      files: { 'main.sh': '#!/bin/bash\necho two', 'lib/old.sh': null, 'lib/new.sh': '#!/bin/bash\nnew' },
    })
    expect(reply).toMatchObject({
      status: 'success',
      data: { version: '1.0.1', previous_version: '1.0.0', source: 'project', changed: true },
    })
    expect(await temp.run('grows')).toMatchObject({ data: { output: 'two\n' } })
    const { data } = await temp.load('grows')
    expect(data).toMatchObject({
      description: 'it grew',
      version: '1.0.1',
      files: [{ path: 'lib/new.sh' }, { path: 'main.sh' }],
      signature: { state: 'signed', by: 'agent' },
      content_hash: textField(reply.data, 'content_hash'),
    })
    expect(resultsOf(await temp.search('grew'))[0]).toMatchObject({ id: 'grows' })
  })

  test('comments and layout of a manifest stay, and a key that is null goes', async () => {
    const text =
      '# why\ntool_id: kept\ntool_type: api\nversion: "1.2.3" # ours\ndescription: d # short\nconfig: {url: "https://example.com/"}\ntags: [x]\n'
    await act('create', 'kept', { content: text })
    expect((await update('kept', { manifest: { tags: null, secrets: ['A'] } })).status).toBe('success')
    expect(bare('tools/kept.yaml')).toBe(
      `${text.replace('1.2.3', '1.2.4').replace('tags: [x]\n', '')}secrets:\n  - A\n`,
    )
  })

  test('text is the whole new manifest; its version counts when it is higher', async () => {
    await temp.create('texts', {
      tool_type: 'api',
      description: 'd',
      config: { url: 'https://example.com/' },
    })
    const text = (version: string, description: string): string =>
      `tool_id: texts\ntool_type: api\nversion: ${version}\ndescription: ${description}\nconfig:\n  url: https://example.com/\n`
    expect((await update('texts', { manifest: text('1.0.0', 'two') })).data).toMatchObject({
      version: '1.0.1',
    })
    expect((await update('texts', { content: text('3.0.0', 'three') })).data).toMatchObject({
      version: '3.0.0',
    })
    expect((await update('texts', { content: text('1.0.0', 'three') })).data).toMatchObject({
      version: '3.0.0',
      changed: false,
    })
    expect(await update('texts', { manifest: text('2.0.0', 'four') })).toMatchObject({
      data: { version: '3.0.1' },
      metadata: { warnings: [expect.stringContaining('says version 2.0.0')] },
    })
    expect(bare('tools/texts.yaml')).toBe(text('3.0.1', 'four'))
    for (const lower of [
      { manifest: text('4.0.0', 'five'), version: '3.0.1' },
      { manifest: { version: '3.0.0' } },
      { manifest: { version: '3.0.1', description: 'five' } },
    ]) {
      expect((await update('texts', lower)).error).toMatchObject({
        code: 'INVALID_PARAMETERS',
        message: expect.stringContaining('not higher than 3.0.1'),
        details: { invalid: [{ name: 'version' }] },
      })
    }
    expect(bare('tools/texts.yaml')).toBe(text('3.0.1', 'four'))
  })

  test('T10: a version is what was published under it, and never what lies nearer', async () => {
    await temp.create('pinned', BASH, { 'main.sh': 'echo one' })
    await act('publish', 'pinned')
    const files = (line: string): object => ({ 'main.sh': `#!/bin/bash\n${line}` })
    expect((await update('pinned', { files: files('echo two'), version: '1.0.0' })).error?.code).toBe(
      'INVALID_PARAMETERS',
    )
    temp.write('tools/pinned/main.sh', '#!/bin/bash\necho changed')
    await act('sign', 'pinned')
    expect(await temp.run('pinned')).toMatchObject({ data: { output: 'changed\n' } })
    for (const ref of ['pinned@1.0.0', 'pinned@^1']) {
      expect(await temp.run(ref)).toMatchObject({ data: { output: 'one\n' } })
    }
    expect((await update('pinned', { files: files('echo next') })).data).toMatchObject({ version: '1.0.1' })
    expect(await temp.run('pinned@1.0.1')).toMatchObject({ data: { output: 'next\n' } })
    expect((await temp.load('pinned@1.0.0', { source: 'project' })).error?.code).toBe('NOT_FOUND')
  })

  test('T10: no item gets a version that was published with other content', async () => {
    const publish = (version: string): Promise<Reply> =>
      temp.create('held', { ...BASH, version }, { 'main.sh': `echo ${version}` }, 'registry')
    await publish('1.0.0')
    await publish('1.0.1')
    expect((await temp.create('held', BASH, { 'main.sh': 'echo mine' })).error).toMatchObject({
      code: 'VERSION_EXISTS',
      hint: expect.stringContaining('1.0.2 is free'),
    })
    const made = await temp.create('held', { ...BASH, version: '0.9.0' }, { 'main.sh': 'echo mine' })
    expect(made.status).toBe('success')
    expect((await update('held', { version: '1.0.0' })).error?.code).toBe('VERSION_EXISTS')
    expect((await update('held', { version: '1.0.0-beta' })).status).toBe('success')
    // The next patch is 1.0.0, which is taken, as is the one after it.
    expect((await update('held', { manifest: { description: 'd' } })).data).toMatchObject({
      version: '1.0.2',
    })
  })

  test('what an item was made from changes nothing, though it says less than what lies there', async () => {
    const source = '{"tool_type":"api","description":"j","config":{"url":"https://example.com"}}'
    expect((await act('create', 'from_json', { manifest: source })).status).toBe('success')
    expect((await update('from_json', { manifest: source })).data).toMatchObject({
      changed: false,
      version: '1.0.0',
    })
    const other = source.replace('"j"', '"k"')
    expect((await update('from_json', { manifest: other })).data).toMatchObject({ version: '1.0.1' })
    expect((await update('from_json', { manifest: other })).data).toMatchObject({ changed: false })
  })

  test.each([
    [
      'tool',
      'a_script',
      'tools/text/a_script.py',
      { tool_type: 'python', category: 'text', description: 'd' },
    ],
    ['directive', 'a_directive', 'directives/text/a_directive.md', { category: 'text', description: 'd' }],
    ['knowledge', 'a-note', 'knowledge/text/a-note.md', { category: 'text', description: 'd' }],
  ])(
    '%s: content is the whole new source or document, in the one file it is',
    async (type, id, path, beside) => {
      const [one, two] = ['# one\n', '# two\n']
      expect((await act('create', id, { content: one, ...beside }, type)).data).toMatchObject({
        path: join(temp.project, '.ai', path),
        version: '1.0.0',
      })
      const before = bare(path)
      expect((await update(id, { content: two }, type)).data).toMatchObject({ version: '1.0.1' })
      expect(bare(path)).toBe(before.replace('one', 'two').replace('1.0.0', '1.0.1'))
      // The whole document, or the file as `load` names it, says the same.
      const whole = bare(path).replace('two', 'three')
      expect((await update(id, { content: whole, version: '2.0.0' }, type)).data).toMatchObject({
        version: '2.0.0',
      })
      expect(bare(path)).toBe(before.replace('one', 'three').replace('1.0.0', '2.0.0'))
    },
  )

  test('mcp and thread, and every type of tool but primitives', async () => {
    const items: [string, string, object][] = [
      ['mcp', 'mcp_some', { executor: 'subprocess', description: 'd', config: { command: 'true' } }],
      ['thread', 'a_thread', { description: 'd' }],
      [
        'tool',
        'ruby_runtime',
        { tool_type: 'runtime', executor: 'subprocess', description: 'd', config: { command: 'ruby' } },
      ],
      ['tool', 'a_composite', { tool_type: 'composite', description: 'd' }],
      ['tool', 'an_mcp_tool', { tool_type: 'mcp_tool', executor: 'mcp_some', description: 'd' }],
    ]
    for (const [type, id, manifest] of items) {
      expect((await act('create', id, { manifest }, type)).status).toBe('success')
      expect((await update(id, { manifest: { description: 'e' } }, type)).data).toMatchObject({
        version: '1.0.1',
      })
      expect((await act('publish', id, {}, type)).data).toMatchObject({
        version: '1.0.1',
        source: 'registry',
      })
      expect((await act('delete', id, { confirm: true }, type)).status).toBe('success')
    }
    const primitive = await update('subprocess', { manifest: { description: 'x' } })
    expect(primitive.error?.code).toBe('BUILTIN_PROTECTED')
    expect((await update('hello_world', { version: '9.0.0' })).error?.code).toBe('BUILTIN_PROTECTED')
  })

  test('what changes nothing writes nothing', async () => {
    await temp.create('still', BASH, { 'main.sh': '#!/bin/bash\ntrue' })
    const path = join(temp.project, '.ai/tools/still/tool.yaml')
    const before = statSync(path)
    for (const parameters of [
      { manifest: { description: BASH.description } },
      { files: { 'main.sh': '#!/bin/bash\ntrue' } },
      { version: '1.0.0' },
    ]) {
      expect(await update('still', parameters)).toMatchObject({ data: { changed: false, version: '1.0.0' } })
    }
    expect(statSync(path).ino).toBe(before.ino)
    expect((await update('still', { version: '1.5.0' })).data).toMatchObject({
      version: '1.5.0',
      changed: true,
    })
  })

  test('what a mistake in it keeps from running is mended by a change', async () => {
    temp.write(
      'tools/broken/tool.yaml',
      'tool_type: script\nexecutor: none_runtime\nversion: 1.0.0\ndescription: x\n',
    )
    temp.write('tools/broken/main.sh', '#!/bin/bash\necho mended')
    expect((await temp.run('broken')).error?.code).toBe('EXECUTOR_MISSING')
    expect((await update('broken', { manifest: { executor: 'bash_runtime' } })).status).toBe('success')
    expect(await temp.run('broken')).toMatchObject({ data: { output: 'mended\n' } })
  })

  test('CONFLICT when it is no longer what the change was made for', async () => {
    const made = await temp.create('raced', BASH, { 'main.sh': '#!/bin/bash\ntrue' })
    const expected_hash = textField(made.data, 'content_hash')
    expect((await update('raced', { files: { 'main.sh': '#!/bin/bash\na' }, expected_hash })).status).toBe(
      'success',
    )
    expect(
      (await update('raced', { files: { 'main.sh': '#!/bin/bash\nb' }, expected_hash })).error,
    ).toMatchObject({
      code: 'CONFLICT',
      fix: { call: 'load', arguments: { item_id: 'raced' } },
      details: { expected_hash },
    })
    expect(await temp.run('raced')).toMatchObject({ error: { code: 'TOOL_FAILED' } })
  })

  test('of many that change one item at once none is lost and none is mixed: each has a version of its own', async () => {
    await temp.create('busy', BASH, { 'main.sh': '#!/bin/bash\necho 0', 'a.txt': '0', 'b.txt': '0' })
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) => {
        const text = String(n + 1)
        return update('busy', {
          manifest: { description: text },
          files: { 'main.sh': `#!/bin/bash\necho ${text}`, 'a.txt': text, 'b.txt': text },
        })
      }),
    )
    const done = replies.filter(({ status }) => status === 'success')
    for (const { error } of replies.filter(({ status }) => status === 'error')) {
      expect(error).toMatchObject({ code: 'CONFLICT', retryable: true })
    }
    expect(done.length).toBeGreaterThan(0)
    const { data } = await temp.load('busy')
    expect(textField(data, 'version')).toBe(`1.0.${done.length}`)
    const text = textField(data, 'description')
    expect(data).toMatchObject({
      files: [{ content: text }, { content: text }, { content: `#!/bin/bash\necho ${text}` }],
    })
    expect(readdirSync(join(temp.project, '.ai/tools')).filter((name) => name.startsWith('.'))).toEqual([])
  })

  test('what only the registry has gets a version after its latest', async () => {
    await temp.create('stored', BASH, { 'main.sh': '#!/bin/bash\necho one' }, 'registry')
    const reply = await update('stored', { files: { 'main.sh': '#!/bin/bash\necho two' }, changelog: 'two' })
    expect(reply.data).toMatchObject({ version: '1.0.1', source: 'registry', path: null })
    expect((await temp.load('stored')).data).toMatchObject({
      versions: [
        { version: '1.0.1', is_latest: true, changelog: 'two' },
        { version: '1.0.0', is_latest: false },
      ],
    })
    expect(await temp.run('stored@1.0.0')).toMatchObject({ data: { output: 'one\n' } })
    expect(await temp.run('stored')).toMatchObject({ data: { output: 'two\n' } })
  })

  test.each<[string, object, string]>([
    [
      'a key that reaches a prototype',
      { manifest: Object.fromEntries([['__proto__', { a: 1 }]]) },
      '__proto__',
    ],
    ['another id', { manifest: { tool_id: 'other' } }, 'other'],
    [
      'another type',
      {
        manifest: { tool_type: 'api', executor: 'http_client', config: { url: 'https://example.com/' } },
        files: { 'main.sh': null },
      },
      'api',
    ],
    ['a type nobody knows', { manifest: { tool_type: 'magic' } }, 'tool_type'],
    ['no description', { manifest: { description: null } }, 'description'],
    ['a path that leads out', { files: { '../x': 'x' } }, '../x'],
    ['a name twice for some disks', { files: { 'MAIN.sh': 'x' } }, 'MAIN.sh'],
    ['a file that is not there', { files: { 'none.sh': null } }, 'none.sh'],
    ['no version', { version: 'two' }, 'semantic version'],
    ['a lower version', { version: '0.9.0' }, 'not higher'],
    ['aliases', { manifest: 'a: &x [1]\nb: *x\n' }, 'alias'],
    ['no manifest at all', { manifest: '- a\n' }, 'mapping'],
    ['an executor of another kind', { manifest: { executor: 'hello_bash' } }, 'hello_bash'],
  ])('%s is refused by name, and nothing changes', async (_, parameters, named) => {
    const before = await temp.load('steady')
    if (before.error !== null) await temp.create('steady', BASH, { 'main.sh': '#!/bin/bash\ntrue' })
    const { data } = await temp.load('steady')
    const { error } = await update('steady', parameters)
    expect(`${error?.code} ${error?.message}`).toContain(named)
    expect((await temp.load('steady')).data).toEqual(data)
  })

  test('every wrong field is named at once', async () => {
    const { error } = await temp.create('wrong', { tool_type: 'magic', version: 'x' }, { '../x': 'x' })
    expect(error).toMatchObject({
      code: 'INVALID_MANIFEST',
      details: { invalid: [{ name: 'tool_type' }, { name: 'version' }, { name: 'files' }] },
    })
    const both = await temp.create('wrong', { tool_type: 'api', executor: 'subprocess' }, { a: '' })
    expect(both.error?.message).toMatch(/executor.*description.*files/)
  })
})

describe('N17: an agent makes nothing its own that came with a project nobody trusts', () => {
  test('update, publish and a copy to the user are refused; what it made itself it may change', async () => {
    const strange = await openTempKiwi({ isTrusted: false })
    try {
      strange.write('tools/theirs/tool.yaml', 'tool_type: bash\nversion: 1.0.0\ndescription: x\n')
      strange.write('tools/theirs/main.sh', '#!/bin/bash\necho theirs')
      const call = (action: string, item_id: string, parameters: object): Promise<Reply> =>
        strange.call('execute', { item_type: 'tool', action, item_id, parameters })
      const refusals = [
        await call('update', 'theirs', { manifest: { description: 'y' } }),
        await call('publish', 'theirs', {}),
        await strange.load('theirs', { destination: 'user' }),
      ]
      expect(refusals.map(({ error }) => error?.code)).toEqual(['UNTRUSTED', 'UNTRUSTED', 'UNTRUSTED'])
      await strange.create('mine', BASH, { 'main.sh': '#!/bin/bash\necho one' })
      expect((await call('update', 'mine', { files: { 'main.sh': '#!/bin/bash\necho two' } })).status).toBe(
        'success',
      )
      expect(await strange.run('mine')).toMatchObject({ data: { output: 'two\n' } })
    } finally {
      await strange.close()
    }
  })
})
