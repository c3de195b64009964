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
}

export function pathsIn(terms: Terms, words: readonly string[]): readonly ArgvPath[] {
  const { paths, path_options: options } = terms
  const operands = paths === null ? [] : pathOperands(paths, words)
  const last = operands.length - 1
  const values = Object.entries(options).flatMap(([option, use]) =>
    words.flatMap((word, at) =>
      valuesOf(word, words[at + 1], option).map((path) => ({
        use,
        path,
        isOperand: false,
        sources: use === 'write' && paths?.into === true ? operands : [],
      })),
    ),
  )
  if (paths === null) return values
  return [
    ...values,
    ...operands.map((path, at) => ({
      use: at === last ? (paths.last ?? paths.use) : paths.use,
      path,
      isOperand: true,
      sources: paths.into && at === last ? operands.slice(0, -1) : [],
    })),
  ]
}

/**
 * Values of options are taken for paths too: which word is a value, only the program knows. Behind `--` nothing is an
 * option any more.
 */
function pathOperands(
  { from, all_with: allWith }: NonNullable<Terms['paths']>,
  words: readonly string[],
): readonly string[] {
  const plain = { known: [], valued: [] }
  const isAll = allWith.some((option) => words.some((word) => givesOption(word, option, plain)))
  const end = words.indexOf('--')
  const isOperand = (word: string, at: number): boolean =>
    word === '-' || !word.startsWith('-') || (end >= 0 && at > end)
  return words.filter(isOperand).slice(isAll ? 0 : from)
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
