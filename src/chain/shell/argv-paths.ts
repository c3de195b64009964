import { givesOption } from './argv-options.ts'
import type { Terms } from './argv-policy.ts'

/** An argument that is a path, as it was written. */
export interface ArgvPath {
  readonly use: 'read' | 'write'
  readonly path: string
  /** It stands by itself, and is no value of an option. */
  readonly isOperand: boolean
  /** What is put there: into it, if it is a folder. */
  readonly sources: readonly string[]
  /** With all that is in it. */
  readonly isWhole: boolean
}

export function pathsIn(terms: Terms, words: readonly string[]): readonly ArgvPath[] {
  const { paths, path_options: options } = terms
  const isWhole = paths !== null && (paths.whole || givesOneOf(paths.whole_with, words))
  const operands = paths === null ? [] : operandsOrHere(paths, words, isWhole)
  const last = operands.length - 1
  const values = Object.entries(options).flatMap(([option, use]) =>
    words.flatMap((word, at) =>
      valuesOf(word, words[at + 1], option).map((path) => ({
        use,
        path,
        isOperand: false,
        isWhole: false,
        sources: use === 'write' && paths?.into === true ? operands : [],
      })),
    ),
  )
  if (paths === null) return values
  const ending = paths.last ?? paths.use
  // Where an option names the folder that all is put into, the last is one of the others, as far as anybody can tell.
  const isNamed = values.some(({ use }) => use === 'write')
  return [
    ...values,
    ...operands.flatMap((path, at) => {
      const isTarget = paths.into && at === last && !isNamed
      const either = paths.into && isNamed ? [...new Set([paths.use, ending])] : [ending]
      const uses = at < last ? [paths.use] : either
      return uses.map((use) => ({
        use,
        path,
        isOperand: true,
        // What is put into a folder touches nothing else there.
        isWhole: isWhole && !isTarget,
        sources: paths.into && at === last ? operands.slice(0, -1) : [],
      }))
    }),
  ]
}

/** Who goes through folders and is given none begins where it is started. */
function operandsOrHere(
  paths: NonNullable<Terms['paths']>,
  words: readonly string[],
  isWhole: boolean,
): readonly string[] {
  const operands = pathOperands(paths, words)
  return isWhole && operands.length === 0 && paths.use === 'read' ? ['.'] : operands
}

/**
 * Values of options are taken for paths too: which word is a value, only the program knows. Behind `--` nothing is an
 * option any more.
 */
function pathOperands(
  { from, all_with: allWith }: NonNullable<Terms['paths']>,
  words: readonly string[],
): readonly string[] {
  const isAll = givesOneOf(allWith, words)
  const end = words.indexOf('--')
  const isOperand = (word: string, at: number): boolean =>
    word === '-' || !word.startsWith('-') || (end >= 0 && at > end)
  return words.filter(isOperand).slice(isAll ? 0 : from)
}

function givesOneOf(options: readonly string[], words: readonly string[]): boolean {
  const plain = { known: [], valued: [] }
  return options.some((option) => words.some((word) => givesOption(word, option, plain)))
}

/** What stands by itself; what is known to be the value of an option is left out. */
export function operandsOf(valued: readonly string[], words: readonly string[]): readonly string[] {
  const operands: string[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word === '--') return [...operands, ...words.slice(at + 1)]
    if (valued.includes(word)) at += 1
    else if (word === '-' || !word.startsWith('-')) operands.push(word)
  }
  return operands
}

/** `-F file`, `-Ffile`, `--file file`, `--file=file`. */
function valuesOf(word: string, next: string | undefined, option: string): readonly string[] {
  if (!givesOption(word, option, { known: [], valued: [] })) return []
  const equals = word.indexOf('=')
  if (option.startsWith('--'))
    return equals >= 0 ? [word.slice(equals + 1)] : next === undefined ? [] : [next]
  const joined = word.slice(word.indexOf(option.slice(1)) + 1)
  return joined === '' ? (next === undefined ? [] : [next]) : [joined]
}
