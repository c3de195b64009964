import { isUtf8 } from 'node:buffer'
import { LIMITS } from '../shared/limits.ts'
import { findJsonFault } from './strict-json.ts'

/** Code and message of a JSON-RPC error. */
export interface MessageFault {
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
  if (jsonFault === 'too_deep')
    return fault(-32_600, `The request is nested deeper than ${LIMITS.nesting} levels`)
  if (jsonFault === 'duplicate_key') return fault(-32_600, 'The request holds a key twice')
  try {
    return { value: JSON.parse(text) }
  } catch {
    return fault(-32_700, 'The request is not JSON')
  }
}

function fault(code: number, message: string): { readonly fault: MessageFault } {
  return { fault: { code, message } }
}
