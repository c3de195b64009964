/** Cuts a text into pieces of words that are known, each by its place in the list of them. */
export type Cut = (text: string, most: number) => readonly number[]

type PlaceOf = (piece: string) => number | undefined

/** What stands before a piece that goes on with a word. */
const GOES_ON = '##'
const BEGIN = '[CLS]'
const END = '[SEP]'
const UNKNOWN = '[UNK]'
/** Letters beyond which a word is a lump of something. */
const LONGEST = 60

/** A text is framed by a beginning and an end; of one that is too long its beginning is taken. */
export function openCut(placeOf: PlaceOf): Cut {
  const [begin, end, unknown] = [BEGIN, END, UNKNOWN].map(placeOf)
  const cutWord = (word: string): readonly number[] => {
    const found: number[] = []
    for (let from = 0; from < word.length && word.length <= LONGEST;) {
      const piece = longestPiece(word, from, placeOf)
      if (piece === null) break
      found.push(piece.place)
      from = piece.to
      if (from === word.length) return found
    }
    return [unknown ?? 0]
  }
  return (text, most) => {
    const found = [begin ?? 0]
    for (const word of wordsOf(text)) {
      found.push(...cutWord(word))
      if (found.length >= most) break
    }
    return [...found.slice(0, most - 1), end ?? 0]
  }
}

function longestPiece(
  word: string,
  from: number,
  placeOf: PlaceOf,
): { readonly place: number; readonly to: number } | null {
  for (let to = word.length; to > from; to--) {
    const place = placeOf(`${from === 0 ? '' : GOES_ON}${word.slice(from, to)}`)
    if (place !== undefined) return { place, to }
  }
  return null
}

/** In lower case, without accents; every sign is a word of its own. */
function wordsOf(text: string): readonly string[] {
  const plain = text
    .toLowerCase()
    .normalize('NFD')
    .replaceAll(/\p{Mn}/gu, '')
  return plain.match(/[^\s\p{P}\p{S}]+|[\p{P}\p{S}]/gu) ?? []
}
