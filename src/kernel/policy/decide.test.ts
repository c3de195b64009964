import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decide as decideWith } from './decide.ts'
import { plainLayer } from './layer.ts'
import type { Demand, Effect, Layer, Rule, Verdict } from './rule.ts'
import { resourceOf } from './rule.ts'

const exec = (program: string): Demand => ({ op: 'exec', program })
const rule = (id: string, effect: Effect, names?: readonly string[]): Rule => ({
  id,
  op: 'exec',
  match: names === undefined ? { kind: 'any' } : { kind: 'program', names },
  effect,
  remedy: `ask about ${id}`,
})
const layer = (name: string, ...rules: Rule[]): Layer =>
  plainLayer({ name, source: { kind: 'machine' }, rules }, true)
const decide = (layers: readonly Layer[], demands: readonly Demand[]): Verdict =>
  decideWith(layers, demands, {})

describe('one layer', () => {
  test('PRM-01: without a rule for it, a demand is denied, and the layer is named', () => {
    const verdict = decide([layer('empty')], [exec('/bin/ls')])
    expect(verdict).toMatchObject({ effect: 'deny', layer: 'empty', rule: null })
    expect(verdict.remedy).toContain('empty')
  })

  test('any deny beats any ask, and any ask beats any allow, in whatever order they stand', () => {
    const rules = [rule('a', 'allow'), rule('b', 'ask'), rule('c', 'deny')]
    for (const order of [rules, rules.toReversed()]) {
      expect(decide([layer('l', ...order)], [exec('/bin/ls')])).toMatchObject({ effect: 'deny', rule: 'c' })
    }
    expect(decide([layer('l', ...rules.slice(0, 2))], [exec('/bin/ls')])).toMatchObject({
      effect: 'ask',
      rule: 'b',
    })
  })

  test('a rule speaks only of its own operation and of what it matches', () => {
    const rules = [rule('git', 'allow', ['git'])]
    expect(decide([layer('l', ...rules)], [exec('/usr/bin/git')]).effect).toBe('allow')
    expect(decide([layer('l', ...rules)], [exec('/usr/bin/gitk')]).effect).toBe('deny')
    expect(decide([layer('l', ...rules)], [{ op: 'tool', id: 'git', action: 'run' }]).effect).toBe('deny')
  })
})

describe('many layers and demands', () => {
  test('every layer must agree, and the one that refuses is named', () => {
    const yes = layer('yes', rule('y', 'allow'))
    const no = layer('no', rule('n', 'deny', ['rm']))
    expect(decide([yes, no], [exec('/bin/rm')])).toMatchObject({ effect: 'deny', layer: 'no', rule: 'n' })
  })

  test('every demand must be agreed to', () => {
    const careful = layer('careful', rule('y', 'allow', ['ls']))
    expect(decide([careful], [exec('/bin/ls'), exec('/bin/rm')])).toMatchObject({
      effect: 'deny',
      demand: exec('/bin/rm'),
    })
  })

  test('FS-08: no layer, or nothing to judge, is a refusal', () => {
    expect(decide([], [exec('/bin/ls')]).effect).toBe('deny')
    expect(decide([layer('l', rule('y', 'allow'))], []).effect).toBe('deny')
  })

  test('H6: a list of what a run may call does not close what its shell may start; a refusal by name does', () => {
    const push: Demand = {
      op: 'tool',
      id: 'git.push',
      action: 'run',
      of: { server: 'git', tool: 'push' },
      isCommand: true,
    }
    const run = (...more: Rule[]): Layer =>
      plainLayer({ name: 'run', source: { kind: 'spawn' }, rules: [rule('y', 'allow'), ...more] }, false)
    const demands = [exec('/usr/bin/git'), push]
    const denied: Rule = { ...rule('n', 'deny'), op: 'tool', match: { kind: 'tool', server: 'git' } }
    expect(decide([run()], demands).effect).toBe('allow')
    expect(decide([run()], [{ ...push, isCommand: false }]).effect).toBe('deny')
    expect(decide([run(denied)], demands)).toMatchObject({ effect: 'deny', rule: 'n' })
  })

  const effects = fc.constantFrom<Effect>('allow', 'ask', 'deny')
  const names = fc.constantFrom('git', 'rm', 'ls')
  const rules = fc.array(fc.tuple(effects, fc.option(names)), { maxLength: 5 })
  const layers = fc
    .array(rules, { maxLength: 4 })
    .map((all) =>
      all.map((each, at) =>
        layer(
          `l${at}`,
          ...each.map(([effect, name], n) => rule(`r${n}`, effect, name === null ? undefined : [name])),
        ),
      ),
    )
  const rank = (effect: Effect): number => ['deny', 'ask', 'allow'].indexOf(effect)

  test('K3: adding a layer never allows more', () => {
    fc.assert(
      fc.property(layers, rules, names, (before, added, name) => {
        const more = layer(
          'more',
          ...added.map(([effect, of], n) => rule(`m${n}`, effect, of === null ? undefined : [of])),
        )
        const demand = [exec(`/bin/${name}`)]
        if (before.length > 0) {
          expect(rank(decide([...before, more], demand).effect)).toBeLessThanOrEqual(
            rank(decide(before, demand).effect),
          )
        }
      }),
    )
  })

  test('the order of layers and rules never matters', () => {
    fc.assert(
      fc.property(layers, names, (given, name) => {
        const turned = given.toReversed().map((each) => layer(each.name, ...each.rules.toReversed()))
        const demand = [exec(`/bin/${name}`)]
        expect(decide(turned, demand).effect).toBe(decide(given, demand).effect)
      }),
    )
  })
})

test('each kind of demand names what it is about', () => {
  expect(resourceOf(exec('/bin/ls'))).toBe('/bin/ls')
  expect(resourceOf({ op: 'tool', id: 'x', action: 'run' })).toBe('x')
  expect(resourceOf({ op: 'net', host: 'h:1', method: 'GET' })).toBe('h:1')
  expect(resourceOf({ op: 'write', path: '/p' })).toBe('/p')
  expect(resourceOf({ op: 'read', path: '/q' })).toBe('/q')
  expect(resourceOf({ op: 'spawn', directive: 'd' })).toBe('d')
  expect(resourceOf({ op: 'exec', program: '/bin/a', argv: ['a', 'x'.repeat(1000)] })).toHaveLength(504)
})
