import { isUtf8 } from 'node:buffer'
import { assertPlain } from '../../shared/json.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { BodyKind } from './result.ts'

export interface Body {
  readonly body: unknown
  readonly body_kind: BodyKind
}

/** JSON if it parses and comes out as it went in, else text, else base64. */
export function readBody(bytes: Buffer, contentType: string): Body {
  if (bytes.length === 0) return { body: null, body_kind: 'none' }
  const text = decode(bytes, contentType)
  if (text === null) return { body: bytes.toString('base64'), body_kind: 'base64' }
  if (looksLikeJson(text, contentType)) {
    try {
      const body: unknown = JSON.parse(text)
      return !MAY_BE_ODD.test(text) || isPlain(body)
        ? { body, body_kind: 'json' }
        : { body: text, body_kind: 'json_text' }
    } catch {
      // Text that only looks like JSON.
    }
  }
  return { body: text, body_kind: 'text' }
}

/** What could hide a number that is rounded, an unsafe key or a NUL. Nearly no answer does, and walking it takes longer. */
const MAY_BE_ODD = /\d{16}|\d[eE]|\\u|__proto__|constructor|prototype/

/** False for numbers that JavaScript would round, and for what no later step should have to think about. */
function isPlain(body: unknown): boolean {
  try {
    assertPlain(body, 'body')
    return true
  } catch {
    return false
  }
}

const CHARSET = /;\s*charset\s*=\s*"?([\w.:-]+)/i
const MARK = '\ufeff'

function decode(bytes: Buffer, contentType: string): string | null {
  if (bytes.includes(0)) return null
  if (isUtf8(bytes)) {
    const text = bytes.toString('utf8')
    return text.startsWith(MARK) ? text.slice(1) : text
  }
  const [, charset] = CHARSET.exec(contentType) ?? []
  if (charset === undefined) return null
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

/**
 * A text that calls itself text is JSON only as an object or a list: `007` or `12345678901234567890` stay as they
 * are. One that is nested too deep stays text too, so that nothing later can overflow on it.
 */
function looksLikeJson(text: string, contentType: string): boolean {
  const first = /[^\s]/.exec(text)?.[0] ?? ''
  const isContainer = first === '{' || first === '['
  if (!isContainer && (/^text\//i.test(contentType) || !/["\d\-tfn]/.test(first))) return false
  return !isContainer || !isDeep(text)
}

function isDeep(text: string): boolean {
  if (text.length <= 2 * LIMITS.nesting) return false
  let depth = 0
  let isInString = false
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 0x22) isInString = !isInString
    else if (isInString) i += unit === 0x5c ? 1 : 0
    else if (unit === 0x7b || unit === 0x5b) depth++
    else if (unit === 0x7d || unit === 0x5d) depth--
    if (depth > LIMITS.nesting) return true
  }
  return false
}
