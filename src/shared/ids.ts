import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { KiwiError } from './errors.ts'

/** Makes ids that sort by time: 48 bits of milliseconds, 80 random bits, in 26 characters. */
export type Ids = () => string

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

const RANDOM_CHARACTERS = 16
/** Ids a draw of random bytes is good for: asking the system for each would cost more than the rest. */
const DRAW = 64

export function createIds(now: () => number, random: (bytes: number) => Uint8Array = randomBytes): Ids {
  let bytes: Uint8Array = new Uint8Array()
  let used = 0
  return () => {
    let time = now()
    let text = ''
    for (let i = 0; i < 10; i++) {
      text = ALPHABET.charAt(time % 32) + text
      time = Math.floor(time / 32)
    }
    if (used + RANDOM_CHARACTERS > bytes.length) {
      bytes = random(RANDOM_CHARACTERS * DRAW)
      used = 0
    }
    for (const end = used + RANDOM_CHARACTERS; used < end; used++)
      text += ALPHABET.charAt((bytes[used] ?? 0) & 31)
    return text
  }
}

/** When an id was made, in milliseconds; null for one of another make. */
export function timeOfId(id: string): number | null {
  const digits = Array.from(id.slice(0, 10), (character) => ALPHABET.indexOf(character))
  if (digits.length < 10 || digits.includes(-1)) return null
  return digits.reduce((time, digit) => time * 32 + digit, 0)
}

/** A name becomes a file name: with a dot in front it would be hidden, `..` would be a way out. */
const ITEM_NAME = /^(?!\.)[A-Za-z0-9_.-]{1,128}$/

/** The name of an item: ASCII, compared exactly, never folded. */
export const ItemName = z
  .string()
  .regex(ITEM_NAME, 'use letters, digits, "_", "-" and ".", at most 128, no "." in front')
  .brand<'ItemName'>()
export type ItemName = z.infer<typeof ItemName>

/** `a/b`: folders between the type folder and the file. */
export const Category = z
  .string()
  .regex(/^[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+)*$/, 'use names of letters, digits, "_" and "-", joined by "/"')
  .max(256)

/** What a caller wrote to name an item: `name`, `category/name`, `name@1.2.0`, `name@^1`. */
export interface ItemRef {
  readonly name: ItemName
  readonly category: string | null
  readonly version: string | null
}

/** The one parser of item ids: what it returns is what is judged, recorded and run. */
export function parseItemRef(text: string, version?: string): ItemRef {
  const at = text.indexOf('@')
  const path = at < 0 ? text : text.slice(0, at)
  const given = at < 0 ? null : text.slice(at + 1)
  const slash = path.lastIndexOf('/')
  const name = ItemName.safeParse(path.slice(slash + 1))
  const category = slash < 0 ? null : path.slice(0, slash)
  const isWhole = name.success && (category === null || Category.safeParse(category).success) && given !== ''
  if (!isWhole) {
    throw new KiwiError('INVALID_PARAMETERS', `Cannot read item id ${JSON.stringify(text.slice(0, 160))}`, {
      hint: 'Write name, category/name or name@version, with letters, digits, "_", "-" and "."',
      details: { missing: [], invalid: [{ name: 'item_id', reason: 'not an item id' }] },
    })
  }
  if (given !== null && version !== undefined && given !== version) {
    throw new KiwiError(
      'INVALID_PARAMETERS',
      `Cannot read item id "${text}": "version" says ${version}, the id says ${given}`,
      {
        hint: 'Give the version once',
        details: { missing: [], invalid: [{ name: 'version', reason: 'given twice' }] },
      },
    )
  }
  return { name: name.data, category, version: given ?? version ?? null }
}
