import { givesOption } from './argv-options.ts'
import type { ArgvPolicies, ArgvPolicy } from './argv-policy.ts'
import { policiesOf } from './program-family.ts'

/**
 * What a command hands to a shell where nothing but that shell can read it: a script among its arguments, or one that
 * comes in by a pipe. Null where a file is named, which is a program like any other.
 */
export function scriptIn(argv: readonly string[], policies: ArgvPolicies): string | null {
  const shellAt = (at: number): readonly ArgvPolicy[] =>
    policiesOf(policies, argv[at] ?? '').filter(({ script }) => script !== null)
  const readsAt = (at: number): boolean =>
    shellAt(at).some((policy) => readsScript(policy, argv.slice(at + 1)))
  const isWrapped = shellAt(0).length === 0 && wraps(argv, policies)
  const at = isWrapped ? argv.findIndex((_, word) => word > 0 && readsAt(word)) : readsAt(0) ? 0 : -1
  return at < 0 ? null : argv.slice(at).join(' ')
}

function wraps([program = '']: readonly string[], policies: ArgvPolicies): boolean {
  return policiesOf(policies, program).some((policy) => policy.wraps)
}

/** Other names of the input. */
const INPUT = /^\/(?:dev\/(?:stdin|fd\/)|proc\/[^/]+\/fd\/)/

function readsScript({ script, value_options: valued }: ArgvPolicy, words: readonly string[]): boolean {
  if (script === null || script.not_with.includes(words[0] ?? '')) return false
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word === '-' || word === '--') return isInput(words[at + 1])
    if (!/^[-+]./.test(word)) return isInput(word)
    if (script.options.some((option) => givesOption(word, option, AS_WRITTEN))) return true
    // `-euo pipefail`, `+o posix`, `--rcfile x`: the next word is a value.
    const last = word.startsWith('--') ? word : `-${word.at(-1)}`
    if (valued.includes(last)) at++
  }
  return true
}

const AS_WRITTEN = { known: [], valued: [] }

function isInput(file: string | undefined): boolean {
  return file === undefined || INPUT.test(file)
}
