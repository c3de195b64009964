import { expect, test } from 'vitest'
import { sandboxFinding } from './sandbox-finding.ts'

test('X8: the doctor says which levels this host has, and what to do about those it has not', () => {
  const host = { mechanism: 'bubblewrap', program: '/usr/bin/bwrap' } as const
  expect(sandboxFinding({ ...host, missing: { own: null, fs: null, strict: null } })).toMatchObject({
    state: 'ok',
    detail: expect.stringContaining('fs and strict, by bubblewrap (/usr/bin/bwrap)'),
  })
  expect(sandboxFinding({ ...host, missing: { own: null, fs: null, strict: 'no network' } })).toMatchObject({
    state: 'warn',
    detail: 'fs only, no strict: no network',
  })
  expect(
    sandboxFinding({
      ...host,
      missing: { own: 'not installed', fs: 'not installed', strict: 'not installed' },
    }),
  ).toMatchObject({
    state: 'warn',
    detail: "none: not installed; programs of agents can reach Kiwi's own keys",
    fix: expect.stringContaining('bubblewrap'),
  })
})
