import type { JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { SECRET_KEY, SHORTEST_SECRET } from '../shared/redact.ts'

/** Whether a variable, header, option or query of this name holds a credential. */
export function isCredentialName(name: string): boolean {
  return (
    SECRET_KEY.test(name) ||
    /(?:^|[_.-])(?:key|pat|pass|pw|pwd|pin|auth|tok|jwt|dsn|creds?|passphrase)s?(?:[_.-]id)?$/i.test(name) ||
    /[a-z](?:Key|Pwd|Pass|Auth)$/.test(name)
  )
}

/** Letters of one kind, a short number, or both: nothing that somebody drew at random. */
const WORD = /^(?:[A-Z]?[a-z]{0,14}|[A-Z]{1,14}|\d{1,8}|[A-Za-z]{1,10}\d{1,3}|\d{1,3}[a-z]{1,2})$/
const LONGEST_WORDS = 64
const NUMBER = /^[-+]?\d+(?:\.\d+)?$/
const PATH = /^(?:~|\.{0,2}|[A-Za-z]:)[/\\]/
/** Folders may be called anything, but seldom this. */
const DRAWN = /(?=[A-Za-z0-9+=]*\d)(?=[A-Za-z0-9+=]*[A-Za-z])[A-Za-z0-9+=]{16,}/

/** What is ordinary whatever it is for: numbers, words, paths, addresses that hold neither a login nor a query. */
export function isOrdinary(value: string): boolean {
  if (NUMBER.test(value)) return true
  if (value.split(/[:;](?![/\\])/).every((part) => PATH.test(part))) return !DRAWN.test(value)
  if (isAddress(value)) {
    const { username, password, search, hash, pathname } = new URL(value)
    return `${username}${password}${search}${hash}` === '' && areWords(pathname)
  }
  return areWords(value)
}

function isAddress(value: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(value) && URL.canParse(value)
}

function areWords(value: string): boolean {
  return (
    value.length <= LONGEST_WORDS &&
    value.split(/[^A-Za-z0-9]+/).every((word) => WORD.test(word)) &&
    isAscii(value)
  )
}

function isAscii(value: string): boolean {
  return /^[ -~]*$/.test(value)
}

/** Letters and digits in one row that is no word, path or plain address; or an address with a password in it. */
export function looksDrawn(value: string): boolean {
  if (isOrdinary(value)) return false
  if (isAddress(value)) return new URL(value).password !== ''
  return ROW.test(value)
}

const ROW = /(?=[\w.~+/=-]*\d)(?=[\w.~+/=-]*[A-Za-z])[\w.~+/=-]{20,}/

type Named = readonly [name: string, value: string]

/** What of a server's config must never be shown: the values of `env`, `headers` and `auth` that are written out there. */
export function writtenCredentials(config: JsonValue | undefined): readonly Named[] {
  if (!isJsonObject(config)) return []
  const { env, headers, auth } = config
  const found = [
    ...textsIn(env, 'env').flatMap(([name, text]) => secretsIn(name, text, isCredentialName(name))),
    ...textsIn(headers, 'headers').flatMap(([name, text]) => secretsIn(name, text, isCredentialName(name))),
    ...textsIn(auth, 'auth').flatMap(([name, text]) => (SHOWN.has(name) ? [] : secretsIn(name, text, true))),
  ]
  return found.filter(([, value]) => value.length >= SHORTEST_SECRET)
}

/** What of `auth` is no secret. */
const SHOWN: ReadonlySet<string> = new Set([
  'type',
  'username',
  'issuer',
  'client_id',
  'scope',
  'scopes',
  'header',
  'header_name',
  'name',
  'grant_type',
])

function textsIn(value: JsonValue | undefined, name: string): readonly Named[] {
  if (typeof value === 'string' || typeof value === 'number') return [[name, String(value)]]
  if (Array.isArray(value)) return value.flatMap((item: JsonValue) => textsIn(item, name))
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => textsIn(inner, key))
}

/** What stands between variables, and what stands for one that is, or is not, set. */
const VARIABLE = /(?<!\$)\$\{[A-Za-z_]\w*(?::[-+]([^{}]*))?\}/
const VARIABLES = new RegExp(VARIABLE, 'g')

/** The variables that any text of a value names. */
export function variablesIn(value: unknown): readonly string[] {
  return Array.from(JSON.stringify(value).matchAll(VARIABLES), ([whole]) =>
    whole.replace(/^\$\{(\w+)[^]*$/, '$1'),
  )
}

/** Whether a text names a variable; `${` may stand in a password too. */
export function namesVariable(text: string): boolean {
  return VARIABLE.test(text)
}

const SCHEME = /^(?:Basic|Bearer|Bot|Digest|Token|ApiKey)\s+/i
/** What holds parts together, in an address, a list, a line of options or JSON. */
const JOINTS = /[\s"'`,;{}()[\]&|<>=?@\\]+|:(?!\/\/)|:\/\//

function secretsIn(name: string, text: string, isNamed: boolean): readonly Named[] {
  return text
    .replaceAll(VARIABLES, '\0$1\0')
    .split('\0')
    .flatMap((literal): readonly Named[] => {
      const bare = literal.trim().replace(SCHEME, '')
      if (bare === '' || (!isNamed && isOrdinary(bare))) return []
      const parts = bare.split(JOINTS).filter((part) => !isOrdinary(part))
      return [literal.trim(), bare, ...parts, ...loginIn(bare)].map((value) => [name, value])
    })
}

/** The password of an address, and of what `Basic` stands before. */
function loginIn(text: string): readonly string[] {
  const written = isAddress(text) ? new URL(text).password : ''
  const [, basic = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(text, 'base64').toString()) ?? []
  return [written, decoded(written), ...(isAscii(basic) ? [basic] : [])]
}

/** A text with what looks like an escape and is none stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
