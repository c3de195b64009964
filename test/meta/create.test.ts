import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { TOOL_TYPES } from '../../src/shared/tool-type.ts'
import { stripSignatures } from '../../src/spaces/signature-line.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

describe('create', () => {
  test("S8: keys by which Kiwi says how it read an item are no author's", async () => {
    const marks = { _file: 'main.sh', _virtual: true, _undeclared: [], _documentation: 'x' }
    const files = { 'main.sh': 'true' }
    const refused = {
      code: 'INVALID_MANIFEST',
      details: {
        invalid: Object.keys(marks).map((name) => ({ name, reason: expect.stringContaining('Kiwi') })),
      },
    }
    expect((await temp.create('marked', { ...BASH, ...marks }, files)).error).toMatchObject(refused)
    await temp.create('marked', BASH, files)
    const update = { item_type: 'tool', action: 'update', item_id: 'marked', parameters: { manifest: marks } }
    expect((await temp.call('execute', update)).error).toMatchObject(refused)
  })

  test('S8: what was made runs in the next call, and what is deleted is gone', async () => {
    const made = await temp.create(
      'greets',
      { ...BASH, parameters: [{ name: 'who', required: true }] },
      { 'main.sh': 'echo "hi $KIWI_PARAM_WHO"' },
    )
    expect(made).toMatchObject({
      status: 'success',
      data: {
        source: 'project',
        version: '1.0.0',
        call: { item_id: 'greets', parameters: { who: '<who>' } },
      },
    })
    expect(await temp.run('greets', { who: 'Bo' })).toMatchObject({ data: { output: 'hi Bo\n' } })
    const unconfirmed = await temp.call('execute', { item_type: 'tool', action: 'delete', item_id: 'greets' })
    expect(unconfirmed.error).toMatchObject({
      code: 'CONFIRM_REQUIRED',
      fix: { call: 'execute', arguments: { parameters: { confirm: true } } },
    })
    expect(await temp.run('greets', { who: 'Bo' })).toMatchObject({ status: 'success' })
    expect((await temp.call('execute', unconfirmed.error?.fix?.arguments)).status).toBe('success')
    expect((await temp.run('greets', { who: 'Bo' })).error?.code).toBe('NOT_FOUND')
    expect(existsSync(join(temp.project, '.ai/tools/greets'))).toBe(false)
  })

  test('T13: every way the seeds describe a tool is read', async () => {
    const shapes: [string, object][] = [
      [
        'apart',
        {
          tool_type: 'script',
          executor: 'bash_runtime',
          manifest: { version: '1.0.0', description: 'x' },
          files: { 'main.sh': '#!/bin/bash\necho apart' },
        },
      ],
      [
        'content_object',
        {
          content: { ...BASH, tool_id: 'content_object' },
          files: { 'main.sh': '#!/bin/bash\necho content_object' },
        },
      ],
      [
        'content_text',
        {
          content: 'tool_type: script\nexecutor: bash_runtime\ndescription: x\n',
          files: { 'main.sh': '#!/bin/bash\necho content_text' },
        },
      ],
      [
        'alias',
        {
          manifest: { tool_type: 'bash', description: 'x', executor_config: { entrypoint: 'go.sh' } },
          files: { 'go.sh': '#!/bin/bash\necho alias' },
        },
      ],
    ]
    for (const [item_id, parameters] of shapes) {
      expect(
        await temp.call('execute', { item_type: 'tool', action: 'create', item_id, parameters }),
      ).toMatchObject({ status: 'success' })
      expect(await temp.run(item_id)).toMatchObject({ data: { output: `${item_id}\n` } })
    }
  })

  test('a manifest that was given as text is written down as it was given', async () => {
    const text =
      '# why this tool\ntool_id: commented\ntool_type: script\nexecutor: bash_runtime\nversion: 1.0.0\ndescription: x # short\n'
    await temp.call('execute', {
      item_type: 'tool',
      action: 'create',
      item_id: 'commented',
      parameters: { content: text, files: { 'main.sh': '#!/bin/bash\ntrue' } },
    })
    const written = readFileSync(join(temp.project, '.ai/tools/commented/tool.yaml'), 'utf8')
    expect(stripSignatures(written, 'tool.yaml')).toBe(text)
  })

  test('T1: a sample of each type can be made, found by its type and loaded', async () => {
    const samples: Record<string, object> = {
      runtime: { executor: 'subprocess', config: { command: 'sh' } },
      mcp_server: { executor: 'subprocess', config: { command: 'npx', transport: 'stdio' } },
      mcp_tool: { executor: 'mcp_github', config: { mcp_tool_name: 'x' } },
      script: { executor: 'bash_runtime', config: { entrypoint: 'a.sh' } },
      api: { config: { url: 'https://example.org/' } },
      directive: { config: { model_tier: 'fast' } },
      thread: { config: { directive: 'x' } },
      knowledge: {},
      composite: { config: { steps: [] } },
    }
    for (const tool_type of TOOL_TYPES.filter((type) => type !== 'primitive')) {
      const id = `sample_${tool_type}`
      const files = tool_type === 'script' ? { 'a.sh': 'true' } : {}
      expect(
        await temp.create(
          id,
          { tool_type, description: `a sample ${tool_type}`, ...samples[tool_type] },
          files,
        ),
      ).toMatchObject({ status: 'success' })
      expect(resultsOf(await temp.search(`type:${tool_type} sample`)).map((result) => result.id)).toContain(
        id,
      )
      expect((await temp.load(id)).data).toMatchObject({ tool_type })
    }
  })

  test('T1: an executor of the wrong kind is refused by name, and nothing is written', async () => {
    const wrong = await temp.create('wrong_kind', { ...BASH, executor: 'hello_bash' }, { 'main.sh': 'true' })
    expect(wrong.error).toMatchObject({
      code: 'INVALID_MANIFEST',
      message: expect.stringContaining('"hello_bash"'),
    })
    expect(
      (await temp.create('wrong_api', { tool_type: 'api', executor: 'subprocess', description: 'x' })).error
        ?.code,
    ).toBe('INVALID_MANIFEST')
    expect((await temp.create('wrong_none', { tool_type: 'runtime', description: 'x' })).error?.code).toBe(
      'INVALID_MANIFEST',
    )
    expect((await temp.create('wrong_prim', { tool_type: 'primitive', description: 'x' })).error?.code).toBe(
      'INVALID_MANIFEST',
    )
    expect(readdirSync(join(temp.project, '.ai/tools')).filter((name) => name.includes('wrong'))).toEqual([])
  })

  test('T2: a runtime for a language Kiwi never heard of is data, and a script on it runs', async () => {
    await temp.create('perl_runtime', {
      tool_type: 'runtime',
      executor: 'subprocess',
      description: 'Runs Perl',
      config: { command: 'perl' },
    })
    await temp.create(
      'perl_hello',
      {
        tool_type: 'script',
        executor: 'perl_runtime',
        description: 'Perl',
        parameters: [{ name: 'name', required: true }],
      },
      { 'main.pl': 'print "Hello, $ENV{KIWI_PARAM_NAME}!\\n";' },
    )
    expect(await temp.run('perl_hello', { name: 'Ada' })).toMatchObject({
      data: { output: 'Hello, Ada!\n' },
      metadata: { executor_chain: ['perl_hello', 'perl_runtime', 'subprocess'] },
    })
  })

  test('T6: what is shipped cannot be deleted, and core ids cannot be taken', async () => {
    const remove = (item_id: string): Promise<Reply> =>
      temp.call('execute', { item_type: 'tool', action: 'delete', item_id, parameters: { confirm: true } })
    expect((await remove('subprocess')).error?.code).toBe('BUILTIN_PROTECTED')
    expect((await remove('hello_world')).error?.code).toBe('BUILTIN_PROTECTED')
    for (const location of ['project', 'user', 'registry']) {
      expect((await temp.create('python_runtime', BASH, { 'main.sh': 'true' }, location)).error?.code).toBe(
        'RESERVED_ID',
      )
    }
    temp.write(
      'tools/subprocess.yaml',
      'tool_id: subprocess\ntool_type: runtime\nexecutor: http_client\nversion: 9.0.0\ndescription: x\n',
    )
    temp.kiwi.spaces.at(temp.project).freshen(true)
    expect((await temp.load('subprocess')).data).toMatchObject({ source: 'builtin', tool_type: 'primitive' })
    rmSync(join(temp.project, '.ai/tools/subprocess.yaml'))
  })

  test('ZIP-01: a file that would leave its folder is refused, and nothing is written', async () => {
    const all = (): readonly string[] =>
      readdirSync(temp.folder, { recursive: true, encoding: 'utf8' })
        .filter((path) => !path.includes('kiwi.db') && !path.includes('.ai/logs'))
        .toSorted()
    const before = all()
    for (const path of [
      '../../.bashrc',
      '../x',
      '/etc/cron.d/x',
      'a/../../b',
      'C:\\x',
      'a\0b',
      'a/./b',
      '',
    ]) {
      const reply = await temp.create('escapes', BASH, { 'main.sh': 'true', [path]: 'x' })
      expect(reply.error?.code, path).toBe(path.includes('\0') ? 'INVALID_PARAMETERS' : 'INVALID_MANIFEST')
    }
    expect(all()).toEqual(before)
    expect(existsSync('/etc/cron.d/x')).toBe(false)
  })

  test('an id that is taken is not replaced', async () => {
    await temp.create('taken', BASH, { 'main.sh': 'echo first' })
    expect((await temp.create('taken', BASH, { 'main.sh': 'echo second' })).error).toMatchObject({
      code: 'CONFLICT',
    })
    expect(await temp.run('taken')).toMatchObject({ data: { output: 'first\n' } })
  })

  test('D16: knowledge given as a manifest and a body is one document, and carries nothing else', async () => {
    const create = (item_id: string, parameters: object): Promise<Reply> =>
      temp.call('execute', { item_type: 'knowledge', action: 'create', item_id, parameters })
    const manifest = 'tool_id: two-parts\ntool_type: knowledge\nversion: 1.0.0\ndescription: d\n'
    await create('two-parts', { manifest, content: '# The body' })
    const path = join(temp.project, '.ai/knowledge/two-parts.md')
    expect(readFileSync(path, 'utf8')).toMatch(/-->\n---\n[^]*description: d[^]*---\n# The body$/)
    const whole = manifest.replace('two-parts', 'whole').replace('1.0.0', '2.0.0')
    expect((await temp.create('whole', whole, { 'content.md': 'BODY' })).data).toMatchObject({
      version: '2.0.0',
    })
    const run = await temp.call('execute', { item_type: 'knowledge', action: 'run', item_id: 'whole' })
    expect(run.data).toMatchObject({ output: 'BODY' })
    const refused = await create('with-file', { description: 'd', content: 'x', files: { 'a.txt': 'AAA' } })
    expect(refused.error).toMatchObject({
      code: 'INVALID_MANIFEST',
      details: { invalid: [{ name: 'files' }] },
    })
  })

  test('S8: content is the text of a directive, or another word for a manifest, and never dropped', async () => {
    const create = (item_type: string, item_id: string, parameters: object): Promise<Reply> =>
      temp.call('execute', { item_type, action: 'create', item_id, parameters })
    await create('directive', 'steps', { manifest: { description: 'd' }, content: 'do this: now' })
    const { data } = await temp.load('steps', { item_type: 'directive' })
    const content = '---\nname: steps\nversion: 1.0.0\ndescription: d\n---\ndo this: now'
    expect(data).toMatchObject({ files: [{ path: 'directive.md', content }] })
    const text = readFileSync(join(temp.project, '.ai/directives/steps.md'), 'utf8')
    expect(text.slice(-content.length)).toBe(content)
    const both = await create('tool', 'both_words', {
      manifest: BASH,
      content: BASH,
      files: { 'main.sh': '' },
    })
    expect(both.error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      details: { invalid: [{ name: 'content' }] },
    })
  })

  test('T13: content that is not base64 is refused rather than changed', async () => {
    const files = { 'main.sh': { content: 'IyEvYmluL3NoCnRydWU', encoding: 'base64' } }
    const create = (content: string): Promise<Reply> =>
      temp.call('execute', {
        item_type: 'tool',
        action: 'create',
        item_id: 'encoded',
        parameters: { manifest: BASH, files: { 'main.sh': { ...files['main.sh'], content } } },
      })
    expect((await create('not base64!')).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      details: { invalid: [{ name: 'files.main.sh' }] },
    })
    expect((await create('IyEvYmlu\nL3NoCnRydWU=')).status).toBe('success')
  })

  test('S2, R4: a tool and a piece of knowledge may have one name, and each is run as what it is', async () => {
    temp.write('knowledge/notes.md', '---\nid: notes\n---\nthe text')
    temp.write('tools/notes/tool.yaml', 'tool_type: bash\nversion: 1.0.0\ndescription: x\n')
    temp.write('tools/notes/main.sh', 'echo the tool')
    const run = (item_type: string): Promise<Reply> =>
      temp.call('execute', { item_type, action: 'run', item_id: 'notes' })
    expect(await run('knowledge')).toMatchObject({ data: { output: 'the text' } })
    expect(await run('tool')).toMatchObject({ data: { output: 'the tool\n' } })
  })

  test('D16: knowledge is kept as markdown, found by its text, and returned', async () => {
    const made = await temp.call('execute', {
      item_type: 'knowledge',
      action: 'create',
      item_id: 'deploy-notes',
      parameters: {
        description: 'How we deploy',
        tags: ['ops'],
        content: '# Deploying\nUse the flamingo switch.\n',
      },
    })
    expect(made).toMatchObject({
      status: 'success',
      data: { path: join(temp.project, '.ai/knowledge/deploy-notes.md') },
    })
    expect(resultsOf(await temp.search('flamingo', { item_type: 'knowledge' }))[0]).toMatchObject({
      id: 'deploy-notes',
      why: ['body'],
    })
    const run = await temp.call('execute', { item_type: 'knowledge', action: 'run', item_id: 'deploy-notes' })
    expect(run.data).toMatchObject({ output: '# Deploying\nUse the flamingo switch.\n' })
  })

  test('N1: a tool that inherits the environment may be made by anyone, and runs when a person granted it', async () => {
    const made = await temp.create('nosy', { ...BASH, config: { inherit_env: true } }, { 'main.sh': 'env' })
    expect(made.status).toBe('success')
    const { error } = await temp.run('nosy')
    expect(error).toMatchObject({
      code: 'SECRET_NOT_GRANTED',
      details: { required: { tool: 'nosy', names: ['*'] } },
    })
  })
})
