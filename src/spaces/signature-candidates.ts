import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, isJsonObject, sha256 } from '../shared/json.ts'
import type { ItemType } from '../shared/tool-type.ts'

/** Whose signature it is: some generations hashed what the item says of itself. */
export interface SignatureSubject {
  readonly itemType: ItemType
  readonly raw: JsonObject
  /** The file that carries the lines, as far as it has a name. */
  readonly fileName: string | null
}

/** One recognised line. */
export interface SignatureLine {
  readonly family: string
  readonly kind: string
  readonly time: string | null
  /** Null: a place kept for a hash that nobody filled in. */
  readonly hash: string | null
  readonly signature: string | null
  readonly fingerprint: string | null
  /** It is the very first line of the file. */
  readonly isFirst: boolean
  /** Where the line after it begins. */
  readonly end: number
}

interface Hashed {
  /** The file without signature lines, and without the shebang too. */
  readonly bare: string
  readonly shebang: string
  /** What follows the line. */
  readonly rest: string
  readonly subject: SignatureSubject
}

type Candidate = readonly [generation: string, hashed: string]

/** What the hash on a line may be over, by generation, the present one first. */
export function candidateHashes(line: SignatureLine, hashed: Hashed): readonly Candidate[] {
  const { bare, rest, subject } = hashed
  const old = core(hashed)
  const { family, kind, isFirst, hash, fingerprint } = line
  if (family === 'rye') return [['rye', old]]
  if (family === 'ryeos') {
    const late: Candidate = ['ryeos', rest]
    return fingerprint?.length === 64 ? [late] : [['ryeos', old], late]
  }
  const present: Candidate = ['kiwi', bare]
  if (kind === 'signed') return [present]
  if (hash?.length === 12) return [present, ['kiwi-short', old]]
  return [
    present,
    // With a shebang above it, the rest of the file is not all that runs.
    ...(isFirst ? [['kiwi-first', rest] as const] : []),
    ...jsonForms(bare, subject).map((form) => ['kiwi-json', form] as const),
  ]
}

/** What older generations hashed of a file. */
function core({ bare, shebang, subject }: Hashed): string {
  if (subject.itemType === 'directive') return xmlSlice(bare)
  if (subject.itemType === 'knowledge') return bodyOf(bare)
  return shebang === '' ? bare : bare.slice(bare.indexOf(shebang) + shebang.length)
}

/** What was hashed in place of the text for a while. */
function jsonForms(bare: string, { itemType, raw }: SignatureSubject): readonly string[] {
  if (itemType === 'directive') {
    const slice = xmlSlice(bare)
    const [tag = ''] = /^<directive\b[^>]*/.exec(slice) ?? []
    const attribute = (name: string): string =>
      new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(tag)?.slice(1).find(Boolean) ?? ''
    const form = {
      directive_name: attribute('name'),
      metadata: {},
      version: attribute('version'),
      xml_hash: sha256(slice),
    }
    return [asciiJson(form)]
  }
  if (itemType !== 'knowledge') return []
  const { config, category = null, tags = [], version = null, tool_id = null } = raw
  const { entry_type = null } = isJsonObject(config) ? config : {}
  const form = { content_hash: sha256(bodyOf(bare)), metadata: { category, entry_type, tags }, version }
  return [asciiJson({ ...form, zettel_id: tool_id }), asciiJson({ ...form, id: tool_id })]
}

function xmlSlice(text: string): string {
  const from = text.indexOf('<directive')
  const end = text.lastIndexOf(CLOSE)
  return from < 0 || end < from ? '' : text.slice(from, end + CLOSE.length).trim()
}

const CLOSE = '</directive>'

function asciiJson(value: JsonObject): string {
  return canonicalJson(value).replace(
    /[\u0080-\uFFFF]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const FRONT_MATTER = /^(\uFEFF?\s*---[ \t]*\r?\n)([^]*?\n)(---[ \t]*(?:\r?\n|$))/

function bodyOf(bare: string): string {
  return bare.slice(FRONT_MATTER.exec(bare)?.[0].length ?? 0).trim()
}

const OLD_KEYS = /^(validated_at|content_hash):[ \t]*["']?([^"'\s]*)["']?[ \t]*\r?\n/gm

/** The signature that knowledge once carried in its front matter. */
export function frontMatterHash(bare: string): { time: string; hash: string; isMet: boolean } | null {
  const [, , front = ''] = FRONT_MATTER.exec(bare) ?? []
  const found = new Map([...front.matchAll(OLD_KEYS)].map(([, key, value]) => [key, value]))
  const time = found.get('validated_at')
  const hash = found.get('content_hash')
  if (time === undefined || hash === undefined || !/^(?:[0-9a-f]{12}|[0-9a-f]{64})$/.test(hash)) return null
  return { time, hash, isMet: sha256(bodyOf(bare)).startsWith(hash) }
}

/** Such keys go when the file is signed: two signatures could contradict each other. */
export function withoutFrontMatterHash(bare: string): string {
  if (frontMatterHash(bare) === null) return bare
  return bare.replace(
    FRONT_MATTER,
    (_, open: string, front: string, close: string) => open + front.replace(OLD_KEYS, '') + close,
  )
}
