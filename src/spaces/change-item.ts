import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { ItemFile } from '../store/store.ts'
import { editDocument, hasFrontMatter, withBody } from './edit-document.ts'
import { editManifest } from './edit-manifest.ts'
import type { Item } from './item.ts'
import { BODY } from './item.ts'
import { parseDocument } from './parse-document.ts'
import type { HeaderFields } from './script-header.ts'
import { HEADER_FIELDS, hasHeader, setHeader } from './script-header.ts'
import { setVersion } from './set-version.ts'
import { stripSignatures } from './signature-line.ts'
import type { WrittenItem } from './written-item.ts'
import { textIn } from './written-item.ts'

/** What is to become different about an item. */
export interface Change {
  /** Keys that take the place of those of the manifest (null: none), or the whole manifest as text. */
  readonly manifest?: string | JsonObject | undefined
  /** The whole source or document; of a document with front matter the text below it will do. */
  readonly content?: string | undefined
  /** By path; null takes a file out. */
  readonly files?: ReadonlyMap<string, ItemFile | null> | undefined
}

/** The bytes of an item after a change. Signatures are gone from them: they were for what it was. */
export async function changeWritten(
  { id, raw }: Item,
  written: WrittenItem,
  change: Change,
): Promise<WrittenItem> {
  const { manifest, content, files } = ownFileApart(written, change)
  let text = bareText(written.manifest)
  if (typeof content === 'string') text = replaced(written, text, content, raw)
  if (typeof manifest === 'string') {
    if (content !== undefined || !isManifest(written)) throw noSuchPart(id, written, 'manifest')
    text = await withIdentity(manifest, raw, written.manifest.path)
  }
  if (isObject(manifest)) text = await editKeys(id, written, text, manifest)
  const changed = withText(written, text)
  return files.size === 0 ? changed : withFiles(id, changed, files)
}

/** What a manifest leaves out of what an item is called stays so, as when it was made from it. */
async function withIdentity(text: string, raw: JsonObject, path: string): Promise<string> {
  const said = /\.toml$/i.test(path) ? null : await parseDocument(text, path).catch(() => null)
  // What is wrong with it is said with all its faults, later.
  if (said === null) return text
  const left = IDENTITY.filter(([key, ...others]) =>
    [key, ...others].every((spelling) => said[spelling] === undefined),
  )
  const kept = left.flatMap(([key]) => (raw[key] === undefined ? [] : [[key, raw[key]] as const]))
  return kept.length === 0 ? text : editManifest(text, Object.fromEntries(kept), path)
}

const IDENTITY = [['tool_id', 'id', 'name'], ['tool_type'], ['version']] as const

/** Another source or document in the place of one. What a header said and the new one leaves out is still so. */
function replaced({ kind, manifest }: WrittenItem, text: string, content: string, raw: JsonObject): string {
  if (kind === 'document') return withBody(text, content)
  if (kind !== 'script') return content
  const { path } = manifest
  const kept = HEADER_FIELDS.filter(
    (field) => hasHeader(path, text, field) && !hasHeader(path, content, field),
  )
  return (
    setHeader(path, content, Object.fromEntries(kept.map((field) => [field, textOf(raw[field])]))) ?? content
  )
}

/** The same item under another version. */
export async function withVersion(written: WrittenItem, version: string): Promise<WrittenItem> {
  const text = bareText(written.manifest)
  return withText(written, await setVersion(written.manifest.path, text, version))
}

/** Whether two items are the same to the byte, but for their signatures. */
export function isSameWritten(one: WrittenItem, other: WrittenItem): boolean {
  const [left, right] = [one, other].map(({ manifest, files }) => [
    { ...manifest, content: Buffer.from(bareText(manifest)) },
    ...files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
  ])
  if (left === undefined || right === undefined || left.length !== right.length) return false
  return left.every((file, at) => {
    const twin = right[at]
    return (
      twin?.path === file.path &&
      twin.isExecutable === file.isExecutable &&
      Buffer.compare(twin.content, file.content) === 0
    )
  })
}

function bareText(manifest: ItemFile): string {
  return stripSignatures(textIn(manifest), manifest.path)
}

function withText(written: WrittenItem, text: string): WrittenItem {
  return { ...written, manifest: { ...written.manifest, content: Buffer.from(text) } }
}

function isManifest({ kind, manifest }: WrittenItem): boolean {
  return kind === 'manifest' || (kind === 'folder' && manifest.path !== 'SKILL.md')
}

/** The file an item is read from may also be given among the files, under the name that `load` shows for it. */
function ownFileApart(
  { kind, place, manifest: own }: WrittenItem,
  { manifest, content, files = new Map() }: Change,
): Change & { readonly files: ReadonlyMap<string, ItemFile | null> } {
  const name = kind === 'document' ? (place === 'knowledge' ? BODY : 'directive.md') : own.path
  const given = isManifest({ kind, place, manifest: own, files: [] }) ? undefined : files.get(name)
  if (given === undefined || given === null || content !== undefined) return { manifest, content, files }
  return { manifest, content: textIn(given), files: new Map([...files].filter(([path]) => path !== name)) }
}

async function editKeys(id: string, written: WrittenItem, text: string, keys: JsonObject): Promise<string> {
  const { kind, manifest } = written
  if (kind === 'script') {
    const fields = headerFields(keys)
    const edited = fields === null ? null : setHeader(manifest.path, text, fields)
    if (edited === null) throw noSuchPart(id, written, 'manifest')
    return edited
  }
  if (isManifest(written)) {
    if (/\.toml$/i.test(manifest.path)) throw noSuchPart(id, written, 'manifest')
    return editManifest(text, keys, manifest.path)
  }
  if (!hasFrontMatter(text) && /<directive\b/.test(text)) throw noSuchPart(id, written, 'manifest')
  return editDocument(text, keys)
}

/** Null when the header of a source has no place for one of the keys. */
function headerFields(keys: JsonObject): HeaderFields | null {
  const isKnown = Object.entries(keys).every(
    ([key, value]) => HEADER_FIELDS.some((field) => field === key) && typeof value === 'string',
  )
  return isKnown ? Object.fromEntries(Object.entries(keys).map(([key, value]) => [key, textOf(value)])) : null
}

function withFiles(
  id: string,
  written: WrittenItem,
  files: ReadonlyMap<string, ItemFile | null>,
): WrittenItem {
  if (written.kind !== 'folder') throw noSuchPart(id, written, 'files')
  const merged = new Map(written.files.map((file) => [file.path, file]))
  for (const [path, file] of files) {
    if (file !== null) merged.set(path, file)
    else if (!merged.delete(path)) {
      throw wrong(id, `it has no file "${path}"`, 'files', 'Load it to see which files it has')
    }
  }
  return { ...written, files: [...merged.values()] }
}

function noSuchPart(id: string, { kind, manifest }: WrittenItem, part: 'manifest' | 'files'): KiwiError {
  if (part === 'files') {
    const hint = 'Delete it and create it again with a manifest and files, or change what it is made of'
    return wrong(id, `it is the single file "${manifest.path}" and carries no others`, part, hint)
  }
  const what = kind === 'script' ? 'source' : 'document'
  const isToml = /\.toml$/i.test(manifest.path)
  const hint = isToml ? 'Give the whole manifest as text' : `Give the whole ${what} as "content"`
  return wrong(id, `what it says of itself stands in its ${isToml ? 'TOML' : what}`, part, hint)
}

function wrong(id: string, reason: string, name: string, hint: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot update "${id}": ${reason}`, {
    hint,
    details: { missing: [], invalid: [{ name, reason }] },
  })
}
