import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decide } from './decide.ts'
import { plainLayer } from './layer.ts'
import type { Demand, Effect, LayerData, Rule } from './rule.ts'
import type { RunLayers } from './spawn.ts'
import { narrowed, spawned } from './spawn.ts'

const verdict = (layers: readonly LayerData[], ...demands: readonly Demand[]): Effect =>
  layers.length === 0
    ? 'allow'
    : decide(
        layers.map((layer) => plainLayer(layer, false)),
        demands,
        {},
      ).effect
const supabase = (tool: string): Demand => ({
  op: 'tool',
  id: `supabase.${tool}`,
  action: 'run',
  of: { server: 'supabase', tool },
})
const grant = (server: string, tool: string, effect: Effect = 'allow'): Rule => ({
  id: `${server}.${tool}`,
  op: 'tool',
  match: { kind: 'tool', server, tools: [tool] },
  effect,
  remedy: '',
})
const spawn = (parent: RunLayers | null, permissions: readonly Rule[] | null, more: object = {}): RunLayers =>
  spawned(parent, { directive: 'd', permissions, delegate: null, wanted: null, tools: null, ...more })

describe('PRM-03: tools named at the spawn', () => {
  const parent = spawn(null, [grant('supabase', 'list')])

  test.each([['supabase.*'], ['*'], ['supabase.{list,delete}'], ['supabase.delete']])(
    'PRM-03: asking for %s gives nothing that the parent has not',
    (asked) => {
      const child = spawn(parent, null, { tools: narrowed([asked]) })
      expect(verdict(child.own, supabase('delete'))).toBe('deny')
    },
  )

  test('PRM-03: what both name is what is left, by resolved names', () => {
    const child = spawn(parent, null, { tools: narrowed(['supabase.*', 'own_tool']) })
    expect(verdict(child.own, supabase('list'))).toBe('allow')
    expect(verdict(child.own, { op: 'tool', id: 'supabase.list', action: 'run' })).toBe('deny')
    const free = spawn(null, null, { tools: narrowed(['own_tool']) })
    expect(verdict(free.own, { op: 'tool', id: 'own_tool', action: 'run' })).toBe('allow')
    expect(verdict(free.own, supabase('list'))).toBe('deny')
  })
})

describe('R51: own and ceiling', () => {
  test('R51: a coordinator that may only read can hand on writing', () => {
    const coordinator = spawn(null, [grant('supabase', 'list')], {
      delegate: [grant('supabase', 'list'), grant('supabase', 'delete')],
    })
    expect(verdict(coordinator.own, supabase('delete'))).toBe('deny')
    const worker = spawn(coordinator, [grant('supabase', 'delete')])
    expect(verdict(worker.own, supabase('delete'))).toBe('allow')
    expect(verdict(worker.own, supabase('list'))).toBe('deny')
  })

  test('R51: without a declaration of its own a child starts from what its parent may', () => {
    const parent = spawn(null, [grant('supabase', 'list')], { delegate: [grant('supabase', '*')] })
    const child = spawn(parent, null)
    expect(verdict(child.own, supabase('list'))).toBe('allow')
    expect(verdict(child.own, supabase('delete'))).toBe('deny')
  })

  test('PRM-05: a grant of a tool covers what a trusted manifest fixes, and nothing that is chosen', () => {
    const run = spawn(null, [{ ...grant('', ''), match: { kind: 'tool', server: null, tools: ['made'] } }])
    const tool: Demand = { op: 'tool', id: 'made', action: 'run' }
    const program: Demand = { op: 'exec', program: '/bin/bash' }
    const executor: Demand = { op: 'tool', id: 'my_runtime', action: 'run' }
    expect(verdict(run.own, tool, program, { ...executor, isChosen: false })).toBe('allow')
    expect(verdict(run.own, tool, { ...program, isChosen: true })).toBe('deny')
    expect(verdict(run.own, tool, { ...executor, isChosen: true })).toBe('deny')
    expect(verdict(run.own, program)).toBe('deny')
  })
})

describe('no sequence of spawns escalates', () => {
  const tools = fc.constantFrom('a', 'b', '*')
  const effects = fc.constantFrom<Effect>('allow', 'ask', 'deny')
  const rules = fc.array(
    fc.tuple(tools, effects).map(([tool, effect]) => grant('s', tool, effect)),
    { maxLength: 4 },
  )
  const step = fc.record({
    permissions: fc.option(rules),
    delegate: fc.option(rules),
    tools: fc.option(fc.array(fc.constantFrom('s.a', 's.*', '*', 'x'), { maxLength: 2 })),
  })
  const RANK = { deny: 0, ask: 1, allow: 2 } as const
  const demand = fc.constantFrom('a', 'b', 'c').map((tool): Demand => {
    return { op: 'tool', id: tool, action: 'run', of: { server: 's', tool } }
  })

  test('PRM-03, R51: a descendant is never above the ceiling of any ancestor, five deep', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 5 }), demand, (steps, wanted) => {
        const line: RunLayers[] = []
        for (const { permissions, delegate, tools: named } of steps) {
          const parent = line.at(-1) ?? null
          line.push(spawn(parent, permissions, { delegate, tools: named === null ? null : narrowed(named) }))
        }
        for (const [at, { own, ceiling }] of line.entries()) {
          for (const ancestor of line.slice(0, at)) {
            expect(RANK[verdict(own, wanted)]).toBeLessThanOrEqual(RANK[verdict(ancestor.ceiling, wanted)])
            expect(RANK[verdict(ceiling, wanted)]).toBeLessThanOrEqual(
              RANK[verdict(ancestor.ceiling, wanted)],
            )
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  test('R51: where nobody declares a delegate, a child is never above its parent', () => {
    fc.assert(
      fc.property(rules, rules, demand, (first, second, wanted) => {
        const parent = spawn(null, first)
        const child = spawn(parent, second)
        expect(RANK[verdict(child.own, wanted)]).toBeLessThanOrEqual(RANK[verdict(parent.own, wanted)])
      }),
    )
  })
})

test('D8, D5: what a directive wants narrows it and what it hands on, without the names it gave', () => {
  const wanted: LayerData = {
    name: 'tools of directive d',
    source: { kind: 'tools', directive: 'd', aliases: { db: 'supabase' } },
    rules: [grant('supabase', 'list')],
  }
  const { own, ceiling } = spawn(null, [grant('supabase', '*')], { wanted })
  expect(own.at(-1)).toEqual(wanted)
  expect(ceiling.at(-1)).toEqual({ ...wanted, source: { kind: 'tools', directive: 'd', aliases: {} } })
  expect(verdict(own, supabase('list'))).toBe('allow')
  expect(verdict(ceiling, supabase('delete'))).toBe('deny')
  const handing = spawn(null, [grant('supabase', '*')], { wanted, delegate: [grant('supabase', 'delete')] })
  expect(verdict(handing.ceiling, supabase('delete'))).toBe('allow')
})
