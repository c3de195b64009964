import { LIMITS } from '../shared/limits.ts'
import type { Answer } from './read-message.ts'

/** Shorter texts are parsed in no time, however deep. */
const LONG = 16 * 1024
const HEAD = 1024

/**
 * A text that is nested without end, told by its look: parsing it would hold up everybody. Null when it answers nothing,
 * undefined for one that is to be parsed.
 */
export function readDeep(text: string): Answer | null | undefined {
  if (text.length < LONG || !isDeep(text)) return undefined
  // What it answers stands before the depth, or behind it.
  const [head = ''] = text.slice(0, HEAD).split(/[[{]/).slice(1)
  const id = /"id"\s*:\s*(\d+)\s*,/.exec(head) ?? /,\s*"id"\s*:\s*(\d+)\s*\}\s*$/.exec(text.slice(-HEAD))
  if (id === null || head.includes('"method"')) return null
  return { kind: 'error', id: Number(id[1]), error: 'too_deep' }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])

function isDeep(text: string): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at)
    if (sign === QUOTE) at = endOfString(text, at)
    else if (OPENING.has(sign)) depth += 1
    else if (CLOSING.has(sign)) depth -= 1
    if (depth > LIMITS.nesting + 1) return true
  }
  return false
}

/** Most strings are long and hold no escape: they are jumped over. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1
    if (slashes % 2 === 0) return at
  }
  return text.length
}
