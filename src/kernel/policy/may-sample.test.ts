import { describe, expect, test } from 'vitest'
import { openTempPolicy } from '../../../test/fixtures/temp-policy.ts'
import { plainLayer } from './layer.ts'
import { maySample } from './may-sample.ts'
import type { Effect, Layer, LayerSource, Match } from './rule.ts'

const ANY: Match = { kind: 'any' }
const NAMED: Match = { kind: 'tool', server: 'github', actions: ['sample'] }
const harness = (place: 'user' | 'project'): LayerSource => ({ kind: 'harness', file: 'f', place, atTop: [] })

function layer(source: LayerSource, ...rules: readonly (readonly [Match, Effect])[]): Layer {
  return plainLayer(
    {
      name: 'a layer',
      source,
      rules: rules.map(([match, effect], at) => ({ id: `r${at}`, op: 'tool', match, effect, remedy: '' })),
    },
    true,
  )
}
const OPEN = layer({ kind: 'machine' }, [ANY, 'allow'])

describe('INJ-09: an upstream may sample', () => {
  test.each<readonly [string, readonly Layer[], boolean]>([
    ['not where all is open', [OPEN], false],
    ['not without layers', [], false],
    [
      'not where its tools are granted',
      [layer(harness('user'), [{ kind: 'tool', server: 'github' }, 'allow'])],
      false,
    ],
    [
      'not where only runs are granted',
      [OPEN, layer(harness('user'), [{ ...NAMED, actions: ['run'] }, 'allow'])],
      false,
    ],
    ['where it is granted by name', [OPEN, layer(harness('user'), [NAMED, 'allow'])], true],
    [
      'where a directive grants it',
      [OPEN, layer({ kind: 'directive', directive: 'd', element: 'permissions' }, [NAMED, 'allow'])],
      true,
    ],
    [
      'not where another layer denies it',
      [layer(harness('user'), [NAMED, 'allow']), layer({ kind: 'spawn' }, [NAMED, 'deny'])],
      false,
    ],
    [
      'not where somebody would have to be asked',
      [layer(harness('user'), [NAMED, 'allow'], [NAMED, 'ask'])],
      false,
    ],
    ['not by the word of a project', [OPEN, layer(harness('project'), [NAMED, 'allow'])], false],
    [
      'not by a grant for another',
      [OPEN, layer(harness('user'), [{ ...NAMED, server: 'gitlab' }, 'allow'])],
      false,
    ],
  ])('INJ-09: %s', (_, layers, may) => {
    expect(maySample(layers, 'mcp_github')).toBe(may)
  })

  test('INJ-09: not by a grant that depends on something', () => {
    const granted = layer(harness('user'), [ANY, 'allow'], [NAMED, 'allow'])
    const conditional: Layer = {
      ...granted,
      byOperation: {
        ...granted.byOperation,
        tool: granted.byOperation.tool.map((ready) => ({ ...ready, holds: () => true })),
      },
    }
    expect(maySample([conditional], 'mcp_github')).toBe(false)
  })
})

test.each([
  ['user', 'mode: direct', true],
  ['user', 'mode: proxy\nmcps: { github: {} }', true],
  ['machine', 'mode: direct', true],
  ['project', 'mode: direct', false],
  ['project', 'mode: hybrid', false],
] as const)('INJ-09: a rule in the file of the %s with %s grants it: %s', async (place, text, may) => {
  const temp = openTempPolicy()
  temp.write(
    place,
    `${text}\nrules:\n  - { op: tool, match: { server: github, actions: sample }, effect: allow }\n`,
  )
  const { layers, faults } = await temp.policy()
  expect([faults, maySample(layers, 'mcp_github'), maySample(layers, 'slack')]).toEqual([[], may, false])
  temp.close()
})
