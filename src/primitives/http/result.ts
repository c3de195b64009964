import type { ErrorCode } from '../../shared/errors.ts'
import { KiwiError, messageOf } from '../../shared/errors.ts'

/** Why a request is no success. */
export type HttpFailure =
  | 'bad_request'
  | 'egress_denied'
  | 'connection'
  | 'dns'
  | 'tls'
  | 'timeout'
  | 'cancelled'
  | 'too_large'
  | 'redirect'
  | 'status'
  | 'outcome_unknown'
  | 'protocol'

/** What came of a request. Whatever the network or the other side does ends here and throws nothing. */
export interface HttpResult {
  /** A status of 2xx and a whole body. */
  readonly success: boolean
  /** 0: no answer. */
  readonly status_code: number
  /** The JSON value, the text, or base64 text for bytes that are neither; JSON that cannot be kept exactly as text. */
  readonly body: unknown
  readonly body_kind: BodyKind
  readonly headers: Readonly<Record<string, string>>
  readonly duration_ms: number
  /** Status and reason, or what went wrong. */
  readonly error: string | null
  readonly attempts: number
  readonly failure: HttpFailure | null
}

export type BodyKind = 'json' | 'json_text' | 'text' | 'base64' | 'none'

export interface Problem {
  readonly failure: HttpFailure
  readonly error: string
}

/** The code that stands for each failure when it stops a call. */
export const FAILURE_CODES: Readonly<Record<HttpFailure, ErrorCode>> = {
  bad_request: 'INVALID_PARAMETERS',
  egress_denied: 'EGRESS_DENIED',
  connection: 'UPSTREAM_UNAVAILABLE',
  dns: 'UPSTREAM_UNAVAILABLE',
  tls: 'UPSTREAM_UNAVAILABLE',
  protocol: 'UPSTREAM_UNAVAILABLE',
  timeout: 'TIMEOUT',
  cancelled: 'CANCELLED',
  too_large: 'MESSAGE_TOO_LARGE',
  redirect: 'HTTP_STATUS',
  status: 'HTTP_STATUS',
  outcome_unknown: 'OUTCOME_UNKNOWN',
}

/** A problem whose `error` is only the reason, put into the form of our messages. */
export function worded(host: string, { failure, error }: Problem): Problem {
  return { failure, error: `Cannot ask "${host}": ${error}` }
}

/** The problem as an error, for streams: a loop over them can end in no other way. */
export function errorOf(
  { failure, error }: Problem,
  details: Readonly<Record<string, unknown>> = {},
): KiwiError {
  return new KiwiError(FAILURE_CODES[failure], error, { details: { failure, ...details } })
}

/** Puts whatever a socket, TLS, a resolver or the parser threw into our words. */
export function problemOf(error: unknown, host: string): Problem {
  if (error instanceof KiwiError) {
    return { failure: error.code === 'EGRESS_DENIED' ? 'egress_denied' : 'protocol', error: error.message }
  }
  const code = codeOf(error)
  const failure = failureOf(code)
  const why = WORDS[code] ?? (messageOf(error) || code)
  const action = failure === 'protocol' ? 'read the answer of' : failure === 'bad_request' ? 'ask' : 'reach'
  return { failure, error: `Cannot ${action} "${host}": ${why}` }
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke',
  UND_ERR_SOCKET: 'the connection broke',
  ETIMEDOUT: 'no connection in time',
  EHOSTUNREACH: 'there is no way to the host',
  ENETUNREACH: 'there is no way to the network',
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name server does not answer',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the body is not as long as it says',
  UND_ERR_HEADERS_OVERFLOW: 'its headers are too large',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS there: write http:// if that is meant',
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  if ('code' in error && typeof error.code === 'string') return error.code
  // undici's parser names itself but may give no code.
  return error.name === 'HTTPParserError' ? 'HPE_INVALID' : ''
}

const PROTOCOL = /^(?:HPE_|Z_|ERR_BROTLI|ERR__ERROR|UND_ERR_(?:RES_CONTENT_LENGTH|HEADERS_OVERFLOW))/
const TLS = /^(?:ERR_(?:TLS|SSL|OSSL)|EPROTO$|UNABLE_TO_|HOSTNAME_MISMATCH)|CERT/
const REQUEST = /^UND_ERR_(?:INVALID_ARG|NOT_SUPPORTED|REQ_CONTENT_LENGTH)/

function failureOf(code: string): HttpFailure {
  if (code === 'ENOTFOUND' || code.startsWith('EAI_')) return 'dns'
  if (PROTOCOL.test(code)) return 'protocol'
  if (TLS.test(code)) return 'tls'
  return REQUEST.test(code) ? 'bad_request' : 'connection'
}
