import { describe, expect, test, vi } from 'vitest'
import { childEnvironment, isPassedOn, readEnvironment } from './environment.ts'

describe('N1, ENV-06: what a child sees of our environment', () => {
  const ALLOWED = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'LC_TIME', 'TZ', 'TMPDIR', 'USER', 'SHELL', 'TERM']
  const KEPT_BACK = [
    'FAKE_SECRET',
    'AWS_SECRET_ACCESS_KEY',
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'NODE_OPTIONS',
    'PYTHONSTARTUP',
    'PYTHONPATH',
    'BASH_ENV',
    'GIT_DIR',
    'GIT_SSH_COMMAND',
    'KIWI_USER_SPACE',
    'path',
    'Path',
    'PATHS',
    'LANGUAGE',
    'XLC_ALL',
    '__proto__',
    'constructor',
  ]

  test.each(ALLOWED)('%s is passed on', (name) => {
    expect(isPassedOn(name)).toBe(true)
  })

  test.each(KEPT_BACK)('%s is kept back', (name) => {
    expect(isPassedOn(name)).toBe(false)
  })

  test('the environment of a child is the allow-list and nothing else, and cannot be changed', () => {
    const ours = Object.fromEntries([...ALLOWED, ...KEPT_BACK].map((name) => [name, `value of ${name}`]))
    const child = childEnvironment(ours)
    expect(Object.keys(child).toSorted()).toEqual(ALLOWED.toSorted())
    expect(child['PATH']).toBe('value of PATH')
    expect(Object.isFrozen(child)).toBe(true)
  })
})

test('our own environment is read once, as a frozen copy', () => {
  vi.stubEnv('KIWI_TEST_VARIABLE', 'before')
  const environment = readEnvironment()
  vi.stubEnv('KIWI_TEST_VARIABLE', 'after')
  expect(environment['KIWI_TEST_VARIABLE']).toBe('before')
  expect(Object.isFrozen(environment)).toBe(true)
  vi.unstubAllEnvs()
})
