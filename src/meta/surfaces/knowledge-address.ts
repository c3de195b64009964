import { KiwiError } from '../../shared/errors.ts'

const PREFIX = 'kiwi://knowledge/'

/** Where clients find a piece of knowledge; `id` may be `category/name` and `name@version`. */
export const KNOWLEDGE_TEMPLATE = `${PREFIX}{+id}`

export function knowledgeAddress(id: string): string {
  return PREFIX + id
}

/** The id in such an address; null for another kind of address. What it names is up to the one reader of ids. */
export function idInAddress(uri: string): string | null {
  return uri.startsWith(PREFIX) ? decoded(uri.slice(PREFIX.length), uri) : null
}

/** Once only: what is still encoded then is part of a name, and no name has such characters. */
export function decoded(part: string, uri: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw wrongAddress(uri, 'its % codes stand for no text')
  }
}

export function wrongAddress(uri: string, reason: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot read ${JSON.stringify(uri.slice(0, 160))}: ${reason}`, {
    hint: `Addresses are ${KNOWLEDGE_TEMPLATE} and those that skills/list gives`,
    details: { missing: [], invalid: [{ name: 'uri', reason }] },
  })
}
