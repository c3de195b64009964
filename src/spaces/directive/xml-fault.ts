import type { Position } from './position.ts'

/** What the parser says of a text that it cannot read. */
export interface Refused {
  readonly said: string
  readonly text: string
  /** The same without what may hold any sign. */
  readonly masked: string
  /** Where the element begins, and where reading failed. */
  readonly from: number
  readonly failed: number
  /** The element that was read last and is still open. */
  readonly open: (Position & { readonly name: string }) | null
}

/** The same in words for its author: what is wrong, where that begins, and what to do. */
interface XmlFault {
  readonly reason: string
  readonly place: number | Position
  readonly hint: string
  /** The line as it should be, where that can be told. */
  readonly repaired?: string
}

export function xmlFault(refused: Refused): XmlFault {
  const { said, failed, open } = refused
  for (const [pattern, explain] of EXPLAINED) {
    const found = pattern.exec(said)
    if (found !== null) return explain(refused, found[1] ?? '')
  }
  const swallowed = /^unclosed|^unexpected end/.test(said) ? unended(refused) : null
  if (swallowed !== null) return swallowed
  if (open !== null && /^unclosed tag|never closed$/.test(said))
    return {
      reason: `<${open.name}> is never closed`,
      place: open,
      hint: `Write </${open.name}> where it ends, or &lt;${open.name} where it is text`,
    }
  return { reason: said, place: failed, hint: HINT }
}

export const HINT = 'Close every element, and write & as &amp; and < as &lt; in text'

/** Characters that are looked at for a name, so that no text takes longer than its length. */
const LONGEST_NAME = 256

type Explain = (refused: Refused, word: string) => XmlFault

const EXPLAINED: readonly (readonly [RegExp, Explain])[] = [
  [
    /^duplicate attribute: (.*)$/,
    (refused, name) => ({
      reason: `duplicate attribute: ${name}`,
      place: secondOf(refused, name),
      hint: 'Write each attribute of an element once',
    }),
  ],
  [/^unquoted attribute value$/, unquoted],
  [
    /^attribute without value$/,
    ({ masked, failed }) => {
      const near = masked.slice(Math.max(0, failed - LONGEST_NAME), failed)
      const [name = ''] = /[^\s<>"'=/]+\s*$/.exec(near) ?? []
      const place = failed - name.length
      const { tag } = tagBefore(masked, failed)
      const isClosed = new RegExp(`</${escapedName(tag)}[\\s>]`).test(masked.slice(failed))
      return {
        reason: `the attribute "${name.trim()}" has no value`,
        place,
        hint: `Write ${name.trim()}="..."${isClosed ? '' : `, or &lt;${tag} where it is text`}`,
      }
    },
  ],
  [
    /^malformed character entity$/,
    (refused) => escaped(refused, refused.masked.lastIndexOf('&', refused.failed), 'it stands for no sign'),
  ],
  [
    /^(disallowed character in tag name|malformed name)/,
    (refused) => {
      if (refused.masked[refused.failed] === '<') return unendedTag(refused)
      return escaped(refused, tagBefore(refused.masked, refused.failed).at, 'it begins no element')
    },
  ],
  [/^disallowed character in attribute name/, unendedTag],
  [
    /^malformed comment$/,
    ({ masked, failed }) => ({
      reason: 'there is "--" within a comment',
      place: masked.lastIndexOf('--', failed - 1),
      hint: 'Write - or a dash in place of it: -- only ends a comment',
    }),
  ],
  [/^the string "\]\]>" is disallowed/, closesNothing],
  [/^disallowed character$/, unwritable],
  [
    /^(?:unmatched closing tag|unexpected close tag)/,
    ({ masked, failed, open }) => {
      const place = masked.lastIndexOf('</', failed)
      const [tag = '</'] = /^<\/[^\s<>]*/.exec(masked.slice(place)) ?? []
      const hint = open === null ? 'Remove it' : `Write </${open.name}>, or remove it`
      return { reason: `${tag}> closes nothing that is open`, place, hint }
    },
  ],
  [
    /nested deeper/,
    ({ said, failed }) => ({
      reason: said,
      place: failed,
      hint: 'Put less into each other: a step holds its calls, and a call its parameters',
    }),
  ],
  [
    /not allowed as a name/,
    ({ said, failed }) => ({ reason: said, place: failed, hint: 'Use another name' }),
  ],
  [
    /document type/,
    ({ said, failed }) => ({
      reason: said,
      place: failed,
      hint: 'Remove it: a directive has no document type',
    }),
  ],
]

/** The tag that is being read. */
function tagBefore(masked: string, failed: number): { readonly at: number; readonly tag: string } {
  const at = masked.lastIndexOf('<', failed - 1)
  const [, tag = ''] = /^<([^\s<>"'=/]*)/.exec(masked.slice(at, at + LONGEST_NAME)) ?? []
  return { at, tag }
}

/** Where another begins before this one ends, its end was forgotten, or it is no tag. */
function unendedTag({ said, masked, failed }: Refused): XmlFault {
  if (masked[failed] !== '<') return { reason: said, place: failed, hint: HINT }
  const { at, tag } = tagBefore(masked, failed)
  return {
    reason: `the tag <${tag} is never ended`,
    place: at,
    hint: `Write > where it ends, or &lt;${tag} where it is text`,
  }
}

/** Where an attribute stands in its tag for the second time. */
function secondOf({ masked, failed }: Refused, name: string): number {
  const start = masked.lastIndexOf('<', failed)
  const named = masked.slice(start, failed).matchAll(new RegExp(`\\s${escapedName(name)}\\s*=`, 'g'))
  named.next()
  const second = named.next()
  return second.done === true ? failed : start + second.value.index + 1
}

function escapedName(name: string): string {
  return name.replaceAll(/[^\w-]/g, String.raw`\$&`)
}

/** A value in no quotes, or in those that a word processor writes. */
function unquoted({ text, failed }: Refused): XmlFault {
  const [value = ''] = /^[“”„‘’][^“”‘’<>\n]*[“”‘’]|^[^\s"'<>=`/]+/.exec(text.slice(failed)) ?? []
  const plain = value.replaceAll(/[“”„‘’]/g, '')
  const fault = { reason: 'the value of an attribute is not in quotes', place: failed }
  if (plain === '' || plain.includes('&')) return { ...fault, hint: 'Write it as name="value"' }
  return { ...fault, ...written(text, failed, failed + value.length, `"${plain}"`) }
}

/** A sign that begins what it cannot begin is text. */
function escaped({ text }: Refused, at: number, why: string): XmlFault {
  const sign = text[at] ?? ''
  return {
    reason: `a bare "${sign}" is not text: ${why}`,
    place: at,
    ...written(text, at, at + 1, sign === '&' ? '&amp;' : '&lt;'),
  }
}

function closesNothing({ text, failed }: Refused): XmlFault {
  const at = text.lastIndexOf(']]>', failed)
  return { reason: '"]]>" is not text', place: at, ...written(text, at + 2, at + 3, '&gt;') }
}

function unwritable({ text, failed }: Refused): XmlFault {
  if (text[failed] === '<') return unclosedValue(text, failed)
  const code = text.codePointAt(failed) ?? 0
  const shown = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  return {
    reason: `XML cannot hold the sign ${shown}`,
    place: failed,
    ...written(text, failed, failed + 1, ''),
  }
}

/** No value holds the sign, so the quotes of one were never closed. */
function unclosedValue(text: string, failed: number): XmlFault {
  const [value = ''] = /["'][^"'<]*$/.exec(text.slice(0, failed)) ?? []
  return {
    reason: 'the quotes of an attribute are never closed',
    place: failed - value.length,
    hint: `Write ${value.slice(0, 1)} behind its value`,
  }
}

/** The line with a part of it written anew. */
function written(
  text: string,
  start: number,
  end: number,
  anew: string,
): Pick<XmlFault, 'hint' | 'repaired'> {
  const first = text.lastIndexOf('\n', start - 1) + 1
  const next = text.indexOf('\n', end)
  const last = next < 0 ? text.length : next
  const repaired = `${text.slice(first, start)}${anew}${text.slice(end, last)}`.replace(/\r$/, '')
  return { hint: repaired.trim(), repaired }
}

/** A quotation or a comment that goes on to the end has taken all closing tags with it. */
function unended({ masked, from }: Refused): XmlFault | null {
  for (let at = masked.indexOf('<!', from); at >= 0;) {
    const mark = MARKS.find(([open]) => masked.startsWith(open, at))
    if (mark === undefined) {
      at = masked.indexOf('<!', at + 2)
      continue
    }
    const [open, close] = mark
    const end = masked.indexOf(close, at + open.length)
    if (end < 0) return { reason: `${open} is never closed`, place: at, hint: `Write ${close} where it ends` }
    at = masked.indexOf('<!', end)
  }
  return null
}

const MARKS = [
  ['<![CDATA[', ']]>'],
  ['<!--', '-->'],
] as const
