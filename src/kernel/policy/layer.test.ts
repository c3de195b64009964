import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { TOO_LONG } from '../../chain/schema-engine.ts'
import { decide } from './decide.ts'
import type { LayerMeans } from './layer.ts'
import { compileLayer, plainLayer } from './layer.ts'
import type { Demand, Effect, Layer, Rule } from './rule.ts'

type Check = Awaited<ReturnType<LayerMeans['compileSchema']>>
const rule = (effect: Effect, when?: Rule['when']): Rule => ({
  id: effect,
  op: 'tool',
  match: { kind: 'any' },
  effect,
  remedy: '',
  ...(when === undefined ? {} : { when }),
})
const layer = (rules: readonly Rule[], check: Check = () => null): Promise<Layer> =>
  compileLayer({ name: 'l', source: { kind: 'machine' }, rules }, true, {
    argvPolicies: () => Promise.reject(new Error('no command is spoken of')),
    compileSchema: () => Promise.resolve(check),
  })
const TOOL: Demand = { op: 'tool', id: 'x', action: 'run' }

const TOO_LARGE: Check = () => ({
  missing: [],
  invalid: [{ name: 'value', reason: TOO_LONG.message ?? '' }],
})
const BROKEN: Check = () => {
  throw new Error('the check fails')
}

test.each<[string, Check]>([
  ['is too large to tell', TOO_LARGE],
  ['fails', BROKEN],
])('PRM-12: a condition that %s counts against the call', async (_, check) => {
  const conditional = await layer([rule('allow', {})], check)
  expect(decide([conditional], [TOOL], {})).toMatchObject({ effect: 'deny', rule: null })
  for (const effect of ['deny', 'ask'] as const) {
    const restricting = await layer([rule('allow'), rule(effect, {})], check)
    expect(decide([restricting], [TOOL], {})).toMatchObject({ effect, rule: effect })
  }
})

test('PRM-10: where the arguments are not known, only what none could change counts', async () => {
  expect(decide([await layer([rule('allow', {})])], [TOOL], null).effect).toBe('allow')
  expect(decide([await layer([rule('allow'), rule('deny', {})])], [TOOL], null).effect).toBe('allow')
  expect(decide([await layer([rule('allow'), rule('deny')])], [TOOL], null).effect).toBe('deny')
})

test('the hash is that of all that a layer says, and of nothing else', () => {
  const of = (name: string, ...rules: Rule[]): string =>
    plainLayer({ name, source: { kind: 'machine' }, rules }, true).hash
  expect(of('a', rule('allow'))).toBe(of('a', rule('allow')))
  expect(new Set([of('a'), of('b'), of('a', rule('allow')), of('a', rule('deny'))]).size).toBe(4)
})

test('H1: a condition only ever makes a rule say less, whether it holds, fails or cannot be told', async () => {
  const RANK = { deny: 0, ask: 1, allow: 2 } as const
  const effects = fc.constantFrom<Effect>('deny', 'ask', 'allow')
  const checks = fc.constantFrom<Check>(
    () => null,
    () => ({ missing: ['a'], invalid: [] }),
    BROKEN,
  )
  await fc.assert(
    fc.asyncProperty(fc.array(effects, { maxLength: 3 }), effects, checks, async (others, effect, check) => {
      const rest = others.map((other) => rule(other))
      const rankOf = async (rules: readonly Rule[]): Promise<number> =>
        RANK[decide([await layer(rules, check)], [TOOL], {}).effect]
      const [without, conditional, always] = [
        await rankOf(rest),
        await rankOf([...rest, rule(effect, {})]),
        await rankOf([...rest, rule(effect)]),
      ]
      expect(conditional).toBeGreaterThanOrEqual(Math.min(without, always))
      expect(conditional).toBeLessThanOrEqual(Math.max(without, always))
    }),
  )
})
