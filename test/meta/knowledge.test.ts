import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Reply } from '../../src/shared/reply.ts'
import { field, listField, textField } from '../fixtures/field.ts'
import type { TempKiwi } from '../temp-kiwi.ts'
import { openTempKiwi, resultsOf } from '../temp-kiwi.ts'

let temp: TempKiwi
beforeEach(async () => {
  temp = await openTempKiwi()
})
afterEach(() => temp.close())

const note = (id: string, keys: string, body = `The text of ${id}`): string =>
  temp.write(`knowledge/${id}.md`, `---\nid: ${id}\nversion: 1.0.0\ntitle: ${id}\n${keys}---\n${body}`)
const load = (id: string, more: object = {}): Promise<Reply> =>
  temp.load(id, { item_type: 'knowledge', ...more })
const relatedIds = ({ data }: Pick<Reply, 'data'>): readonly string[] =>
  listField(data, 'related').map((each) => textField(each, 'id'))
const warningsOf = ({ metadata }: Reply): readonly string[] => metadata.warnings ?? []

describe('D16: what a piece of knowledge belongs to', () => {
  test('D16: load shows its relations, and follows none of them unless it is asked to', async () => {
    note('base', 'description: what it builds on\n')
    note('top', 'extends: [base]\nreferences: [base, hello_bash, "https://example.com/a"]\n')
    const { data, metadata } = await load('top')
    expect(data).toMatchObject({
      relations: [
        { kind: 'extends', id: 'base', item_type: 'knowledge', description: 'what it builds on' },
        { kind: 'references', id: 'base', item_type: 'knowledge' },
        { kind: 'references', id: 'hello_bash', item_type: 'tool', description: expect.stringMatching(/\S/) },
        { kind: 'references', id: 'https://example.com/a', item_type: null, description: null },
      ],
    })
    expect(field(data, 'related')).toBeUndefined()
    expect(metadata.warnings).toBeUndefined()
    expect(field((await load('base')).data, 'relations')).toBeUndefined()
  })

  test('D16: with a depth it comes with what is so many steps away, nearest first, each once', async () => {
    note('a', 'extends: [b]\nreferences: c\n')
    note('b', 'extends: [d]\n')
    note('c', 'references: [{id: b}, e]\n')
    note('d', 'references: [f]\n')
    note('e', '')
    note('f', '')
    expect(relatedIds(await load('a', { depth: 1 }))).toEqual(['b', 'c'])
    const two = await load('a', { depth: 2 })
    expect(listField(two.data, 'related')).toMatchObject([
      { id: 'b', kind: 'extends', of: 'a', depth: 1, content: 'The text of b', source: 'project' },
      { id: 'c', kind: 'references', of: 'a', depth: 1 },
      { id: 'd', kind: 'extends', of: 'b', depth: 2, content: 'The text of d', version: '1.0.0' },
      { id: 'e', kind: 'references', of: 'c', depth: 2 },
    ])
    expect(relatedIds(await load('a', { depth: 3 }))).toEqual(['b', 'c', 'd', 'e', 'f'])
    expect(warningsOf(two)).toEqual([])
  })

  test('D16: what leads back to itself ends', async () => {
    note('a', 'extends: [b, a]\n')
    note('b', 'extends: [c]\n')
    note('c', 'extends: [a, b]\n')
    const loaded = await load('a', { depth: 3 })
    expect(relatedIds(loaded)).toEqual(['b', 'c'])
    expect(warningsOf(loaded)).toContain('"a": "extends" names the item itself: without effect')
    const parameters = { title: 'Me', content: 'Text', extends: ['me'] }
    const made = await temp.call('execute', {
      item_type: 'knowledge',
      action: 'create',
      item_id: 'me',
      parameters,
    })
    expect(warningsOf(made)).toContain('"extends" names the item itself: without effect')
  })

  test.each([{ title: 'Bare' }, { title: 'Bare', content: ' \n' }])(
    'D16: knowledge without a text is not made (%#)',
    async (parameters) => {
      const order = { item_type: 'knowledge', action: 'create', item_id: 'bare', parameters }
      expect((await temp.call('execute', order)).error).toMatchObject({
        code: 'INVALID_PARAMETERS',
        hint: expect.stringContaining('parameters.content'),
        details: { missing: ['content'] },
      })
    },
  )

  test.each(['create', 'update'])(
    'D16: %s says of content that is a number what it must be',
    async (action) => {
      note('bare', '')
      const order = { item_type: 'knowledge', action, item_id: 'bare', parameters: { content: 5 } }
      expect((await temp.call('execute', order)).error).toMatchObject({
        code: 'INVALID_PARAMETERS',
        message: expect.stringContaining('"content" must be a text'),
      })
    },
  )

  test('D1: a directive that extends itself is a ring, before it is made and after', async () => {
    const content = '---\nname: loop\nversion: 1.0.0\ndescription: d\nextends: loop\n---\nGo.\n'
    const order = { item_type: 'directive', action: 'create', item_id: 'loop', parameters: { content } }
    expect((await temp.call('execute', order)).error?.message).toContain('extends')
    temp.write('directives/loop.md', content)
    const run = { item_type: 'directive', action: 'run', item_id: 'loop' }
    expect((await temp.call('execute', run)).error?.message).toContain('forms a ring: loop > loop')
  })

  test('D16: each item is met once and no further than asked, whatever points where', async () => {
    const names = ['n0', 'n1', 'n2', 'n3', 'n4']
    const edges = fc.array(fc.tuple(fc.nat(4), fc.nat(4)), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(edges, fc.integer({ min: 1, max: 3 }), async (pairs, depth) => {
        for (const [at, id] of names.entries()) {
          const targets = pairs.filter(([from]) => from === at).map(([, to]) => names[to])
          note(id, `references: [${targets.join(', ')}]\n`)
        }
        temp.kiwi.spaces.at(temp.project).freshen(true)
        const met = relatedIds(await load('n0', { depth }))
        const steps = distances(pairs)
        const near = names.filter((_, at) => at !== 0 && (steps.get(at) ?? 9) <= depth)
        expect(met.toSorted()).toEqual(near)
      }),
      { numRuns: 15 },
    )
  })

  test('D16: a target that is unknown, ambiguous or broken is a warning, and the rest is shown', async () => {
    note('good', '')
    temp.write('knowledge/x/twice.md', 'one')
    temp.write('knowledge/y/twice.md', 'two')
    temp.write('knowledge/broken.md', '---\ntitle: [\n---\n')
    note('a', 'references: [nowhere, "no id!", twice, broken, 7, [x], good]\n')
    const reply = await load('a', { depth: 1 })
    expect(relatedIds(reply)).toEqual(['good'])
    expect(warningsOf(reply)).toEqual([
      '"a": "references" holds something that is no id: left out',
      '"a" references "nowhere": there is no such item',
      expect.stringContaining('"a" references "no id!": Cannot read item id'),
      expect.stringContaining('"a" references "twice": '),
      expect.stringContaining('"a" references "broken": '),
      '"a" references "7": there is no such item',
    ])
  })

  test('D1: a directive shows what it requires, suggests and extends, and brings it along', async () => {
    const directive = (id: string, extended: string, relationships: string): string =>
      temp.write(
        `directives/${id}.md`,
        `<directive name="${id}" version="1.0.0"${extended}>\n<metadata><description>does ${id}</description><relationships>${relationships}</relationships></metadata>\n<process><step>Do ${id}</step></process>\n</directive>\n`,
      )
    directive('base', '', '<extends directive="leaf"/>')
    directive('leaf', ' extends="base"', '')
    directive('top', ' extends="base"', '<requires>git_checkpoint</requires><related directive="gone"/>')
    const reply = await temp.load('top', { item_type: 'directive', depth: 3 })
    expect(reply.data).toMatchObject({
      relations: [
        { kind: 'extends', id: 'base', item_type: 'directive', description: 'does base' },
        { kind: 'requires', id: 'git_checkpoint', item_type: 'directive' },
        { kind: 'related', id: 'gone', item_type: null },
      ],
    })
    expect(relatedIds(reply)).toEqual(['base', 'git_checkpoint', 'leaf'])
    expect(warningsOf(reply)).toContain('"top" related "gone": there is no such item')
  })

  test('D16: what is followed is bounded in number and in bytes, and both are said', async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `n${String(at).padStart(2, '0')}`)
    for (const id of ids) note(id, '', 'ü'.repeat(500))
    note('all', `references: [${ids.join(', ')}]\n`)
    const many = await load('all', { depth: 1 })
    expect(relatedIds(many)).toHaveLength(50)
    expect(warningsOf(many)).toContain('only 50 related items are shown: load others by their id')
    const texts = listField(many.data, 'related').map((each) => field(each, 'content'))
    expect(texts.filter((text) => text !== null)).toHaveLength(32)
    expect(warningsOf(many)).toContainEqual(expect.stringContaining('the text of "n32" is left out'))
  })

  test.each([4, -1, 1.5, 'deep'])('D16: the depth %j is refused', async (depth) => {
    note('a', '')
    expect((await load('a', { depth })).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      details: { invalid: [{ name: 'depth' }] },
    })
  })
})

function distances(pairs: readonly (readonly [number, number])[]): ReadonlyMap<number, number> {
  const steps = new Map([[0, 0]])
  for (let round = 0; round < 5; round++)
    for (const [from, to] of pairs) {
      const at = steps.get(from)
      if (at !== undefined) steps.set(to, Math.min(steps.get(to) ?? 9, at + 1))
    }
  return steps
}

describe('D16: knowledge in its containers', () => {
  const KEYS =
    'id: k\ntitle: The title\nentry_type: pattern\ncategory: c\ntags: [x, y]\nversion: 1.2.0\nauthor: Ada\ncreated_at: 2026-01-01\nsource_type: web\nsource_url: https://example.com\nreferences: [kiwi-load]\n'
  const LINE = `<!-- kiwi-mcp:validated:2026-01-28T12:34:56Z:${'a'.repeat(64)} -->\n`

  test.each([
    ['front matter', `---\n${KEYS}---\nText`],
    ['a fence of YAML', `\`\`\`yaml\n${KEYS}\`\`\`\nText`],
    ['a signature before', `${LINE}---\n${KEYS}---\nText`],
    ['a signature and an empty line before', `${LINE}\n---\n${KEYS}---\nText`],
    ['lines that end as on Windows', `---\n${KEYS}---\nText`.replaceAll('\n', '\r\n')],
    ['a mark of byte order', `\uFEFF---\n${KEYS}---\nText`],
  ])('D16: %s: every key is read, and the text below it', async (_, text) => {
    temp.write('knowledge/c/k.md', text)
    const { data } = await load('k')
    expect(data).toMatchObject({
      version: '1.2.0',
      metadata: {
        name: 'The title',
        author: 'Ada',
        config: { entry_type: 'pattern', source_type: 'web', source_url: 'https://example.com' },
      },
      relations: [{ kind: 'references', id: 'kiwi-load' }],
      files: [{ path: 'content.md', content: 'Text' }],
    })
  })

  test.each([
    [
      'front matter',
      '---\nid: k # mine\nversion: 1.0.0\ntitle: T\n---\nText',
      /^<!--[^]*-->\n---\nid: k # mine\n[^]*---\nText$/,
    ],
    [
      'a fence',
      '```yaml\nid: k # mine\nversion: 1.0.0\ntitle: T\n```\nText',
      /^<!--[^]*-->\n```yaml\nid: k # mine\n[^]*```\nText$/,
    ],
    ['none', '# T\nText', /^<!--[^]*-->\n---\n[^]*---\n# T\nText$/],
  ])('D16: %s: what is changed is written back in the container it came in', async (_, text, form) => {
    const path = temp.write('knowledge/k.md', text)
    const change = { manifest: { references: ['kiwi-load'] } }
    const update = { item_type: 'knowledge', action: 'update', item_id: 'k', parameters: change }
    expect(await temp.call('execute', update)).toMatchObject({ status: 'success' })
    expect(readFileSync(path, 'utf8')).toMatch(form)
    expect((await load('k')).data).toMatchObject({ relations: [{ id: 'kiwi-load' }] })
  })

  test('D16: a schema of its own is for its further keys, and what is against it is a warning', async () => {
    const schema =
      'schema: {type: object, properties: {level: {type: integer}, who: {type: string}}, required: [who]}\n'
    note('fits', `${schema}level: 3\nwho: Ada\n`)
    note('does_not', `${schema}level: high\nother: 1\n`)
    note('spoilt', 'schema: {type: nonsense}\n')
    expect(warningsOf(await load('fits'))).toEqual([])
    expect(warningsOf(await load('does_not'))).toEqual([
      '"other" is not a key Kiwi knows: kept, without effect',
      'against its own schema: "who" is missing; "level" must be integer',
    ])
    expect(warningsOf(await load('spoilt'))).toEqual([expect.stringContaining('Cannot use its schema')])
  })
})

describe('D16: knowledge that an agent keeps', () => {
  const execute = (action: string, parameters: object = {}): Promise<Reply> =>
    temp.call('execute', { item_type: 'knowledge', action, item_id: 'deploying', parameters })

  test('D16: it is made, changed, published and read again, relations and versions with it', async () => {
    const made = await execute('create', {
      description: 'How we deploy',
      entry_type: 'procedure',
      tags: ['ops'],
      references: ['kiwi-load'],
      content: 'Press the flamingo switch.',
    })
    expect(made).toMatchObject({ status: 'success', data: { version: '1.0.0' } })
    expect((await load('deploying')).data).toMatchObject({
      metadata: { config: { entry_type: 'procedure' } },
      relations: [{ kind: 'references', id: 'kiwi-load', item_type: 'knowledge' }],
    })
    expect((await execute('publish')).status).toBe('success')
    expect(await execute('update', { content: 'Press the pelican switch.' })).toMatchObject({
      status: 'success',
      data: { version: '1.0.1' },
    })
    expect((await execute('run')).data).toMatchObject({ output: 'Press the pelican switch.' })
    expect((await execute('publish')).status).toBe('success')
    expect(listField((await load('deploying')).data, 'versions')).toMatchObject([
      { version: '1.0.1' },
      { version: '1.0.0' },
    ])
    const old = await load('deploying@1.0.0')
    expect(listField(old.data, 'files')).toMatchObject([{ content: 'Press the flamingo switch.' }])
    const found = async (word: string): Promise<readonly string[]> =>
      resultsOf(await temp.search(word, { item_type: 'knowledge', source: 'project' })).map(({ id }) => id)
    expect(await found('pelican')).toEqual(['deploying'])
    expect(await found('flamingo')).toEqual([])
    const text = readFileSync(join(temp.project, '.ai/knowledge/deploying.md'), 'utf8')
    expect(text).toMatch(/references:\s+- kiwi-load|references: \[ ?kiwi-load ?\]/)
  })
})

describe('D16: what is said of knowledge', () => {
  const act = (action: string, parameters: object): Promise<Reply> =>
    temp.call('execute', { item_type: 'knowledge', action, item_id: 'otters', parameters })
  const otters = async (): Promise<unknown> =>
    (await temp.call('load', { item_type: 'knowledge', item_id: 'otters' })).data

  test('D16: one that is made without a title is called by its heading, also when that is changed', async () => {
    expect((await act('create', { content: '# Sea otters\n\nThey hold hands.\n' })).error).toBeNull()
    expect(await otters()).toMatchObject({ description: 'Sea otters' })
    expect((await act('update', { content: '# River otters\n\nThey do not.\n' })).error).toBeNull()
    expect(await otters()).toMatchObject({ description: 'River otters' })
  })

  test('D16: may be changed beside its text, as it was said when it was made', async () => {
    expect((await act('create', { content: 'They hold hands.', tags: ['sea'] })).error).toBeNull()
    const said = { title: 'Otters', tags: ['sea', 'fur'], entry_type: 'fact', references: ['kiwi-search'] }
    expect((await act('update', said)).data).toMatchObject({ version: '1.0.1' })
    expect(await otters()).toMatchObject({
      content: expect.stringContaining('They hold hands.'),
      metadata: {
        name: 'Otters',
        tags: ['sea', 'fur'],
        references: ['kiwi-search'],
        config: { entry_type: 'fact' },
      },
    })
    expect(
      (await act('update', { content: 'New.', tags: ['river'], manifest: { author: 'ada' } })).error,
    ).toBeNull()
    expect(await otters()).toMatchObject({ metadata: { tags: ['river'], author: 'ada' } })
    expect((await act('update', { colour: 'brown' })).error).toMatchObject({
      code: 'INVALID_PARAMETERS',
      hint: expect.stringContaining('keys of the item go under manifest'),
    })
  })
})

describe('D16: knowledge that is too much, or broken, or in other scripts', () => {
  test('D16: broken front matter needs repair, is found by its text, and load says where it is wrong', async () => {
    temp.write('knowledge/bent.md', '---\ntitle: A\ntitle: B\n---\nThe zebra is here.')
    const [found] = resultsOf(await temp.search('zebra', { item_type: 'knowledge' }))
    expect(found).toMatchObject({
      id: 'bent',
      description: expect.stringMatching(/^needs repair: .*line 3, column 1/),
    })
    expect((await load('bent')).error?.message).toContain('line 3, column 1')
  })

  test('D16: 5 MB are not read whole: found by what stands first, and load says why not', async () => {
    temp.write(
      'knowledge/huge.md',
      `---\nid: huge\n---\nThe walrus stands first.\n${'word '.repeat(1_000_000)}`,
    )
    const [found] = resultsOf(await temp.search('walrus', { item_type: 'knowledge' }))
    expect(found).toMatchObject({ id: 'huge', description: expect.stringContaining('needs repair') })
    expect((await load('huge')).error?.message).toContain('262144')
  })

  test('D16: Chinese, Japanese and right-to-left texts are kept as they are', async () => {
    const text = '部署之前先运行测试。デプロイの手順。\nקודם מריצים בדיקות. شغّل الاختبارات أولاً.'
    note('scripts', `tags: [部署]\ndescription: デプロイの手順\n`, text)
    expect((await load('scripts')).data).toMatchObject({
      description: 'デプロイの手順',
      files: [{ content: text }],
    })
    expect(resultsOf(await temp.search('בדיקות', { item_type: 'knowledge' }))[0]?.id).toBe('scripts')
  })
})
