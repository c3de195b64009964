import { z } from 'zod'
import type { NewItem } from '../kernel/call.ts'
import { KiwiError } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import type { JsonObject } from '../shared/json.ts'
import { canonicalJson, isObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { BODY } from '../spaces/item.ts'
import { parseDocument } from '../spaces/parse-document.ts'
import type { ItemFile } from '../store/store.ts'
import type { Kind } from './actions.ts'

const File = z.union([
  z.string(),
  z.strictObject({
    content: z.string(),
    encoding: z.enum(['utf8', 'base64']).default('utf8'),
    executable: z.boolean().optional(),
  }),
])

/** What `create` takes: a manifest by itself, or its parts beside each other, and files by path. */
const CreateParameters = z.looseObject({
  content: z.union([z.string(), z.record(z.string(), z.json())]).optional(),
  manifest: z.union([z.string(), z.record(z.string(), z.json())]).optional(),
  files: z.record(z.string(), File).optional(),
  location: z.enum(['project', 'user', 'registry']).default('project'),
})

interface Created {
  readonly item: NewItem
  readonly location: 'project' | 'user' | 'registry'
}

/** Reads every form in which an item is described; what it says is checked where it is made. */
export async function readNewItem(
  kind: Kind,
  itemId: string | undefined,
  given: JsonObject,
): Promise<Created> {
  const { files = {}, location, ...written } = readParameters(itemId, given)
  const { content: _c, manifest: _m, files: _f, location: _l, ...beside } = given
  const { source, body } = partsOf(kind, itemId, written, beside)
  const declared =
    typeof source === 'string' ? await parseDocument(source, `manifest of ${itemId ?? 'item'}`) : source
  const raw = complete({ ...declared, ...beside }, kind, itemId)
  const carried = Object.entries(files).map(([path, file]) => toFile(path, file))
  const isVerbatim = typeof source === 'string' && canonicalJson(raw) === canonicalJson(declared)
  return {
    item: {
      raw,
      // A document is written anew from its front matter and its body; anything else as it was given.
      text: isVerbatim && raw['tool_type'] !== 'knowledge' ? source : null,
      files: body === null ? carried : [...carried, toFile(BODY, body)],
    },
    location,
  }
}

function readParameters(itemId: string | undefined, given: JsonObject): z.infer<typeof CreateParameters> {
  const parsed = CreateParameters.safeParse(given, IN_WORDS)
  if (parsed.success) return parsed.data
  const invalid = fieldFaults(parsed.error.issues)
  const faults = invalid.map(({ name, reason }) => `"${name}" ${reason}`).join('; ')
  throw new KiwiError('INVALID_PARAMETERS', `Cannot create "${itemId ?? 'item'}": ${faults}`, {
    details: { missing: [], invalid },
  })
}

/** `content` is the text of a document, or another word for the manifest. */
function partsOf(
  kind: Kind,
  itemId: string | undefined,
  { content, manifest }: Pick<z.infer<typeof CreateParameters>, 'content' | 'manifest'>,
  beside: JsonObject,
): { readonly source: string | JsonObject; readonly body: string | null } {
  const isDescribed = manifest !== undefined || Object.keys(beside).length > 0
  const isDocument = kind === 'knowledge' || (kind === 'directive' && isDescribed)
  if (isDocument && typeof content === 'string') return { source: manifest ?? {}, body: content }
  if (content === undefined || manifest === undefined)
    return { source: manifest ?? content ?? {}, body: null }
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot create "${itemId ?? 'item'}": "content" and "manifest" are both given`,
    {
      hint: 'Give the manifest under one of them, and files under "files"',
      details: { missing: [], invalid: [{ name: 'content', reason: 'not together with manifest' }] },
    },
  )
}

/** What a type of item is in the tables; a tool says it itself. */
const IMPLIED: Readonly<Partial<Record<Kind, string>>> = {
  directive: 'directive',
  knowledge: 'knowledge',
  mcp: 'mcp_server',
  thread: 'thread',
}

/** The id of the call is the id of the item, and what is new starts at 1.0.0. */
function complete(raw: JsonObject, kind: Kind, itemId: string | undefined): JsonObject {
  const { tool_id, id, name, tool_type, version = '1.0.0', ...rest } = raw
  const declared = tool_id ?? id ?? (itemId === undefined ? name : undefined)
  const type = tool_type ?? IMPLIED[kind]
  const wanted = itemId ?? declared ?? null
  if (wanted !== (declared ?? wanted))
    throw mismatch(textOf(wanted), 'tool_id', `its manifest says "${textOf(declared)}"`)
  if (type !== (IMPLIED[kind] ?? type)) {
    throw mismatch(textOf(wanted), 'tool_type', `a ${kind} is not of type "${textOf(type)}"`)
  }
  return {
    tool_id: wanted,
    ...(type === undefined ? {} : { tool_type: type }),
    version,
    ...(name === undefined || name === declared ? {} : { name }),
    ...rest,
  }
}

function mismatch(itemId: string, name: string, reason: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot create "${itemId}": ${reason}`, {
    hint: 'Say the same in the call and in the manifest',
    details: { missing: [], invalid: [{ name, reason }] },
  })
}

function toFile(path: string, file: z.infer<typeof File>): ItemFile {
  const { content, encoding, executable } = isObject(file)
    ? file
    : { content: file, encoding: 'utf8' as const, executable: undefined }
  return {
    path,
    content: decode(path, content, encoding),
    isExecutable: executable ?? content.startsWith('#!'),
  }
}

/** Node drops what is no base64 without a word, and the file would be another. */
function decode(path: string, content: string, encoding: 'utf8' | 'base64'): Buffer {
  const bytes = Buffer.from(content, encoding)
  if (encoding === 'utf8' || bytes.toString('base64') === content.replaceAll(/\s/g, '')) return bytes
  throw new KiwiError('INVALID_PARAMETERS', `Cannot read the file "${path}": its content is not base64`, {
    details: { missing: [], invalid: [{ name: `files.${path}`, reason: 'not base64' }] },
  })
}
