/** Cuts the endings that English gives a word, so that `created`, `creating` and `creates` are one. Alike is enough: nobody reads it. */
export function stemOf(word: string): string {
  if (word.length <= SHORTEST || !/^[a-z]+$/.test(word)) return word
  const singular = word
    .replace(/(?<=..)ies$/, 'y')
    .replace(/sses$/, 'ss')
    .replace(/(?<=[^su])s$/, '')
  const bare = singular.replace(/(?<=[aeiouy].*[^aeiou]|[aeiouy][^aeiou])(?:ing|ed)$/, '')
  const single = bare === singular ? bare : bare.replace(/([^aeiouls])\1$/, '$1')
  return single.length > SHORTEST ? single.replace(/e$/, '') : single
}

const SHORTEST = 3
