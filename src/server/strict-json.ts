import { LIMITS } from '../shared/limits.ts'

/** Why a text is not JSON that two readers would read alike; null when it is fine so far. */
export type JsonFault = 'too_deep' | 'duplicate_key' | null

/**
 * One pass over the text before it is parsed: nesting over the limit and keys given twice. `JSON.parse` takes the
 * last of two equal keys without a word, and a judge that read the first would have judged something else.
 */
export function findJsonFault(text: string): JsonFault {
  const open: (Set<string> | null)[] = []
  let key: string | null = null
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '{' || char === '[') {
      open.push(char === '{' ? new Set() : null)
      if (open.length > LIMITS.nesting) return 'too_deep'
      key = null
    } else if (char === '}' || char === ']') {
      open.pop()
    } else if (char === '"') {
      const end = stringEnd(text, at)
      key = text.slice(at, end + 1)
      at = end
    } else if (char === ':' && key !== null) {
      const keys = open.at(-1)
      const name = plain(key)
      if (keys?.has(name)) return 'duplicate_key'
      keys?.add(name)
      key = null
    }
  }
  return null
}

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '"') return at
  }
  return text.length
}

/** `"\u0061"` and `"a"` are one key. */
function plain(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1)
  try {
    return String(JSON.parse(literal))
  } catch {
    return literal
  }
}
