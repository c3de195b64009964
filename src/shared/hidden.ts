import type { JsonValue } from './json.ts'
import { isObject } from './json.ts'

/** What is not seen where a text is shown; a person decodes it, a model would read it. */
export const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
/**
 * The same where it does no work: the parts of one emoji are joined and coloured by such characters, and so are the
 * letters of some scripts. One selector after one emoji; a row of them would carry a text.
 */
const HIDDEN = new RegExp(
  [
    String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}0-9#*])[\uFE0E\uFE0F]`,
    String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D(?=\p{Extended_Pictographic})`,
    String.raw`(?<=(?![\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}])[\p{L}\p{M}])[\u200C\u200D](?=[\p{L}\p{M}])`,
    String.raw`[\t\n\r]`,
    `(?<hidden>${UNSEEN.source})`,
  ].join('|'),
  'gu',
)
/** Each stands for an ASCII character that nobody sees. */
const TAGS = /[\u{E0020}-\u{E007E}]+/gu

/** The hidden characters of a text, each once, as `U+200B`. */
export function hiddenIn(text: string): readonly string[] {
  if (!UNSEEN.test(text)) return []
  const found = new Set<string>()
  for (const { groups } of text.matchAll(HIDDEN)) {
    const code = groups?.['hidden']?.codePointAt(0)
    if (code !== undefined) found.add(`U+${code.toString(16).toUpperCase().padStart(4, '0')}`)
  }
  return [...found]
}

/** What a text says in characters that are not shown at all. */
export function hiddenWords(text: string): readonly string[] {
  return Array.from(text.matchAll(TAGS), ([tags]) =>
    Array.from(tags, (tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000)).join(''),
  )
}

/** The text as a model may read it. */
export function withoutHidden(text: string): string {
  if (!UNSEEN.test(text)) return text
  return text.replaceAll(HIDDEN, (whole, hidden: string | undefined) => (hidden === undefined ? whole : ''))
}

/** The same for every text of a value, keys included. */
export function allWithoutHidden(value: JsonValue): JsonValue {
  if (typeof value === 'string') return withoutHidden(value)
  if (Array.isArray(value)) return value.map((item: JsonValue) => allWithoutHidden(item))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [withoutHidden(key), allWithoutHidden(item)]),
  )
}
