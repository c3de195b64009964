import { basename } from 'node:path'
import { SHELL_BREAKS } from './argv-pattern.ts'
import type { ArgvPolicies, ArgvPolicy } from './argv-policy.ts'
import { leadOf } from './judge-argv.ts'
import { policiesOf } from './program-family.ts'

const GIT = 'git'

/**
 * What a command asks of git: its subcommand; where that cannot be told, every word that might be it. In what a
 * wrapper or a shell is given only what is known is looked for.
 */
export function gitSubcommands(
  program: string,
  argv: readonly string[],
  policies: ArgvPolicies,
): readonly string[] {
  const name = basename(program)
  const known = policies.get(GIT) ?? []
  const [, ...rest] = argv
  if (name === GIT) return distinct(known.flatMap((policy) => subcommandsIn(policy, rest)))
  const isWrapper = name === 'shell:raw' || policiesOf(policies, name).some(({ wraps }) => wraps)
  if (!isWrapper) return []
  const words = rest.flatMap((word) => word.split(SHELL_BREAKS)).filter((word) => word !== '')
  const found = words.flatMap((word, at) =>
    basename(word) === GIT ? known.flatMap((policy) => subcommandsIn(policy, words.slice(at + 1))) : [],
  )
  return distinct(found.filter((word) => known.some((policy) => isKnown(policy, word))))
}

function subcommandsIn(policy: ArgvPolicy, words: readonly string[]): readonly string[] {
  const { fault, subcommand } = leadOf(policy, words)
  if (fault === null) return subcommand === null ? [] : [subcommand]
  const likely = words.filter((word) => isKnown(policy, word))
  return likely.length > 0 ? likely : words.slice(0, 1)
}

function isKnown({ subcommands }: ArgvPolicy, word: string): boolean {
  return subcommands !== null && Object.hasOwn(subcommands, word)
}

function distinct(words: readonly string[]): readonly string[] {
  return [...new Set(words)]
}
