/** Bytes that a text takes inside of a JSON text, its quotes left out. */
export function writtenBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2
}

/** The first sentence of a text, on one line. */
export function firstSentence(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return /^.{16,}?[.!?](?= \p{Lu})/u.exec(line)?.[0] ?? line
}

/** At most so many bytes, cut between words where that loses little, never within a character. */
export function cutText(text: string, most: number): string {
  if (writtenBytes(text) <= most) return text
  let kept = ''
  let bytes = writtenBytes(MARK)
  for (const character of text) {
    bytes += writtenBytes(character)
    if (bytes > most) break
    kept += character
  }
  const atWord = kept.slice(0, Math.max(0, kept.lastIndexOf(' ')))
  const shown = (atWord.length > kept.length / 2 ? atWord : kept).trimEnd()
  return shown === '' ? '' : shown + MARK
}

const MARK = '...'

/** How much each of several gets when all want to be as long as they are: the short ones leave the rest to the long ones. */
export function shares(wanted: readonly number[], total: number): readonly number[] {
  const given: number[] = wanted.map(() => 0)
  let left = Math.max(0, total)
  const order = wanted.map((want, at) => ({ want, at })).toSorted((a, b) => a.want - b.want)
  for (const [done, { want, at }] of order.entries()) {
    given[at] = Math.min(want, Math.floor(left / (order.length - done)))
    left -= given[at]
  }
  return given
}
