import { isUtf8 } from 'node:buffer'
import { isObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { findJsonFault } from './strict-json.ts'

/** What a JSON-RPC error says. */
export interface MessageFault {
  /** Of the request, where it can be read: without it the client would wait for an answer that does not come. */
  readonly id?: string | number | undefined
  readonly code: number
  readonly message: string
}

const INVALID_REQUEST = -32_600
const PARSE_ERROR = -32_700

export function invalidRequest(message: string, id?: MessageFault['id']): MessageFault {
  return { id, code: INVALID_REQUEST, message }
}

export function tooLarge(limit: number, id?: MessageFault['id']): MessageFault {
  return invalidRequest(`The request is larger than ${limit} bytes`, id)
}

/** The id of a request, when it has one that can be answered to. */
export function idOf(value: unknown): MessageFault['id'] {
  const id = isObject(value) ? value['id'] : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

/** The one reader of what comes in, whichever way: encoding, depth and doubled keys come before the parser. */
export function readMessage(bytes: Buffer): { readonly value: unknown } | { readonly fault: MessageFault } {
  if (!isUtf8(bytes)) return { fault: { code: PARSE_ERROR, message: 'The request is not UTF-8' } }
  const text = bytes.toString('utf8')
  const jsonFault = findJsonFault(text)
  if (jsonFault !== null) return { fault: invalidRequest(REASONS[jsonFault], idOf(parse(text))) }
  const value = parse(text)
  return value === undefined
    ? { fault: { code: PARSE_ERROR, message: 'The request is not JSON' } }
    : { value }
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
