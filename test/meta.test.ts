import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ERRORS } from '../src/shared/errors.ts'
import type { Reply } from '../src/shared/reply.ts'
import { TOOL_TYPES } from '../src/shared/tool-type.ts'
import type { TempKiwi } from './temp-kiwi.ts'
import { openTempKiwi } from './temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

const BASH = { tool_type: 'script', executor: 'bash_runtime', description: 'a tool of the tests' }
interface Result {
  id: string
  source: string
  why: string[]
  call: Record<string, unknown>
}
const resultsOf = ({ data }: Reply): Result[] => (data as { results: Result[] }).results
const search = (query: string, more: object = {}): Promise<Reply> => temp.call('search', { query, ...more })
const load = (item_id: string, more: object = {}): Promise<Reply> =>
  temp.call('load', { item_type: 'tool', item_id, ...more })

describe('search', () => {
  test('S3: each result has every field, the reasons, and a call that runs as it is', async () => {
    const reply = await search('say hello bash')
    const [first] = resultsOf(reply)
    expect(first).toEqual({
      id: 'hello_bash',
      name: 'hello_bash',
      item_type: 'tool',
      tool_type: 'script',
      description: expect.stringContaining('Bash'),
      source: 'builtin',
      path: null,
      version: '1.0.0',
      score: expect.any(Number),
      why: expect.arrayContaining(['name', 'description']),
      call: { item_type: 'tool', action: 'run', item_id: 'hello_bash', parameters: { name: 'World' } },
    })
    expect(await temp.call('execute', first?.call)).toMatchObject({
      status: 'success',
      data: { output: 'Hello, World!\n' },
    })
  })

  test('S3: limit cuts the results, not the total', async () => {
    const all = await search('hello')
    const one = await search('hello', { limit: 1 })
    expect(resultsOf(one)).toHaveLength(1)
    expect(one.data).toMatchObject({ total: (all.data as { total: number }).total })
  })

  test('S3: one sample of each source is found, and source narrows to one', async () => {
    await temp.create('zebra_project', { ...BASH, description: 'counts zebras' }, { 'main.sh': 'true' })
    await temp.create('zebra_user', { ...BASH, description: 'counts zebras' }, { 'main.sh': 'true' }, 'user')
    await temp.create(
      'zebra_registry',
      { ...BASH, description: 'counts zebras' },
      { 'main.sh': 'true' },
      'registry',
    )
    const sources = async (more: object): Promise<string[]> =>
      resultsOf(await search('zebras', more))
        .map(({ source }) => source)
        .toSorted()
    expect(await sources({})).toEqual(['project', 'registry', 'user'])
    expect(await sources({ source: 'user' })).toEqual(['user'])
    expect(await sources({ source: 'local' })).toEqual(['project', 'user'])
    expect(await sources({ source: 'registry' })).toEqual(['registry'])
  })

  test('S3: filters by type, category and tags; results come by name when asked', async () => {
    await temp.create(
      'lion_a',
      { ...BASH, category: 'cats/big', tags: ['roar', 'loud'] },
      { 'main.sh': 'true' },
    )
    await temp.create('lion_b', { ...BASH, category: 'cats', tags: ['roar'] }, { 'main.sh': 'true' })
    const ids = async (query: string, more: object): Promise<string[]> =>
      resultsOf(await search(query, more)).map(({ id }) => id)
    expect(await ids('lion', { category: 'cats', sort_by: 'name' })).toEqual(['lion_a', 'lion_b'])
    expect(await ids('lion', { category: 'cats/big' })).toEqual(['lion_a'])
    expect(await ids('lion', { tags: ['roar', 'loud'] })).toEqual(['lion_a'])
    expect(await ids('', { tool_type: 'primitive', sort_by: 'name' })).toEqual(['http_client', 'subprocess'])
    expect(await ids('type:bash hello', {})).toEqual(['hello_bash'])
    expect(await ids('mcp:*', { sort_by: 'name', limit: 3 })).toEqual([
      'mcp_filesystem',
      'mcp_github',
      'mcp_postgres',
    ])
  })

  test('S2: every item type finds its own kind, and any other is refused with the list', async () => {
    const types = async (item_type: string): Promise<unknown[]> =>
      (await search('', { item_type, limit: 100 })).data === null
        ? []
        : [
            ...new Set(
              resultsOf(await search('', { item_type, limit: 100 })).map(
                (result) => (result as unknown as { item_type: string }).item_type,
              ),
            ),
          ]
    expect(await types('tool')).toEqual(['tool'])
    expect(await types('script')).toEqual(['tool'])
    expect(await types('knowledge')).toEqual(['knowledge'])
    expect(await types('mcp')).toEqual(['mcp'])
    expect((await types('all')).length).toBeGreaterThan(2)
    expect((await search('x', { item_type: 'bird' })).error).toMatchObject({
      code: 'UNKNOWN_ITEM_TYPE',
      details: { supported: expect.arrayContaining(['tool']) },
    })
  })

  test('one broken file is named in the warnings and never hides the others', async () => {
    const path = temp.write('tools/broken.yaml', 'tool_type: script\n  bad: [')
    temp.kiwi.spaces.at(temp.project).freshen(true)
    const reply = await search('zebras')
    expect(resultsOf(reply).length).toBeGreaterThan(0)
    expect(reply.metadata.warnings?.join()).toContain(path)
    rmSync(path)
    temp.kiwi.spaces.at(temp.project).freshen(true)
  })

  test('PAR-14: words that mean something to the index or to SQL mean nothing in a query', async () => {
    for (const query of [
      'NEAR/2 "',
      "x' OR 1=1 --",
      'name:*',
      '(((',
      'a AND NOT b',
      'x '.repeat(2000).trim(),
    ]) {
      expect((await search(query)).status).toBe('success')
    }
  })

  test('N2: searching and loading run nothing of what they find', async () => {
    await temp.create('marks', BASH, { 'main.sh': `touch '${temp.folder}/searched'` })
    await search('marks')
    await load('marks')
    expect(existsSync(join(temp.folder, 'searched'))).toBe(false)
  })
})

describe('load', () => {
  test('S5: shows the item whole, down to its chain, and an example that runs', async () => {
    const { data } = await load('hello_world')
    expect(data).toMatchObject({
      name: 'hello_world',
      version: '1.0.0',
      source: 'builtin',
      parameters: { type: 'object', properties: { name: { type: 'string', default: 'World' } } },
      files: [{ path: 'main.py', is_entrypoint: true, content: expect.stringContaining('Hello') }],
      versions: [{ version: '1.0.0', is_latest: true }],
      content_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      trust: 'builtin',
      destination: null,
    })
    // T3
    expect((data as { chain: object[] }).chain).toMatchObject([
      { depth: 0, tool_id: 'hello_world', tool_type: 'script', executor_id: 'python_runtime' },
      { depth: 1, tool_id: 'python_runtime', tool_type: 'runtime', executor_id: 'subprocess' },
      { depth: 2, tool_id: 'subprocess', tool_type: 'primitive', executor_id: null },
    ])
    expect((await temp.call('execute', (data as { call_example: object }).call_example)).status).toBe(
      'success',
    )
  })

  test('S5: a copy has equal bytes, the same copy again changes nothing, another file there is not replaced', async () => {
    await temp.create(
      'copied',
      { ...BASH, category: 'deep/down' },
      { 'main.sh': 'echo one\n', 'lib/x.sh': '#!/bin/sh\n' },
      'user',
    )
    const first = await load('copied', { source: 'user', destination: 'project' })
    expect(first.data).toMatchObject({ destination: { destination: 'project', changed: true } })
    const at = (space: string, file: string): string => join(space, 'tools/deep/down/copied', file)
    for (const file of ['main.sh', 'lib/x.sh', 'tool.yaml']) {
      expect(readFileSync(at(join(temp.project, '.ai'), file))).toEqual(
        readFileSync(at(join(temp.folder, 'user'), file)),
      )
    }
    expect((await load('copied', { source: 'user', destination: 'project' })).data).toMatchObject({
      destination: { changed: false },
    })
    writeFileSync(at(join(temp.project, '.ai'), 'main.sh'), 'echo mine\n')
    const refused = await load('copied', { source: 'user', destination: 'project' })
    expect(refused.error).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(at(join(temp.project, '.ai'), 'tool.yaml')),
    })
    expect(readFileSync(at(join(temp.project, '.ai'), 'main.sh'), 'utf8')).toBe('echo mine\n')
    expect((await load('copied', { source: 'user', destination: 'project', overwrite: true })).status).toBe(
      'success',
    )
    expect(readFileSync(at(join(temp.project, '.ai'), 'main.sh'), 'utf8')).toBe('echo one\n')
  })

  test('S5: a shipped sample can be copied and then wins over the shipped one', async () => {
    const reply = await load('hello_node', { destination: 'project' })
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
    const whole = (await load('paged')).data as { files: object[] }
    expect(whole.files).not.toContainEqual(expect.objectContaining({ content: expect.anything() }))
    const page = await load('paged', { path: 'big.txt', offset: 3, limit: 5 })
    expect(page.data).toMatchObject({ text: 'abcab', bytes: 90_000, next_offset: 8 })
    expect((await load('paged', { path: 'none.txt' })).error?.code).toBe('NOT_FOUND')
  })

  test('T10: name@version loads and runs exactly that version, a range the highest that fits', async () => {
    for (const version of ['1.0.0', '1.2.0', '2.0.0', '1.1.0']) {
      await temp.create('versioned', { ...BASH, version }, { 'main.sh': `echo ${version}` }, 'registry')
    }
    expect(await temp.run('versioned')).toMatchObject({ data: { output: '2.0.0\n' } })
    expect(await temp.run('versioned@1.0.0')).toMatchObject({ data: { output: '1.0.0\n' } })
    expect(await temp.run('versioned@^1')).toMatchObject({ data: { output: '1.2.0\n' } })
    expect((await load('versioned@1.1.0')).data).toMatchObject({
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

describe('create and delete', () => {
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
        call: { item_id: 'greets', parameters: { who: '<string>' } },
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
          files: { 'main.sh': 'echo apart' },
        },
      ],
      [
        'content_object',
        { content: { ...BASH, tool_id: 'content_object' }, files: { 'main.sh': 'echo content_object' } },
      ],
      [
        'content_text',
        {
          content: 'tool_type: script\nexecutor: bash_runtime\ndescription: x\n',
          files: { 'main.sh': 'echo content_text' },
        },
      ],
      [
        'alias',
        {
          manifest: { tool_type: 'bash', description: 'x', executor_config: { entrypoint: 'go.sh' } },
          files: { 'go.sh': 'echo alias' },
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
      parameters: { content: text, files: { 'main.sh': 'true' } },
    })
    expect(readFileSync(join(temp.project, '.ai/tools/commented/tool.yaml'), 'utf8')).toBe(text)
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
      expect(resultsOf(await search(`type:${tool_type} sample`)).map((result) => result.id)).toContain(id)
      expect((await load(id)).data).toMatchObject({ tool_type })
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
    expect((await load('subprocess')).data).toMatchObject({ source: 'builtin', tool_type: 'primitive' })
    rmSync(join(temp.project, '.ai/tools/subprocess.yaml'))
  })

  test('ZIP-01: a file that would leave its folder is refused, and nothing is written', async () => {
    for (const path of ['../x', '/etc/x', 'a/../../b', 'C:\\x', 'a/./b', '']) {
      const reply = await temp.create('escapes', BASH, { 'main.sh': 'true', [path]: 'x' })
      expect(reply.error?.code).toBe('INVALID_MANIFEST')
    }
    expect(existsSync(join(temp.project, '.ai/tools/escapes'))).toBe(false)
  })

  test('an id that is taken is not replaced', async () => {
    await temp.create('taken', BASH, { 'main.sh': 'echo first' })
    expect((await temp.create('taken', BASH, { 'main.sh': 'echo second' })).error).toMatchObject({
      code: 'CONFLICT',
    })
    expect(await temp.run('taken')).toMatchObject({ data: { output: 'first\n' } })
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
    expect(resultsOf(await search('flamingo', { item_type: 'knowledge' }))[0]).toMatchObject({
      id: 'deploy-notes',
      why: ['body'],
    })
    const run = await temp.call('execute', { item_type: 'knowledge', action: 'run', item_id: 'deploy-notes' })
    expect(run.data).toMatchObject({ output: '# Deploying\nUse the flamingo switch.\n' })
  })

  test('N1: an agent cannot make a tool that inherits the environment', async () => {
    const reply = await temp.create('nosy', { ...BASH, config: { inherit_env: true } }, { 'main.sh': 'env' })
    expect(reply.error).toMatchObject({
      code: 'INVALID_MANIFEST',
      details: { invalid: [{ name: 'config.inherit_env' }] },
    })
  })
})

describe('dry run', () => {
  test('S9: shows the chain and what would run, and no process, file or record comes of it', async () => {
    await temp.create(
      'email_enricher',
      { tool_type: 'python', description: 'x', parameters: [{ name: 'email', required: true }] },
      { 'main.py': `open('${temp.folder}/ran', 'w')` },
    )
    const before = readdirSync(join(temp.folder), { recursive: true }).length
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'email_enricher',
      parameters: { email: 'a@b.c' },
      dry_run: true,
    })
    expect(reply).toMatchObject({
      status: 'dry_run',
      data: {
        message: expect.any(String),
        executor_chain: ['email_enricher', 'python_runtime', 'subprocess'],
        tool_type: 'script',
        would_ask: false,
        denied_by: null,
        would_run: {
          command: expect.stringContaining('python3'),
          env: expect.arrayContaining(['KIWI_PARAM_EMAIL']),
        },
      },
    })
    expect(readdirSync(join(temp.folder), { recursive: true }).length).toBe(before)
  })

  test('S9: what is wrong is said as a run would say it', async () => {
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'run',
      item_id: 'email_enricher',
      dry_run: true,
    })
    expect(reply.error).toMatchObject({ code: 'INVALID_PARAMETERS', details: { missing: ['email'] } })
  })

  test('S9: a dry create writes nothing', async () => {
    const parameters = { manifest: BASH, files: { 'main.sh': 'true' } }
    const reply = await temp.call('execute', {
      item_type: 'tool',
      action: 'create',
      item_id: 'not_yet',
      parameters,
      dry_run: true,
    })
    expect(reply).toMatchObject({
      status: 'dry_run',
      data: { would_write: join(temp.project, '.ai/tools/not_yet') },
    })
    expect(existsSync(join(temp.project, '.ai/tools/not_yet'))).toBe(false)
  })
})

describe('help', () => {
  const TOPICS = [
    'overview',
    'search',
    'load',
    'execute',
    'directives',
    'tools',
    'knowledge',
    'mcp',
    'sign',
    'permissions',
    'threads',
    'limits',
  ]

  test.each(TOPICS)('S10: the topic %s answers in under 2 kB, with an example', async (topic) => {
    const { data } = await temp.call('help', { topic })
    const { text } = data as { text: string }
    expect(text.length).toBeGreaterThan(200)
    expect(Buffer.byteLength(text)).toBeLessThan(2048)
    expect(text).toMatch(/[`{]/)
  })

  test('S10: the overview is the default and counts the items and names the servers', async () => {
    expect((await temp.call('help', {})).data).toMatchObject({
      topic: 'overview',
      items: { primitive: 2 },
      servers: expect.arrayContaining(['mcp_github', 'mcp_slack']),
    })
  })

  test.each(Object.keys(ERRORS))(
    'S10, S14: the error code %s is explained with a message and a hint',
    async (error_code) => {
      const { data } = await temp.call('help', { error_code })
      expect(data).toMatchObject({
        error_code,
        means: expect.stringMatching(/\S/),
        hint: expect.stringMatching(/\S/),
      })
    },
  )

  test('S10: how to call an item, and an unknown topic or code lists the known ones', async () => {
    expect((await temp.call('help', { item_id: 'hello_bash' })).data).toMatchObject({
      call: { item_id: 'hello_bash' },
    })
    expect((await temp.call('help', { topic: 'birds' })).error).toMatchObject({
      code: 'NOT_FOUND',
      details: { topics: TOPICS },
    })
    expect((await temp.call('help', { error_code: 'BIRD' })).error?.hint).toContain('TIMEOUT')
  })
})

describe('the reply', () => {
  test('S15, S13: one shape for every kind of call', async () => {
    await temp.create('json_out', BASH, { 'main.sh': `echo '{"n": 1}'` })
    for (const id of ['hello_bash', 'hello_node', 'json_out', 'kiwi-overview']) {
      const reply = await temp.run(id)
      expect(Object.keys(reply)).toEqual(['status', 'data', 'error', 'metadata'])
      expect(reply).toMatchObject({
        status: 'success',
        data: { output: expect.anything() },
        error: null,
        metadata: {
          call_id: expect.stringMatching(/^[0-9A-Z]{26}$/),
          duration_ms: expect.any(Number),
          item_id: id,
          action: 'run',
        },
      })
      expect(reply.metadata.executor_chain?.[0]).toBe(id)
    }
  })

  test('R21: one JSON value on standard output is the output, and its text stands beside it', async () => {
    expect((await temp.run('json_out')).data).toMatchObject({ output: { n: 1 }, stdout: '{"n": 1}\n' })
  })

  test('S14: an error has code, message, hint, details, and what was finished', async () => {
    await temp.create('half', BASH, { 'main.sh': 'echo done so far; echo oh no >&2; exit 7' })
    const reply = await temp.run('half')
    expect(Object.keys(reply)).toEqual(['status', 'data', 'error', 'metadata'])
    expect(reply).toMatchObject({
      status: 'error',
      data: { output: 'done so far\n', stderr: 'oh no\n', return_code: 7 },
      error: {
        code: 'TOOL_FAILED',
        message: expect.stringContaining('code 7: oh no'),
        hint: expect.any(String),
        retryable: false,
        details: expect.any(Object),
      },
    })
  })
})

describe('the project', () => {
  test('S11: a path that is no folder is refused with how to pass one', async () => {
    for (const project_path of ['/does/not/exist', 'relative']) {
      const reply = await temp.call('execute', {
        item_type: 'tool',
        action: 'run',
        item_id: 'hello_bash',
        project_path,
      })
      expect(reply.error).toMatchObject({
        code: 'PROJECT_PATH_REQUIRED',
        hint: expect.stringContaining('project_path'),
      })
    }
  })

  test('S11: project_path chooses another project, and without any project the other spaces still work', async () => {
    const other = join(temp.folder, 'other')
    mkdirSync(other)
    expect((await search('zebras', { project_path: other, source: 'project' })).data).toMatchObject({
      total: 0,
    })
    const nowhere = {
      principal: 'p',
      session: 's',
      kind: 'agent',
      defaultProject: () => Promise.resolve(null),
    } as const
    const run = await temp.kiwi.call(
      'execute',
      { item_type: 'tool', action: 'run', item_id: 'hello_bash' },
      nowhere,
    )
    expect(run.status).toBe('success')
    const create = await temp.kiwi.call(
      'execute',
      {
        item_type: 'tool',
        action: 'create',
        item_id: 'x',
        parameters: { manifest: BASH, files: { 'main.sh': 'true' } },
      },
      nowhere,
    )
    expect(create.error?.code).toBe('PROJECT_PATH_REQUIRED')
  })
})

describe('C14: what one process makes, another sees within a second', () => {
  test('a tool made, changed and deleted beside us', async () => {
    const other = await openTempKiwi({ beside: temp })
    try {
      await other.run('hello_bash')
      await temp.create('shared_tool', BASH, { 'main.sh': 'echo one' })
      expect(await other.run('shared_tool')).toMatchObject({ data: { output: 'one\n' } })
      writeFileSync(join(temp.project, '.ai/tools/shared_tool/main.sh'), 'echo two two')
      expect(await other.run('shared_tool')).toMatchObject({ data: { output: 'two two\n' } })
      await temp.call('execute', {
        item_type: 'tool',
        action: 'delete',
        item_id: 'shared_tool',
        parameters: { confirm: true },
      })
      expect((await other.run('shared_tool')).error?.code).toBe('NOT_FOUND')
      await temp.create('shared_row', BASH, { 'main.sh': 'echo row' }, 'registry')
      expect(await other.run('shared_row')).toMatchObject({ data: { output: 'row\n' } })
    } finally {
      await other.close()
    }
  })
})
