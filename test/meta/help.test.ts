import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ERRORS } from '../../src/shared/errors.ts'
import { field, listField, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeAll(async () => {
  temp = await openTempKiwi()
  // What the examples speak of.
  temp.write('tools/web_greet.yaml', 'tool_type: bash\nversion: 1.0.0\ndescription: greets\n')
  mkdirSync(join(temp.project, 'src'))
  writeFileSync(join(temp.project, 'src/main.ts'), 'export {}\n')
})
afterAll(() => temp.close())

/** The calls that a text gives as its examples: in a line that says so, or as a block of JSON for execute. */
function examplesIn(text: string): readonly (readonly [string, unknown])[] {
  const lines = text.matchAll(/Example: `(search|load|execute|help) (\{[^`]*\})`/g)
  const blocks = text.matchAll(/```json\n([^]*?)```/g)
  return [
    ...Array.from(lines, ([, tool = '', args = '']): readonly [string, unknown] => [tool, JSON.parse(args)]),
    ...Array.from(blocks, ([, args = '']): readonly [string, unknown] => ['execute', JSON.parse(args)]),
  ]
}

describe('help', () => {
  const TOPICS = readdirSync('builtin/knowledge/help')
    .map((file) => file.replace(/^kiwi-(.*)\.md$/, '$1'))
    .toSorted()

  test('S10: what is shipped is a topic, undo, audit and sandbox among them, and the overview names all', async () => {
    expect(TOPICS).toEqual(expect.arrayContaining(['undo', 'audit', 'sandbox', 'limits']))
    const { data } = await temp.call('help', {})
    expect(data).toMatchObject({ topics: TOPICS })
    expect(textField(data, 'text')).toContain(TOPICS.join(', '))
  })

  test.each(TOPICS)('S10: the topic %s answers in under 2 kB, with an example that works', async (topic) => {
    const { data } = await temp.call('help', { topic })
    const text = textField(data, 'text')
    expect(text.length).toBeGreaterThan(200)
    expect(Buffer.byteLength(text)).toBeLessThan(2048)
    const examples = examplesIn(text)
    expect(examples.length).toBeGreaterThan(0)
    for (const [tool, args] of examples) expect((await temp.call(tool, args)).error, topic).toBeNull()
  })

  test.each<readonly [string, string]>([
    ['how do I make a tool', 'tools'],
    ['How can I write a new tool in python?', 'tools'],
    ['how do I search for something', 'search'],
    ['what are modifiers of a query', 'search'],
    ['how do I read an item whole', 'load'],
    ['how do I copy an item to my project', 'load'],
    ['how do I run a directive', 'directives'],
    ['what does run_id mean for a directive', 'directives'],
    ['how do I keep what I have learnt', 'knowledge'],
    ['how do I add an MCP server', 'mcp'],
    ['which servers are there', 'mcp'],
    ['how do I sign an item', 'sign'],
    ['why is the project untrusted', 'sign'],
    ['why was my call refused by a layer', 'permissions'],
    ['how does a tool get a secret token', 'secrets'],
    ['how do I take back a change', 'undo'],
    ['how large may a result be', 'limits'],
    ['what to do when a call waits for a person', 'approvals'],
    ['how do I read a file', 'files'],
    ['how is a program held in a sandbox', 'sandbox'],
    ['take over items from older folders', 'import'],
    ['who reads the record of calls', 'audit'],
    ['can Kiwi drive a model in a thread', 'threads'],
    ['publish a version', 'execute'],
    ['connect claude', 'clients'],
    ['how do I publsh', 'execute'],
    ['permisions', 'permissions'],
    ['what can you do', 'overview'],
  ])('S10: "%s" is answered by the topic %s', async (topic, meant) => {
    const { data } = await temp.call('help', { topic })
    const about = [textField(data, 'topic'), ...listField(data, 'see_also')]
    expect(about).toContain(meant)
    expect(textField(data, 'text').length).toBeGreaterThan(200)
    expect(data).toMatchObject({ search: { call: 'search', arguments: { query: topic } } })
  })

  test('S10: most questions are answered by the first topic', async () => {
    const meant = {
      'how do I make a tool': 'tools',
      'how do I sign an item': 'sign',
      'how do I take back a change': 'undo',
      'how do I add an MCP server': 'mcp',
      'how do I read a file': 'files',
      'what is a run_id': 'directives',
      'the call was denied, why': 'permissions',
      'how do I find a tool': 'search',
      'quarantined tool': 'mcp',
      'connect claude': 'clients',
      'how do I run a shell command': 'shell',
      'how do I commit with git': 'shell',
      'how do I run a bash script': 'tools',
      'how do I remember something': 'knowledge',
      'how do I store a note for later': 'knowledge',
      'how do I give a tool an API key': 'secrets',
      'how do I restrict network access of a script': 'sandbox',
      'how do I write a directive': 'directives',
      'how do I finish a run': 'directives',
      'how do I search only one server': 'search',
      'how do I see what happened yesterday': 'audit',
      'how do I get the rest of a large result': 'load',
      'how do I log in to a remote server': 'mcp',
      'how do I delete a tool': 'execute',
      'how do I limit calls per minute': 'limits',
      'how do I trust a project': 'sign',
      'my server does not start': 'mcp',
    }
    // Whatever else there is to be found has no say in it.
    for (const at of [1, 2, 3])
      temp.write(`knowledge/run_${at}.md`, '---\ntitle: run run_id denied quarantined claude\n---\nfind\n')
    const first = await Promise.all(
      Object.keys(meant).map(async (topic) => textField((await temp.call('help', { topic })).data, 'topic')),
    )
    expect(first).toEqual(Object.values(meant))
  })

  test('S10: an error code in a question is explained, and a topic may be written in any case', async () => {
    expect((await temp.call('help', { topic: 'what does PERMISSION_DENIED mean' })).data).toMatchObject({
      error_code: 'PERMISSION_DENIED',
    })
    expect((await temp.call('help', { topic: ' Search ' })).data).toMatchObject({ topic: 'search' })
  })

  test('S10: an empty topic is none: the overview comes', async () => {
    expect((await temp.call('help', { topic: '' })).data).toMatchObject({ topic: 'overview' })
  })

  test.each(['   ', '"*" OR NEAR(', '—', 'x'.repeat(4000), 'qqqzzz', 'xyzzy', 'how do I bake bread'])(
    'S10: a topic that means nothing lists the known ones (%#)',
    async (topic) => {
      expect((await temp.call('help', { topic })).error).toMatchObject({
        code: 'NOT_FOUND',
        details: { topics: TOPICS },
      })
    },
  )

  test('S10: the overview is the default and counts the items and names the servers', async () => {
    expect((await temp.call('help', {})).data).toMatchObject({
      topic: 'overview',
      items: { primitive: 2 },
      servers: expect.arrayContaining(['mcp_github', 'mcp_slack']),
    })
  })

  test('S10, E2: the overview as the very first call counts the files, and leaves the index as it was', async () => {
    temp.write('tools/mine.yaml', 'tool_type: bash\nversion: 1.0.0\ndescription: a zebra of my own\n')
    temp.kiwi.spaces.at(temp.project).freshen(true)
    expect(resultsOf(await temp.search('zebra')).map(({ id }) => id)).toEqual(['mine'])
    const scripts = async (kiwi: TempKiwi): Promise<unknown> =>
      field((await kiwi.call('help', {})).data, 'items', 'script')
    const before = await scripts(temp)
    const fresh = await openTempKiwi({ beside: temp })
    try {
      expect(await scripts(fresh)).toBe(before)
      const roots = [{ space: 'project', root: join(temp.project, '.ai') }] as const
      expect(await fresh.kiwi.store.count(roots)).toMatchObject({ script: before })
    } finally {
      await fresh.close()
    }
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

  test('S10: an error that a topic speaks of leads there', async () => {
    const seeAlso = async (error_code: string) =>
      field((await temp.call('help', { error_code })).data, 'see_also')
    expect(await seeAlso('PERMISSION_DENIED')).toEqual(['permissions', 'shell'])
    expect(await seeAlso('quarantined')).toEqual(['mcp'])
    expect(await seeAlso('TOO_DEEP')).toBeUndefined()
  })

  test('S10: a server is explained by its own name, and what is no tool by itself says so', async () => {
    for (const item_id of ['github', 'mcp_github', 'github_mcp'])
      expect((await temp.call('help', { item_id })).data).toMatchObject({
        item_id: 'mcp_github',
        item_type: 'mcp',
        text: expect.stringContaining('"github.<tool>"'),
        load: { item_type: 'mcp', item_id: 'github' },
      })
    expect((await temp.run('github')).error).toMatchObject({
      code: 'NOT_FOUND',
      message: 'Cannot find tool "github": it is an MCP server',
      fix: { call: 'load', arguments: { item_type: 'mcp', item_id: 'github' } },
    })
    expect((await temp.run('git')).error).toMatchObject({
      message: 'Cannot find tool "git": it is a group of tools',
      hint: expect.stringContaining('git.<tool>'),
    })
  })

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
