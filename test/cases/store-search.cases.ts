import { array, assert, asyncProperty, string } from 'fast-check'
import { expect } from 'vitest'
import type { IndexedSpace, SearchIndex, SearchQuery } from '../../src/store/store.ts'
import { sampleEntry, sampleQuery, sampleVersion, SHIPPED } from '../fixtures/store-samples.ts'
import type { Cases } from './store-bed.ts'

const PROJECT: IndexedSpace = { space: 'project', root: '/p/a' }
const USER: IndexedSpace = { space: 'user', root: '/home/u/.ai' }
const roots = [PROJECT, USER]
const at = (day: number): string => `2026-01-0${day}T00:00:00.000Z`

async function ids(index: SearchIndex, words: string, given: Partial<SearchQuery> = {}): Promise<string[]> {
  const { hits } = await index.search(sampleQuery(words, { roots, ...given }))
  return hits.map(({ item_id }) => item_id)
}

export const indexCases: Cases = {
  async 'E2: a changed entry is found by its new words only, a dropped one not at all'(bed) {
    const { index } = await bed.open()
    const other = sampleEntry({ item_id: 'other', description: 'walrus' })
    await index.update(USER, [sampleEntry({ description: 'walrus' }), other], [])
    expect(await index.known(USER)).toEqual(
      new Map([
        ['tools/sample.yaml', '1'],
        ['tools/other.yaml', '1'],
      ]),
    )
    await index.update(
      USER,
      [sampleEntry({ description: 'heron', stamp: '2' })],
      ['tools/other.yaml', 'gone'],
    )
    const second = (await bed.open()).index
    expect(await ids(second, 'walrus')).toEqual([])
    expect(await ids(second, 'heron')).toEqual(['sample'])
    expect(await second.known(USER)).toEqual(new Map([['tools/sample.yaml', '2']]))
    expect(await second.known(PROJECT)).toEqual(new Map())
  },

  async 'S3 T10: a registry item is found by its latest version and gone when it is removed'(bed) {
    const { index, registry } = await bed.open()
    await registry.publish(sampleVersion({ version: '1.1.0', description: 'heron' }))
    await registry.publish(sampleVersion({ version: '1.0.0', description: 'walrus' }))
    expect(await ids(index, 'walrus')).toEqual([])
    const { hits } = await index.search(sampleQuery('heron'))
    expect(hits).toMatchObject([{ item_id: 'sample', version: '1.1.0', space: 'registry', path: null }])
    await registry.publish(sampleVersion({ version: '1.2.0', description: 'walrus' }))
    expect(await ids(index, 'heron')).toEqual([])
    await registry.remove('sample')
    expect(await ids(index, 'walrus')).toEqual([])
  },

  async 'E2: items are counted by type, as a search over everything would find them'(bed) {
    const { index, registry } = await bed.open()
    await registry.seed(SHIPPED, 'd1')
    await registry.publish(sampleVersion({ tool_id: 'twice' }))
    await index.update(USER, [sampleEntry({ item_id: 'twice' }), sampleEntry({ item_id: 'mine' })], [])
    expect(await index.count(roots)).toEqual({ primitive: 2, runtime: 1, directive: 1, script: 2 })
    expect(await index.count([])).toEqual({ primitive: 2, runtime: 1, directive: 1, script: 1 })
  },
}

export const rankCases: Cases = {
  async 'S3: a long description is cut between two characters, and the item is still found by what is left'(
    bed,
  ) {
    const { index } = await bed.open()
    await index.update(USER, [sampleEntry({ description: `a heron, ${'é'.repeat(3000)} walrus` })], [])
    const { hits } = await index.search(sampleQuery('heron', { roots }))
    expect(hits[0]?.description).toBe(`a heron, ${'é'.repeat(1019)}`)
    expect(await ids(index, 'walrus')).toEqual([])
  },

  async 'S3: a hit says what it is, why it matched and how well; total counts beyond the limit'(bed) {
    const { index } = await bed.open()
    const entries = Array.from({ length: 8 }, (_, n) => sampleEntry({ item_id: `filler${n}` }))
    const full = sampleEntry({
      item_id: 'github_list_issues',
      name: 'List issues',
      description: 'Lists open issues of a repository',
      category: 'github/issue',
      tags: ['issue', 'vcs'],
      search_text: { parameters: 'repo perPage', body: '' },
    })
    const weak = sampleEntry({ item_id: 'weak', search_text: { parameters: '', body: 'an issue' } })
    await index.update(PROJECT, [...entries, full, weak], [])
    const { hits, total } = await index.search(sampleQuery('issues', { roots, limit: 1 }))
    expect(total).toBe(2)
    expect(hits).toEqual([
      {
        row: expect.any(Number),
        item_id: 'github_list_issues',
        name: 'List issues',
        tool_type: 'script',
        description: 'Lists open issues of a repository',
        space: 'project',
        path: 'tools/github_list_issues.yaml',
        version: '1.0.0',
        updated_at: '2026-01-01T00:00:00.000Z',
        score: expect.any(Number),
        why: ['name', 'description', 'category', 'tags'],
      },
    ])
    expect(hits[0]?.score).toBeGreaterThan(0)
    expect(await index.search(sampleQuery('page', { roots }))).toMatchObject({
      hits: [{ why: ['parameters'] }],
    })
    expect(await index.search(sampleQuery('an', { roots }))).toMatchObject({ hits: [{ why: ['body'] }] })
  },

  async 'S3: names are found whole and by their parts, words in their forms, the last word by its beginning'(
    bed,
  ) {
    const { index } = await bed.open()
    const names = ['listOpenIssues', 'HTTPServerCheck', 'send_slack-message.v2', 'enrich']
    await index.update(
      USER,
      names.map((item_id) => sampleEntry({ item_id })),
      [],
    )
    for (const words of ['listopenissues', 'open', 'issue', 'opened', 'iss', 'list iss']) {
      expect(await ids(index, words), words).toEqual(['listOpenIssues'])
    }
    for (const words of ['http', 'server', 'checks']) {
      expect(await ids(index, words), words).toEqual(['HTTPServerCheck'])
    }
    for (const words of ['slack', 'messages', 'send_slack', 'v2']) {
      expect(await ids(index, words), words).toEqual(['send_slack-message.v2'])
    }
    expect(await ids(index, 'enr slack')).toEqual(['send_slack-message.v2'])
  },

  async 'S3: where every word is asked for, each is found by its beginning or as it was meant'(bed) {
    const { index } = await bed.open()
    const names = ['list_open_issues', 'open_file', 'list_files']
    await index.update(
      USER,
      names.map((item_id) => sampleEntry({ item_id, description: '' })),
      [],
    )
    const asked = async (words: string): Promise<readonly string[]> => {
      const { hits } = await index.search({ ...sampleQuery(words, { roots }), everyWord: true })
      return hits.map(({ item_id }) => item_id).toSorted()
    }
    expect(await asked('open')).toEqual(['list_open_issues', 'open_file'])
    expect(await asked('issue open')).toEqual(['list_open_issues'])
    expect(await asked('isues list')).toEqual(['list_open_issues'])
    expect(await asked('open fil')).toEqual(['open_file'])
    expect(await asked('open zebra')).toEqual([])
  },

  async 'S3: sorted by score then name, by name, by time, by downloads'(bed) {
    const { index } = await bed.open()
    const entries = [
      sampleEntry({ item_id: 'c_equal', description: 'otter', updated_at: at(1) }),
      sampleEntry({ item_id: 'a_equal', description: 'otter', updated_at: at(3) }),
      sampleEntry({ item_id: 'z_otter', updated_at: at(2) }),
    ]
    const filler = Array.from({ length: 9 }, (_, n) => sampleEntry({ item_id: `filler_${n}` }))
    await index.update(USER, [...entries, ...filler], [])
    expect(await ids(index, 'otter')).toEqual(['z_otter', 'a_equal', 'c_equal'])
    expect(await ids(index, 'otter', { sortBy: 'name' })).toEqual(['a_equal', 'c_equal', 'z_otter'])
    expect(await ids(index, 'otter', { sortBy: 'updated' })).toEqual(['a_equal', 'z_otter', 'c_equal'])
    expect(await ids(index, 'otter', { sortBy: 'downloads' })).toEqual(['a_equal', 'c_equal', 'z_otter'])
    const { hits, total } = await index.search(sampleQuery('', { roots, limit: 2 }))
    expect(total).toBe(12)
    expect(hits).toMatchObject([
      { item_id: 'a_equal', score: 0, why: [] },
      { item_id: 'c_equal', score: 0, why: [] },
    ])
    expect(await index.search(sampleQuery('otter', { roots, limit: 0 }))).toEqual({ hits: [], total: 3 })
  },

  async 'S3: a word that every item holds still ranks a name above a body'(bed) {
    const { index } = await bed.open()
    const body = { parameters: '', body: 'how to deploy' }
    const entries = ['aardvark', 'badger'].map((item_id) => sampleEntry({ item_id, search_text: body }))
    await index.update(USER, [...entries, sampleEntry({ item_id: 'deploy' })], [])
    expect((await ids(index, 'deploy'))[0]).toBe('deploy')
  },
}

export const reachCases: Cases = {
  async 'S3: filters by item type, tool type, category with what is below it, and all tags'(bed) {
    const { index } = await bed.open()
    await index.update(
      USER,
      [
        sampleEntry({ item_id: 'a', category: 'dev', tags: ['x', 'y'] }),
        sampleEntry({ item_id: 'b', category: 'dev/git', tags: ['x'], tool_type: 'mcp_server' }),
        sampleEntry({ item_id: 'c', category: 'develop', tool_type: 'knowledge' }),
        sampleEntry({ item_id: 'd', tool_type: 'directive' }),
      ],
      [],
    )
    expect(await ids(index, '', { category: 'dev' })).toEqual(['a', 'b'])
    expect(await ids(index, '', { category: 'dev/git' })).toEqual(['b'])
    expect(await ids(index, '', { tags: ['x'] })).toEqual(['a', 'b'])
    expect(await ids(index, '', { tags: ['y', 'x'] })).toEqual(['a'])
    expect(await ids(index, '', { itemTypes: ['tool'] })).toEqual(['a'])
    expect(await ids(index, '', { itemTypes: ['mcp', 'knowledge'] })).toEqual(['b', 'c'])
    expect(await ids(index, '', { toolTypes: ['directive'] })).toEqual(['d'])
    expect(await ids(index, '', { itemTypes: ['tool'], toolTypes: ['directive'] })).toEqual([])
  },

  async 'S3: a nearer space hides the same item further off, unless one space is asked for; other roots stay unseen'(
    bed,
  ) {
    const { index, registry } = await bed.open()
    await registry.publish(sampleVersion({ tool_id: 'same' }))
    await registry.publish(sampleVersion({ tool_id: 'guide', tool_type: 'knowledge', executor_id: null }))
    await index.update(USER, [sampleEntry({ item_id: 'same' }), sampleEntry({ item_id: 'guide' })], [])
    await index.update(PROJECT, [sampleEntry({ item_id: 'same' })], [])
    const elsewhere: IndexedSpace = { space: 'project', root: '/p/b' }
    await index.update(elsewhere, [sampleEntry({ item_id: 'secret' }), sampleEntry({ item_id: 'guide' })], [])
    // The folder of one space, asked for as another.
    await index.update({ space: 'project', root: USER.root }, [sampleEntry({ item_id: 'secret' })], [])
    const found = async (given: Partial<SearchQuery>): Promise<string[]> => {
      const { hits, total } = await index.search(sampleQuery('', { roots, ...given }))
      expect(total).toBe(hits.length)
      return hits.map(({ item_id, space }) => `${space}:${item_id}`)
    }
    expect(await found({})).toEqual(['user:guide', 'registry:guide', 'project:same'])
    expect(await found({ spaces: ['user', 'registry'] })).toEqual([
      'user:guide',
      'registry:guide',
      'user:same',
    ])
    expect(await found({ spaces: ['registry'] })).toEqual(['registry:guide', 'registry:same'])
    expect(await found({ roots: [elsewhere] })).toEqual([
      'project:guide',
      'registry:guide',
      'registry:same',
      'project:secret',
    ])
    expect(await found({ roots: [], spaces: ['project'] })).toEqual([])
    expect(await found({ roots: [], spaces: ['project', 'user'] })).toEqual([])
    expect(await found({ spaces: [] })).toEqual([])
  },

  async 'PAR-14: no query is an operator, an error or without bounds'(bed) {
    const { index } = await bed.open()
    await index.update(USER, [sampleEntry({ item_id: 'near', description: 'not and or' })], [])
    const hostile = ['"', '""', "'", '*', 'name:', '{name}:', '^a', '(', ')', 'a"b', '\0', '-', '+', '\uD800']
    for (const word of [...hostile, 'NEAR(a b)', "'; DROP TABLE search_items; --", 'x'.repeat(100_000)]) {
      const { hits } = await index.search({ ...sampleQuery('', { roots }), words: [word] })
      expect(Array.isArray(hits), word.slice(0, 40)).toBe(true)
    }
    expect(await ids(index, 'not')).toEqual(['near'])
    const many = Array.from({ length: 10_000 }, (_, n) => `w${n}`)
    expect(await index.search({ ...sampleQuery('', { roots }), words: [...many, 'near'] })).toEqual({
      hits: [],
      total: 0,
    })
    await assert(
      asyncProperty(array(string({ unit: 'binary', minLength: 1 }), { maxLength: 5 }), async (words) => {
        const { total } = await index.search({ ...sampleQuery('', { roots }), words })
        expect(total).toBeLessThanOrEqual(1)
      }),
      { numRuns: 200 },
    )
  },
}
