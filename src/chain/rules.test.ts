import { describe, expect, test } from 'vitest'
import { sampleItem } from '../../test/fixtures/sample-item.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Item } from '../spaces/item.ts'
import { rulesOf } from './rules.ts'

const primitive = (validation: JsonObject = {}): Item =>
  sampleItem({ tool_id: 'subprocess', tool_type: 'primitive', validation }, [], 'builtin')
const runtime = (validation: JsonObject, more: JsonObject = {}): Item =>
  sampleItem({ tool_id: 'a_runtime', tool_type: 'runtime', executor: 'subprocess', validation, ...more })
const script = (validation: JsonObject = {}): Item =>
  sampleItem({ tool_id: 'a_script', tool_type: 'script', executor: 'a_runtime', validation })
const shebang = { type: 'shebang_required' }

describe('C8: rules are data', () => {
  test('a child adds to the rules of its parents, and takes none away', () => {
    const own = { rules: [{ type: 'syntax_check', command: 'lint {entrypoint}' }] }
    const { rules } = rulesOf([script(own), runtime({ rules: [shebang] }), primitive()])
    expect(rules).toMatchObject([
      { type: 'shebang_required', tool: 'a_runtime', pattern: { source: '^#!', isExpression: true } },
      { type: 'syntax_check', tool: 'a_script', command: ['lint', '{entrypoint}'], files: null },
    ])
  })

  test('the rules of a runtime are about what runs through it, not about the runtime', () => {
    expect(rulesOf([runtime({ rules: [shebang] }), primitive()]).rules).toEqual([])
  })

  test('what is shipped as a whole was checked before', () => {
    const shipped = { ...script({ rules: [shebang] }), space: 'builtin' } as const
    expect(rulesOf([shipped, primitive()]).rules).toEqual([])
  })

  test('a rule of an unknown type is kept and said', () => {
    const { rules, warnings } = rulesOf([script({ rules: [{ type: 'spell_check' }] })])
    expect(rules).toEqual([])
    expect(warnings).toEqual([
      '"a_script" has a rule of the unknown type "spell_check": kept, without effect',
    ])
  })

  test.each([
    [{ rules: [{ type: 'syntax_check' }] }, 'validation.rules.0.command'],
    [
      { rules: [shebang, { type: 'pattern_check', patterns: { block: true } }] },
      'validation.rules.1.patterns',
    ],
    [{ rules: [{ no: 'type' }] }, 'validation.rules.0.type'],
    [{ child_schemas: [{ match: {} }] }, 'validation.child_schemas.0.schema'],
  ])('one that cannot be read is refused by name rather than left out: %j', (validation, name) => {
    expect(() => rulesOf([script(validation)])).toThrow(name)
  })
})

describe('R39: what a pattern is', () => {
  const read = (pattern: string | JsonObject): unknown => {
    const { rules } = rulesOf([
      script({ rules: [{ type: 'pattern_check', patterns: { dangerous: [pattern] } }] }),
    ])
    return rules[0]?.type === 'pattern_check' ? rules[0].patterns[0] : null
  }
  test.each(['os.system', ':(){ :|:& };:', 'a|b', 'f(x)', 'a+', '[abc]'])('%s is a text', (source) => {
    expect(read(source)).toEqual({ source, isExpression: false, name: source })
  })
  test.each(['a.*b', 'a.+b', '^a', 'a$', '\\d'])('%s is an expression', (source) => {
    expect(read(source)).toEqual({ source, isExpression: true, name: source })
  })
  test('either can be forced', () => {
    expect(read({ literal: '^a.*' })).toMatchObject({ source: '^a.*', isExpression: false })
    expect(read({ regex: 'a|b', name: 'x' })).toEqual({ source: 'a|b', isExpression: true, name: 'x' })
  })

  const isBlocking = (patterns: JsonObject, more: JsonObject = {}): unknown => {
    const rule = { type: 'pattern_check', patterns: { dangerous: ['a'], ...patterns }, ...more }
    const [read0] = rulesOf([script({ rules: [rule] })]).rules
    return read0?.type === 'pattern_check' && read0.isBlocking
  }
  test('block and warn_only stand with the patterns or on the rule; neither means warn', () => {
    expect(isBlocking({})).toBe(false)
    expect(isBlocking({ warn_only: true })).toBe(false)
    expect(isBlocking({}, { warn_only: true })).toBe(false)
    expect(isBlocking({ block: false })).toBe(false)
    expect(isBlocking({ block: true })).toBe(true)
    expect(isBlocking({}, { block: true })).toBe(true)
    expect(isBlocking({ warn_only: false })).toBe(true)
    expect(isBlocking({ block: true, warn_only: true })).toBe(true)
  })
})

describe('C8: schemas for children', () => {
  const schema = { required: ['outputs'] }
  const childSchemas = (match: JsonObject): unknown =>
    rulesOf([script(), runtime({ child_schemas: [{ match, schema }] }), primitive()]).rules

  test.each([{}, { tool_type: 'script' }, { config: {}, executor: 'a_runtime' }])(
    '%j is the child',
    (match) => {
      expect(childSchemas(match)).toMatchObject([
        { type: 'child_schema', tool: 'a_runtime', child: { id: 'a_script' } },
      ])
    },
  )
  test.each([{ tool_type: 'api' }, { config: { x: 1 } }, { tags: ['a'] }, { nothing: null }])(
    '%j is not',
    (match) => {
      expect(childSchemas(match)).toEqual([])
    },
  )
})
