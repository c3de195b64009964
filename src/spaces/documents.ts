import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { KiwiError } from '../shared/errors.ts'
import { textOf } from '../shared/template.ts'
import { readFrontMatter } from './front-matter.ts'
import type { Entry } from './scan.ts'
import { typeOf } from './source/declared.ts'

interface ReadDocument {
  readonly raw: JsonObject
  /** The text below the front matter. */
  readonly body: string
}

/** A piece of knowledge: front matter is its manifest, the rest its content. */
export async function readKnowledge(text: string, { stem, path }: Entry): Promise<ReadDocument> {
  const { given, body } = await readFrontMatter(text, path)
  const { entry_type = 'learning', source_type = null, source_url = null, ...others } = given
  // Vectors are made anew, and the signature of old is none of its content.
  const {
    id,
    zettel_id,
    title,
    name: called,
    embedding: _e,
    validated_at: _v,
    content_hash: _h,
    ...kept
  } = others
  const config: JsonObject = {
    entry_type,
    ...(source_type === null ? {} : { source_type }),
    ...(source_url === null ? {} : { source_url }),
  }
  const name = textOf(title ?? called ?? headingOf(body) ?? stem)
  const identity = { tool_id: id ?? zettel_id ?? stem, name, description: name }
  return { raw: { ...identity, config, ...kept, tool_type: 'knowledge', executor: null }, body }
}

function headingOf(body: string): string | undefined {
  return /^\uFEFF?#\s+(.+)$/m.exec(body)?.[1]
}

/** Keys of a directive's front matter that are keys of every manifest; the others are its own, and go to `config`. */
const MANIFEST_KEYS = new Set([
  'version',
  'description',
  'category',
  'tags',
  'author',
  'enabled',
  'secrets',
  'locked',
])

/** The container of a directive: front matter or XML. What its steps and permissions mean is read when it is run. */
export async function readDirective(
  text: string,
  { stem, path }: Pick<Entry, 'stem' | 'path'>,
): Promise<ReadDocument> {
  const { given, body } = await readFrontMatter(text, path)
  const { name, inputs, config: settings, ...others } = given
  const keys = Object.entries(others)
  const top = Object.fromEntries(keys.filter(([key]) => MANIFEST_KEYS.has(key)))
  const own = Object.fromEntries(keys.filter(([key]) => !MANIFEST_KEYS.has(key)))
  const xml = readXml(body, path)
  const raw: JsonObject = {
    tool_id: name ?? xml['name'] ?? stem,
    ...(xml['version'] === undefined ? {} : { version: xml['version'] }),
    ...description(xml['description'] ?? headingOf(body)),
    ...(xml['category'] === undefined ? {} : { category: xml['category'] }),
    ...top,
    config: { ...own, ...(isJsonObject(settings) ? settings : {}) },
    ...(Array.isArray(inputs) ? { parameters: inputs.map(parameterOf) } : {}),
    tool_type: 'directive',
    executor: 'llm_runtime',
  }
  return { raw, body }
}

function description(text: string | undefined): JsonObject {
  return text === undefined ? {} : { description: text }
}

function parameterOf(input: JsonValue): JsonValue {
  if (!isJsonObject(input)) return input
  return { ...input, type: typeof input['type'] === 'string' ? typeOf(input['type']) : 'string' }
}

const CLOSE = '</directive>'

/** What the opening tag and the metadata of an XML directive say; nothing when there is none. */
function readXml(body: string, path: string): Readonly<Record<string, string>> {
  const from = body.search(/<directive[\s>]/)
  const end = body.lastIndexOf(CLOSE)
  if (from < 0) return {}
  if (end < from) throw fault(path, 'its <directive> is never closed')
  const slice = body.slice(from, end)
  if (/<!(?:DOCTYPE|ENTITY)/i.test(body.slice(0, end))) throw fault(path, 'a DOCTYPE is not allowed')
  const [, tag = ''] = /^<directive((?:[^>"']|"[^"]*"|'[^']*')*)>/.exec(slice) ?? []
  const found = new Map<string, string>()
  for (const [, name = '', double, single] of tag.matchAll(/([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)) {
    if (found.has(name)) throw fault(path, `the attribute "${name}" is there twice`)
    found.set(name, unescape(double ?? single ?? ''))
  }
  for (const name of ['description', 'category']) {
    const text = textIn(slice, name)
    if (text !== undefined) found.set(name, text)
  }
  return Object.fromEntries(found)
}

function textIn(slice: string, name: string): string | undefined {
  const open = `<${name}>`
  const from = slice.indexOf(open)
  const end = slice.indexOf(`</${name}>`, from)
  if (from < 0 || end < 0) return undefined
  const text = slice.slice(from + open.length, end).replace(/^\s*<!\[CDATA\[([^]*?)\]\]>\s*$/, '$1')
  return unescape(text).replaceAll(/\s+/g, ' ').trim()
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

function unescape(text: string): string {
  return text.replaceAll(/&(lt|gt|amp|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '')
}

function fault(path: string, reason: string): KiwiError {
  return new KiwiError('PARSE_ERROR', `Cannot read "${path}": ${reason}`)
}
