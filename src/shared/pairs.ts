/** Scripts that are written without spaces. */
const RUN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}ー々]{2,}/gu

/** Every two neighbours in text without spaces: its words are not marked, and most are of two signs. */
export function pairsOf(text: string): readonly string[] {
  const pairs = new Set<string>()
  for (const [run] of text.matchAll(RUN)) {
    const signs = Array.from(run)
    for (let at = 1; at < signs.length; at++) pairs.add(`${signs[at - 1]}${signs[at]}`)
  }
  return [...pairs]
}
