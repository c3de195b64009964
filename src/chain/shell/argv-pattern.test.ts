import { expect, test } from 'vitest'
import { BUILTIN } from '../../../test/fixtures/sample-item.ts'
import { compilePattern, matchesArgv } from './argv-pattern.ts'
import { openArgvPolicies } from './argv-policies.ts'

const loadPolicies = openArgvPolicies(`${BUILTIN}/config/argv`)

async function matches(text: string, argv: readonly string[]): Promise<boolean> {
  return matchesArgv(compilePattern(text, (await loadPolicies()).policies), argv)
}

test.each([
  [['rm', '-rf', 'x']],
  [['rm', '-fr', 'x']],
  [['rm', '-R', '-f', 'x']],
  [['rm', 'x', '-r', '--force']],
  [['rm', '--recursive', '--force', 'x']],
  [['rm', '--rec', '--fo', 'x']],
  [['rm', '-vrRf', 'x']],
  [['/usr/bin/rm', '-rf', 'x']],
  [['env', 'A=b', 'rm', '-rf', 'x']],
  [['sudo', '-n', 'env', '/bin/rm', '-fr', 'x']],
  [['xargs', 'rm', '-rf']],
  [['find', '.', '-exec', 'rm', '-rf', '{}', '+']],
  [['sh', '-c', 'cd x && rm -rf y']],
  [['busybox', 'rm', '-rf', 'x']],
  [['shell:raw', 'true\nrm -r -f $HOME']],
])('H5: "rm -rf" in a deny list speaks of %j', async (argv) => {
  expect(await matches('rm -rf', argv)).toBe(true)
})

test.each([
  [['rm', 'x']],
  [['rm', '-r', 'x']],
  [['rm', '--force', 'x']],
  [['echo', 'rm', '-rf']],
  [['git', 'commit', '-m', 'rm -rf x']],
  [['rmdir', '-rf']],
])('H5: "rm -rf" in a deny list says nothing of %j', async (argv) => {
  expect(await matches('rm -rf', argv)).toBe(false)
})

test.each([
  ['sudo', ['sudo', 'ls'], true],
  ['sudo', ['ls'], false],
  ['git push --force', ['git', '-C', 'x', 'push', 'origin', '-f'], true],
  ['git push --force', ['git', 'push', 'origin'], false],
  ['git push --force', ['git', 'push', 'origin', '+main'], true],
  ['git push -f', ['git', 'push', 'origin', '+HEAD:main'], true],
  ['git push --force', ['git', 'push', 'origin', 'a+b'], false],
  ['git push origin', ['git', 'origin', 'push'], false],
  ['npm install *', ['npm', 'install'], true],
  ['npm install *', ['npm', 'test'], false],
  ['/usr/bin/curl', ['curl', 'x'], true],
  ['cur*', ['curl', 'x'], true],
  ['*', ['shell:raw', 'x'], true],
  ['cur*', ['env', 'curl', 'x'], true],
  ['cur?', ['cur'], false],
  ['npm run deploy*', ['npm', 'run', 'deploy:live'], true],
  ['npm run deploy*', ['npm', 'run', 'test'], false],
  ['git push --force*', ['git', 'push', '--force-with-lease'], true],
  ['git push --force*', ['git', 'push', '-v'], false],
])('H5: "%s" and %j: %s', async (text, argv, expected) => {
  expect(await matches(text, argv)).toBe(expected)
})
