import { findElement } from './find-element.ts'

interface Below {
  /** Where the text below the front matter begins. */
  readonly start: number
  /** Where a directive stands that the front matter does not go with. */
  readonly shown: number | null
  /** Keys by which the front matter is the directive. */
  readonly ownKeys: readonly string[]
  readonly isSkill: boolean
}

/** A directive in XML that is not read, and what to do about it; null for none. */
export function passedOver(
  text: string,
  { start, shown, ownKeys, isSkill }: Below,
): { readonly at: number; readonly message: string } | null {
  if (shown !== null) return { at: shown, message: SHOWN }
  const { candidate } = findElement(text.replaceAll(/<directive/gi, TAG), 'directive', { at: start })
  if (candidate === null) {
    // Where the front matter is the directive, a text of it may well show one.
    const hidden = isSkill || ownKeys.length > 0 ? -1 : text.slice(start).search(HIDDEN)
    return hidden < 0 ? null : { at: start + hidden, message: HIDDEN_DIRECTIVE }
  }
  const { at } = candidate
  const tag = text.slice(at, at + TAG.length)
  if (tag !== TAG) return { at, message: `this ${tag}> is text: it is written <directive>` }
  const keys = ownKeys.map((key) => `"${key}"`).join(', ')
  const why = isSkill
    ? 'a SKILL.md is followed as it stands: put it into a file of its own'
    : `by ${keys} the front matter is the directive: write that in the XML, and take it out above`
  return {
    at,
    message: `this <directive> is text: ${why}; what is only shown stands in a fence of \`\`\`text`,
  }
}

const TAG = '<directive'

const SHOWN =
  'this <directive> is text: the front matter says what the directive is, unless the only fence below holds it under the same name'

/** One at the start of a line, where nothing else says what the directive is. */
const HIDDEN = /^[ \t]{0,16}<directive[\s>]/im
const HIDDEN_DIRECTIVE =
  'this <directive> is text: to be read it stands first in a fence of ```xml, or outside of all fences'
