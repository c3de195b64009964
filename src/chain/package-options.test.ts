import { expect, test } from 'vitest'
import type { EnvironmentPlan } from './environment-plan.ts'
import { planEnvironment } from './environment-plan.ts'
import { optionArguments, redactOptions } from './package-options.ts'
import { sampleItem } from '../../test/fixtures/sample-item.ts'
import type { SpaceName } from '../store/store.ts'

function planned(space: SpaceName = 'user'): EnvironmentPlan {
  const environment = {
    language: 'ruby',
    file: 'gems.txt',
    options: {
      source: { given: ['--source', '{value}'] },
      quiet: { given: ['-q'] },
      native: { otherwise: ['--no-native'] },
    },
    builders: [[{ say: 'x', run: ['gem'] }]],
  }
  const raw = {
    tool_id: 'ruby_runtime',
    tool_type: 'runtime',
    executor: 'subprocess',
    config: { environment },
  }
  const plan = planEnvironment([sampleItem(raw, [], space)], { environment }, null)
  if (plan === null) throw new TypeError('no environment')
  return plan
}

test('C10: what a person set becomes arguments: once, for each of a list, or by its absence', () => {
  expect(optionArguments(planned(), {})).toEqual(['--no-native'])
  expect(optionArguments(planned(), { python: { index_url: 'x' } })).toEqual(['--no-native'])
  expect(optionArguments(planned(), { ruby: { source: ['a', 'b'], quiet: true, native: true } })).toEqual([
    '--source',
    'a',
    '--source',
    'b',
    '-q',
  ])
  expect(optionArguments(planned(), { ruby: { source: '$&', quiet: false } })).toEqual([
    '--source',
    '$&',
    '--no-native',
  ])
})

test('a setting that the runtime does not know is refused: a private index must not be missed by a slip', () => {
  expect(() => optionArguments(planned(), { ruby: { sauce: 'x' } })).toThrowError(
    expect.objectContaining({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('packages.ruby.sauce'),
    }),
  )
})

test('SUP-02: a runtime that came with a project is told nothing of them', () => {
  expect(optionArguments(planned('project'), { ruby: { source: 'https://a:b@c' } })).toEqual(['--no-native'])
})

test('a name and a password in an address are taken out of what is said', () => {
  const redact = redactOptions(planned(), {
    ruby: { source: 'https://ada-lovelace:geheimnis@example.com/x' },
  })
  expect(redact('ada-lovelace geheimnis')).toMatch(/^\[REDACTED:[^\]]+\] \[REDACTED:[^\]]+\]$/)
})
