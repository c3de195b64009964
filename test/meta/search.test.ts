import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { field, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { BASH, openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
})
afterAll(() => temp.close())

describe('search', () => {
  test('S3: each result has every field, the reasons, and a call that runs as it is', async () => {
    const reply = await temp.search('say hello bash', { limit: 3 })
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
      call: { item_type: 'tool', action: 'run', item_id: 'hello_bash', parameters: {} },
    })
    expect(await temp.call('execute', first?.call)).toMatchObject({
      status: 'success',
      data: { output: 'Hello, World!\n' },
    })
  })

  test('S3: limit cuts the results, not the total', async () => {
    const all = await temp.search('hello')
    const one = await temp.search('hello', { limit: 1 })
    expect(resultsOf(one)).toHaveLength(1)
    expect(one.data).toMatchObject({ total: field(all.data, 'total') })
  })

  test.each(['deploy', 'say hello', 'undo my last change', 'picture'])(
    'S3: the total of %s is the same whatever the limit, with what is found by meaning alone',
    async (query) => {
      const all = await temp.search(query, { limit: 100 })
      expect(field(all.data, 'total')).toBe(resultsOf(all).length)
      for (const limit of [1, 3, 10])
        expect((await temp.search(query, { limit })).data).toMatchObject({ total: field(all.data, 'total') })
    },
  )

  test('S3: of ids that are written alike, the one that was asked for is the first', async () => {
    for (const query of ['git_checkpoint', 'git.checkpoint'])
      expect(resultsOf(await temp.search(query, { limit: 1 }))).toMatchObject([{ id: query }])
  })

  test('D15, D16: directives and knowledge are found among tools by their type', async () => {
    for (const [type, id] of [
      ['directive', 'git_checkpoint'],
      ['knowledge', 'kiwi-undo'],
    ]) {
      const asked = { item_type: 'tool', limit: 100 }
      expect(resultsOf(await temp.search(`type:${type}`, asked)).map((one) => one.id)).toContain(id)
      const named = await temp.search('', { ...asked, tool_type: type })
      expect(resultsOf(named).map((one) => one.id)).toContain(id)
    }
    const tools = resultsOf(await temp.search('checkpoint', { item_type: 'tool', limit: 100 }))
    expect(tools.map(({ id }) => id)).not.toContain('git_checkpoint')
  })

  test('S2: script is a type of tool, and narrows to scripts', async () => {
    const types = resultsOf(await temp.search('', { item_type: 'script', limit: 100 })).map(({ id }) => id)
    expect(types).toContain('hello_bash')
    expect(types).not.toContain('bash_runtime')
    expect(types).not.toContain('subprocess')
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
      resultsOf(await temp.search('zebras', more))
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
      resultsOf(await temp.search(query, more)).map(({ id }) => id)
    expect(await ids('lion', { category: 'cats', sort_by: 'name' })).toEqual(['lion_a', 'lion_b'])
    expect(await ids('lion', { category: 'cats/big' })).toEqual(['lion_a'])
    expect(await ids('lion', { tags: ['roar', 'loud'] })).toEqual(['lion_a'])
    expect(await ids('', { tool_type: 'primitive', sort_by: 'name' })).toEqual(['http_client', 'subprocess'])
    expect(await ids('type:bash hello', {})).toEqual(['hello_bash'])
    expect(await ids('hello', { tool_type: 'bash' })).toEqual(['hello_bash'])
    expect(await ids('mcp:*', { sort_by: 'name', limit: 3 })).toEqual([
      'filesystem',
      'filesystem.create',
      'filesystem.delete',
    ])
  })

  test('S2: every item type finds its own kind, and any other is refused with the list', async () => {
    const types = async (item_type: string): Promise<readonly string[]> => [
      ...new Set(
        resultsOf(await temp.search('', { item_type, limit: 100 })).map((result) => result.item_type),
      ),
    ]
    expect(await types('tool')).toEqual(['tool'])
    expect(await types('script')).toEqual(['tool'])
    expect(await types('knowledge')).toEqual(['knowledge'])
    expect(await types('mcp')).toEqual(['mcp'])
    expect((await types('all')).length).toBeGreaterThan(2)
    expect((await temp.search('x', { item_type: 'bird' })).error).toMatchObject({
      code: 'UNKNOWN_ITEM_TYPE',
      details: { supported: expect.arrayContaining(['tool']) },
    })
  })

  test('one broken file is named in the warnings and never hides the others', async () => {
    const path = temp.write('tools/broken.yaml', 'tool_type: script\n  bad: [')
    temp.kiwi.spaces.at(temp.project).freshen(true)
    const reply = await temp.search('zebras')
    expect(resultsOf(reply).length).toBeGreaterThan(0)
    expect(reply.metadata.warnings?.join()).toContain(path)
    rmSync(path)
    temp.kiwi.spaces.at(temp.project).freshen(true)
  })

  test('S3: an agent reads of several broken files their names, and not every reason with every search', async () => {
    const paths = Array.from({ length: 9 }, (_, at) =>
      temp.write(`tools/broken_${at}.yaml`, 'tool_type: script\n  bad: ['),
    )
    temp.kiwi.spaces.at(temp.project).freshen(true)
    const { metadata } = await temp.search('zebras')
    expect(metadata.warnings).toEqual([
      expect.stringMatching(/^9 files cannot be read: broken_\d\.yaml, .* and others; load says why$/),
    ])
    for (const path of paths) rmSync(path)
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
      expect((await temp.search(query)).status).toBe('success')
    }
  })

  test.each(['???', '---', '🥝', 'type:directive !!', '"'.repeat(4000)])(
    'S3: %j holds no word: it lists what an empty query does, and says so',
    async (query) => {
      const empty = await temp.search(query.startsWith('type:') ? 'type:directive' : '')
      const signs = await temp.search(query)
      expect(resultsOf(signs).map(({ id }) => id)).toEqual(resultsOf(empty).map(({ id }) => id))
      expect(signs.metadata.warnings).toEqual([
        expect.stringMatching(/^".{1,40}" holds no word to search for: it counts as an empty query$/u),
      ])
      expect(empty.metadata.warnings ?? []).toEqual([])
    },
  )

  test.each(['', '   ', '*', 'type:script', 'the'])('S3: of %j there is nothing to say', async (query) => {
    expect((await temp.search(query)).metadata.warnings ?? []).toEqual([])
  })

  test.each([
    ['type:nope deploy', 'type:nope is no type of item: use primitive, runtime'],
    ['type:bash,python', 'type:bash,python is no type of item'],
    ['in:nowhere', 'in:nowhere names no space: use project, user'],
    ['mcp:one,two', 'there is no server "one,two" here'],
  ])('S4: %j finds nothing, and why is said', async (query, why) => {
    const { data, metadata } = await temp.search(query)
    expect(field(data, 'total')).toBe(0)
    expect(metadata.warnings?.[0]).toContain(why)
  })

  test('S4: modifiers and types may be written in any case', async () => {
    const ids = async (query: string): Promise<readonly unknown[]> =>
      resultsOf(await temp.search(query)).map(({ id }) => id)
    expect(await ids('Type:Bash hello')).toEqual(await ids('type:bash hello'))
    expect(await ids('IN:builtin hello')).toEqual(await ids('in:builtin hello'))
  })

  test('N2: searching and loading run nothing of what they find', async () => {
    await temp.create('marks', BASH, { 'main.sh': `touch '${temp.folder}/searched'` })
    await temp.search('marks')
    await temp.load('marks')
    expect(existsSync(join(temp.folder, 'searched'))).toBe(false)
  })

  test('S3: two items of one id are called by their categories, and each call runs its own', async () => {
    for (const category of ['east', 'west']) {
      temp.write(
        `tools/${category}/twin/tool.yaml`,
        'tool_type: bash\nversion: 1.0.0\ndescription: a zebra twin\n',
      )
      temp.write(`tools/${category}/twin/main.sh`, `echo ${category}`)
    }
    temp.kiwi.spaces.at(temp.project).freshen(true)
    const found = resultsOf(await temp.search('twin', { limit: 2 }))
    expect(found).toMatchObject([{ id: 'twin' }, { id: 'twin' }])
    const outputs = await Promise.all(found.map(({ call }) => temp.call('execute', call)))
    expect(outputs.map(({ data }) => textField(data, 'output')).toSorted()).toEqual(['east\n', 'west\n'])
  })

  test('S3: what is not run by itself offers no call', async () => {
    const [runtime] = resultsOf(await temp.search('python_runtime', { tool_type: 'runtime', limit: 1 }))
    expect(runtime).toMatchObject({ id: 'python_runtime', call: null })
  })
})
