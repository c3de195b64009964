/** How a program reads what begins with a dash, as far as data says. */
export interface Spelling {
  /** Options whose whole name is the beginning of a refused one: they are no abbreviation of it. */
  readonly known: readonly string[]
  /** Short options that take a value: what is joined to them is no option. */
  readonly valued: readonly string[]
}

/**
 * Whether a word gives an option: a long one by any abbreviation, a short one also joined with others. That a word
 * stands after `--`, or is the value of another option, is not looked at: `--author -- --output=x` would use it.
 */
export function givesOption(word: string, option: string, { known, valued }: Spelling): boolean {
  if (option.startsWith('--')) {
    const name = word.split('=', 1)[0] ?? ''
    return name.length > 2 && option.startsWith(name) && (name === option || !known.includes(name))
  }
  if (option.length > 2) return word === option || word.startsWith(`${option}=`)
  if (!/^-[^-]/.test(word)) return false
  const letters = Array.from(word.slice(1))
  const end = letters.findIndex((letter) => valued.includes(`-${letter}`))
  return (end < 0 ? letters : letters.slice(0, end + 1)).includes(option.slice(1))
}
