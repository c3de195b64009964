import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../shared/limits.ts'
import { TOOL_TYPES } from '../shared/tool-type.ts'
import { SPACES } from '../store/store.ts'
import type { Query } from './parse-query.ts'
import { parseQuery, spacesOf, wordsOf } from './parse-query.ts'

const PLAIN: Query = { words: [], spaces: null, toolTypes: [], tags: [], server: null }

describe('S4: modifiers are taken out of a query, the rest is text', () => {
  test.each<readonly [string, Partial<Query>]>([
    ['deploy', { words: ['deploy'] }],
    ['', {}],
    ['  ', {}],
    ['mcp:* migration', { words: ['migration'], toolTypes: ['mcp_server', 'mcp_tool'] }],
    [
      'mcp:supabase migration',
      { words: ['migration'], toolTypes: ['mcp_server', 'mcp_tool'], server: 'supabase' },
    ],
    ['mcp:mcp_github', { toolTypes: ['mcp_server', 'mcp_tool'], server: 'github' }],
    ['mcp:github_mcp', { toolTypes: ['mcp_server', 'mcp_tool'], server: 'github' }],
    ['mcp:mcp_filesystem', { toolTypes: ['mcp_server', 'mcp_tool'], server: 'mcp_filesystem' }],
    ['in:mcp x1', { words: ['x1'], spaces: ['mcp'] }],
    ['local:*', { spaces: ['project', 'user'] }],
    ['local:* deploy', { words: ['deploy'], spaces: ['project', 'user'] }],
    ['type:script deploy', { words: ['deploy'], toolTypes: ['script'] }],
    ['type:bash deploy', { words: ['deploy'], toolTypes: ['script'], tags: ['bash'] }],
    ['type:python', { toolTypes: ['script'], tags: ['python'] }],
    ['type:node', { toolTypes: ['script'], tags: ['node'] }],
    ['type:docker', { toolTypes: ['script'], tags: ['docker'] }],
    ['type:api', { toolTypes: ['api'] }],
    ['type:mcp', { toolTypes: ['mcp_tool'] }],
    ['in:project x1', { words: ['x1'], spaces: ['project'] }],
    ['in:user', { spaces: ['user'] }],
    ['in:builtin', { spaces: ['builtin'] }],
    ['in:registry', { spaces: ['builtin', 'registry'] }],
    ['in:local', { spaces: ['project', 'user'] }],
    ['in:nowhere', { words: ['nowhere'] }],
    ['in:user in:nowhere x1', { words: ['nowhere', 'x1'], spaces: ['user'] }],
    ['tag:sample hello', { words: ['hello'], tags: ['sample'] }],
    [
      'type:bash tag:ci in:user deploy',
      { words: ['deploy'], toolTypes: ['script'], tags: ['bash', 'ci'], spaces: ['user'] },
    ],
    ['local:* in:builtin', { spaces: ['project', 'user'] }],
    ['type:api type:script', { toolTypes: ['script'] }],
    ['tag:a tag:b in:user in:project', { tags: ['b'], spaces: ['project'] }],
    ['mcp:a mcp:*', { toolTypes: ['mcp_server', 'mcp_tool'] }],
    ['type: tag:', { words: ['type', 'tag'] }],
    ['untype:api', { words: ['untype', 'api'] }],
    ['http://type:api', { words: ['http', 'type', 'api'] }],
    ['deploy\ntype:api\tnow', { words: ['deploy', 'now'], toolTypes: ['api'] }],
  ])('%j', (text, expected) => {
    expect(parseQuery(text)).toEqual({ ...PLAIN, ...expected })
  })

  test.each(TOOL_TYPES)('type:%s is a type of tool', (type) => {
    expect(parseQuery(`type:${type}`)).toEqual({ ...PLAIN, toolTypes: [type] })
  })

  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', '', 'all', 'PROJECT'])(
    'PAR-14: %j names no space',
    (word) => {
      expect(spacesOf(word)).toBe(null)
      expect(parseQuery(`in:${word} x1`).spaces).toBe(null)
    },
  )

  test('only spaces that are there are ever named', () => {
    for (const word of [...SPACES, 'local']) {
      const spaces = spacesOf(word)
      expect(spaces?.length).toBeGreaterThan(0)
      expect(spaces?.every((space) => SPACES.includes(space))).toBe(true)
    }
  })
})

describe('words', () => {
  test.each([
    ['How do I send an email to my team?', ['send', 'email', 'team']],
    ['how to', ['how', 'to']],
    ['Get the weather', ['weather']],
    ['listOpenIssues', ['list', 'open', 'issues']],
    ['list_open-issues.v2', ['list', 'open', 'issues', 'v2']],
    ['utf8Decode', ['utf8', 'decode']],
    ['HTTP http Http', ['http']],
    ['Größe 東京 naïve', ['größe', '東京', 'naïve']],
    ['a.b:c/d', ['b', 'c', 'd']],
    ['"NEAR(a b)" * ^ -x col:y; DROP TABLE--', ['near', 'b', 'x', 'col', 'y', 'drop', 'table']],
    ['\0\u2028', []],
  ])('of %j are %j', (text, expected) => {
    expect(wordsOf(text)).toEqual(expected)
  })

  test('PAR-14: at most 64, each once, in lower case, without a sign in it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
        const words = wordsOf(text)
        expect(words.length).toBeLessThanOrEqual(LIMITS.queryWords)
        expect(new Set(words).size).toBe(words.length)
        expect(words.every((word) => /^[\p{L}\p{N}]+$/u.test(word))).toBe(true)
        expect(wordsOf(words.join(' '))).toEqual(words)
      }),
    )
    const many = Array.from({ length: 10_000 }, (_, n) => `term${n}`)
    expect(wordsOf(many.join(' '))).toEqual(many.slice(0, LIMITS.queryWords))
  })
})
