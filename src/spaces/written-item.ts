import { extname } from 'node:path'
import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { ItemFile } from '../store/store.ts'
import { headingOf } from './front-matter.ts'
import type { Item } from './item.ts'
import { BODY } from './item.ts'
import { stripSignatures } from './signature-line.ts'

/** An item as the bytes it consists of in a file space, or would. */
export interface WrittenItem {
  readonly place: 'tools' | 'directives' | 'knowledge'
  readonly kind: 'manifest' | 'folder' | 'document' | 'script'
  /** The file it is read from, by its name in its folder. */
  readonly manifest: ItemFile
  /** What else lies in the folder of the item. */
  readonly files: readonly ItemFile[]
}

/** The file that holds the text of a directive. */
const DIRECTIVE = 'directive.md'

/** The bytes of an item that was found, or of a version: a round trip through the registry gives them back. */
export async function writtenOf(item: Item): Promise<WrittenItem> {
  const { id, raw, manifest, path } = item
  const files = await item.files()
  const own = files.find((file) => file.path === raw['_file'])
  if (own !== undefined) {
    const others = files.filter((file) => file !== own)
    return own.path === 'SKILL.md'
      ? { place: 'directives', kind: 'folder', manifest: own, files: others }
      : { place: 'tools', kind: 'script', manifest: own, files: others }
  }
  if (isDocument(item, files)) {
    const place = manifest.tool_type === 'directive' ? 'directives' : 'knowledge'
    const text = item.text ?? (await documentText(raw, bodyOf(files)))
    return { place, kind: 'document', manifest: textFile(`${id}.md`, text), files: [] }
  }
  const text = item.text ?? (await manifestText(raw))
  // One that is called `tool` would be the manifest of the folder it lies in.
  if (files.length > 0 || item.form === 'folder' || id.toLowerCase() === 'tool') {
    return { place: 'tools', kind: 'folder', manifest: textFile('tool.yaml', text), files }
  }
  const ending = path === null ? endingOf(text) : extname(path)
  return { place: 'tools', kind: 'manifest', manifest: textFile(`${id}${ending}`, text), files: [] }
}

/** From the root of a space to where an item of this id and category is written: the file or folder it will be. */
export function pathFor({ place, kind, manifest }: WrittenItem, id: string, category: string | null): string {
  const folder = category === null ? place : `${place}/${category}`
  return `${folder}/${kind === 'folder' ? id : manifest.path}`
}

export function textFile(path: string, text: string, isExecutable = false): ItemFile {
  return { path, content: Buffer.from(text), isExecutable }
}

export function textIn({ content }: ItemFile): string {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('utf8')
}

/** The file that is nothing but a part of the text of a document; null for what is no document. */
export function documentFile(item: Item, files: readonly ItemFile[]): string | null {
  if (!isDocument(item, files)) return null
  return item.manifest.tool_type === 'knowledge' ? BODY : DIRECTIVE
}

/** A document keeps its text in one of its files too: that tells it from a manifest with such a file beside it. */
function isDocument({ form, manifest, text }: Item, files: readonly ItemFile[]): boolean {
  if (form === 'document') return true
  if (form !== 'row') return false
  if (manifest.tool_type === 'knowledge')
    return text === null || (files.length === 1 && text.endsWith(bodyOf(files)))
  const [body] = files
  return (
    text !== null &&
    files.length === 1 &&
    body?.path === DIRECTIVE &&
    textIn(body) === stripSignatures(text, DIRECTIVE)
  )
}

function bodyOf(files: readonly ItemFile[]): string {
  const body = files.find(({ path }) => path === BODY)
  return body === undefined ? '' : textIn(body)
}

/** TOML assigns where YAML and JSON would have a colon or a bracket. */
function endingOf(text: string): string {
  const first = text.split('\n').find((line) => !/^\uFEFF?\s*(?:#|$)/.test(line)) ?? ''
  return /^\s*(?:\[|[\w."'-]+\s*=)/.test(first) ? '.toml' : '.yaml'
}

export async function manifestText(raw: JsonObject): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(raw)
}

/** A piece of knowledge as a markdown file: its manifest as front matter, its content below. */
export async function documentText(raw: JsonObject, content: string): Promise<string> {
  const { stringify } = await import('yaml')
  const { tool_id, tool_type: _type, executor: _executor, name, config, ...rest } = raw
  const settings = isJsonObject(config) ? config : {}
  // Without a title it is called by its heading, whatever that will be.
  const title = name ?? (headingOf(content) === undefined ? tool_id : undefined)
  return `---\n${stringify({ id: tool_id, title, ...settings, ...rest })}---\n${content}`
}
