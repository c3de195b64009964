import { basename } from 'node:path'
import { isGlob } from '../../shared/glob.ts'
import type { Fits } from '../../shared/name-glob.ts'
import { compileNameGlob } from '../../shared/name-glob.ts'
import { givesOption } from './argv-options.ts'
import type { ArgvPolicies, ArgvPolicy } from './argv-policy.ts'
import { familyOf, policiesOf } from './program-family.ts'

/** `rm -rf`: a program, and what must be among its arguments, in any spelling and order. */
export interface ArgvPattern {
  readonly programs: readonly Fits[]
  /** One of the spellings of each. */
  readonly options: readonly (readonly string[])[]
  /** In this order among the arguments. */
  readonly words: readonly Fits[]
  /** Programs that start what their arguments say: the pattern is looked for there as well. */
  readonly wrappers: ReadonlySet<string>
}

/**
 * What a person writes in a list of commands. `*` and `?` are patterns in every word; a `*` alone at the end stands for
 * any arguments, which are there anyway.
 */
export function compilePattern(text: string, policies: ArgvPolicies): ArgvPattern {
  const [first = '', ...rest] = text.split(/\s+/).filter((word) => word !== '')
  const program = basename(first)
  const known = policiesOf(policies, program)
  const given = rest.at(-1) === '*' ? rest.slice(0, -1) : rest
  return {
    programs: [program, ...known.flatMap((policy) => [policy.program, ...policy.also])].map(compileNameGlob),
    options: given.filter(isOption).flatMap((word) => optionsIn(word, known)),
    words: given.filter((word) => !isOption(word)).map(compileNameGlob),
    wrappers: wrappersOf(policies),
  }
}

function isOption(word: string): boolean {
  return /^-./.test(word)
}

/** Whether a command is one the pattern speaks of. It errs on the side of yes: a pattern is there to refuse. */
export function matchesArgv(pattern: ArgvPattern, argv: readonly string[]): boolean {
  if (startsWith(pattern, argv)) return true
  const words = wordsBehind(argv, pattern.wrappers)
  return words.some((_, at) => startsWith(pattern, words.slice(at)))
}

/** Where a command starts what its arguments say, every word among them: each might be a program. */
export function wordsBehind(argv: readonly string[], wrappers: ReadonlySet<string>): readonly string[] {
  const [program = '', ...rest] = argv
  if (!wrappers.has(basename(program)) && !wrappers.has(familyOf(program))) return []
  return rest.flatMap((word) => word.split(SHELL_BREAKS)).filter((word) => word !== '')
}

/** What a shell would end a word at, quotes included: a script is looked into, never relied on. */
export const SHELL_BREAKS = /[\s;&|(){}<>`$'"\\]+/

const AS_WRITTEN = { known: [], valued: [] }

function startsWith({ programs, options, words }: ArgvPattern, argv: readonly string[]): boolean {
  const [program = '', ...rest] = argv
  const names = [basename(program), familyOf(program)]
  if (!programs.some((fits) => names.some(fits))) return false
  const isThere = (option: string): boolean =>
    rest.some(isGlob(option) ? compileNameGlob(option) : (word) => givesOption(word, option, AS_WRITTEN))
  if (!options.every((spellings) => spellings.some(isThere))) return false
  let at = 0
  return words.every((fits) => {
    const found = rest.findIndex((word, index) => index >= at && fits(word))
    at = found + 1
    return found >= 0
  })
}

/** `-rf` is two options, unless data knows it as one. */
function optionsIn(word: string, known: readonly ArgvPolicy[]): readonly (readonly string[])[] {
  const groups = known.flatMap(({ synonyms }) => Object.values(synonyms))
  const spellingsOf = (option: string): readonly string[] =>
    groups.find((group) => group.includes(option)) ?? [option]
  const [name = ''] = word.split('=', 1)
  const isOne =
    word.startsWith('--') ||
    groups.some((group) => group.includes(word)) ||
    known.some((policy) => policy.refuse_options.includes(word))
  if (isGlob(word)) return [[word]]
  return isOne ? [spellingsOf(name)] : Array.from(word.slice(1), (letter) => spellingsOf(`-${letter}`))
}

/** Programs that start the command that their arguments are, and a script that only a shell can read. */
export function wrappersOf(policies: ArgvPolicies): ReadonlySet<string> {
  const known = [...policies.values()].flat().filter(({ wraps }) => wraps)
  return new Set(['shell:raw', ...known.flatMap(({ program, also }) => [program, ...also])])
}
