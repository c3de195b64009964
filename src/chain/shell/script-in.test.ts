import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import type { ArgvPolicies } from './argv-policy.ts'
import { openArgvPolicies } from './argv-policies.ts'
import { scriptIn } from './script-in.ts'

let policies: ArgvPolicies
beforeAll(async () => {
  const loaded = await openArgvPolicies(join(import.meta.dirname, '../../../builtin/config/argv'))()
  expect([...loaded.broken]).toEqual([])
  policies = loaded.policies
})

test.each([
  ['sh -c id', 'sh -c id'],
  ['/bin/bash -ec id', '/bin/bash -ec id'],
  ['bash -euo pipefail -c id', 'bash -euo pipefail -c id'],
  ['bash --norc -c id', 'bash --norc -c id'],
  ['sh', 'sh'],
  ['bash -o pipefail', 'bash -o pipefail'],
  ['sh -', 'sh -'],
  ['sh -s build.sh', 'sh -s build.sh'],
  ['sh /dev/stdin', 'sh /dev/stdin'],
  ['bash -x /proc/self/fd/0', 'bash -x /proc/self/fd/0'],
  ['env A=1 sh -c id', 'sh -c id'],
  ['timeout 5 bash', 'bash'],
  ['xargs -n1 sh -c id', 'sh -c id'],
  ['setsid -f dash -c id', 'dash -c id'],
  ['busybox sh -c id', 'sh -c id'],
])('H5 CMD-01: "%s" hands a shell what only it can read', (line, script) => {
  expect(scriptIn(line.split(' '), policies)).toBe(script)
})

test.each([
  'sh build.sh',
  'bash -e build.sh -c x',
  'bash -euo pipefail build.sh',
  'sh -- build.sh',
  'bash --version',
  'env sh build.sh',
  'git commit -m sh -c',
  'docker exec it sh -c id',
])('H5: "%s" does not', (line) => {
  expect(scriptIn(line.split(' '), policies)).toBeNull()
})
