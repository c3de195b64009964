import { expect, test } from 'vitest'
import type { EnvironmentPlan } from './environment-plan.ts'
import { planEnvironment } from './environment-plan.ts'
import { packageOptions, redactOptions } from './package-options.ts'
import { sampleItem } from '../../test/fixtures/sample-item.ts'
import type { SpaceName } from '../store/store.ts'

function planned(space: SpaceName = 'user'): EnvironmentPlan {
  const environment = {
    language: 'ruby',
    file: 'gems.txt',
    options: {
      source: { given: ['--source', '{value}'] },
      mirror: { env: { GEM_MIRROR: '{value}', GEM_FROM: '{value}' } },
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
  expect(packageOptions(planned(), {}).arguments).toEqual(['--no-native'])
  expect(packageOptions(planned(), { python: { index_url: 'x' } }).arguments).toEqual(['--no-native'])
  expect(
    packageOptions(planned(), { ruby: { source: ['a', 'b'], quiet: true, native: true } }).arguments,
  ).toEqual(['--source', 'a', '--source', 'b', '-q'])
  expect(packageOptions(planned(), { ruby: { source: '$&', quiet: false } }).arguments).toEqual([
    '--source',
    '$&',
    '--no-native',
  ])
})

test('a setting that the runtime does not know is refused: a private index must not be missed by a slip', () => {
  expect(() => packageOptions(planned(), { ruby: { sauce: 'x' } })).toThrowError(
    expect.objectContaining({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('packages.ruby.sauce'),
    }),
  )
})

test('SUP-02: a runtime that came with a project keeps to them, and is not given a password', () => {
  expect(
    packageOptions(planned('project'), { ruby: { source: 'https://c/x@1', quiet: true } }).arguments,
  ).toEqual(['--source', 'https://c/x@1', '-q', '--no-native'])
  for (const source of ['https://a:b@c', ['https://d', 'https://token@c/simple']]) {
    expect(() => packageOptions(planned('project'), { ruby: { source } })).toThrowError(
      expect.objectContaining({
        code: 'DEPENDENCY_REFUSED',
        message: expect.stringContaining('"packages.ruby.source" of kiwi.json holds a password'),
      }),
    )
  }
})

test('C10: a setting that becomes a variable stands on no command line', () => {
  const { arguments: given, env } = packageOptions(planned(), {
    ruby: { mirror: ['https://ada:geheim@a', 'https://b'] },
  })
  expect(given).toEqual(['--no-native'])
  expect(env).toEqual({
    GEM_MIRROR: 'https://ada:geheim@a https://b',
    GEM_FROM: 'https://ada:geheim@a https://b',
  })
  expect(packageOptions(planned(), {}).env).toEqual({})
})

test('a name and a password in an address are taken out of what is said', () => {
  const redact = redactOptions(planned(), {
    ruby: { source: 'https://ada-lovelace:geheimnis@example.com/x' },
  })
  expect(redact('ada-lovelace geheimnis')).toMatch(/^\[REDACTED:[^\]]+\] \[REDACTED:[^\]]+\]$/)
})
