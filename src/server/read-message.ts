import { isUtf8 } from 'node:buffer'
import { isObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { findJsonFault } from './strict-json.ts'

/** What a JSON-RPC error says. */
export interface MessageFault {
  /** Of the request, where it can be read: without it the client would wait for an answer that does not come. */
  readonly id?: string | number
  readonly code: number
  readonly message: string
}

export const TOO_LARGE: MessageFault = {
  code: -32_600,
  message: `The request is larger than ${LIMITS.requestBytes} bytes`,
}

/** The one reader of what comes in, whichever way: bounds, encoding and doubled keys come before the parser. */
export function readMessage(bytes: Buffer): { readonly value: unknown } | { readonly fault: MessageFault } {
  if (bytes.length > LIMITS.requestBytes) return { fault: TOO_LARGE }
  if (!isUtf8(bytes)) return fault(-32_700, 'The request is not UTF-8')
  const text = bytes.toString('utf8')
  const jsonFault = findJsonFault(text)
  if (jsonFault !== null) return fault(-32_600, REASONS[jsonFault], text)
  const value = parse(text)
  return value === undefined ? fault(-32_700, 'The request is not JSON') : { value }
}

const REASONS = {
  too_deep: `The request is nested deeper than ${LIMITS.nesting} levels`,
  duplicate_key: 'The request holds a key twice',
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fault(code: number, message: string, text = ''): { readonly fault: MessageFault } {
  const value = parse(text)
  const id = isObject(value) ? value['id'] : undefined
  const isId = typeof id === 'string' || typeof id === 'number'
  return { fault: { ...(isId ? { id } : {}), code, message } }
}
