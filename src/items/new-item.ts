import { z } from 'zod'
import type { NewItem } from '../kernel/call.ts'
import { KiwiError } from '../shared/errors.ts'
import { IN_WORDS, fieldFaults } from '../shared/field-faults.ts'
import type { JsonObject } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import { parseDocument } from '../spaces/parse-document.ts'
import { shebangOf } from '../spaces/source/languages.ts'
import { textFile } from '../spaces/written-item.ts'
import type { Kind } from './actions.ts'
import type { Described, Named } from './described.ts'
import { completed } from './described.ts'
import { File, TextOrKeys, toFile } from './files.ts'
import { newDocument } from './new-document.ts'
import { readNewId } from './new-id.ts'
import { languageOf, newScript } from './new-script.ts'

/** What `create` takes: a manifest by itself, or its parts beside each other, and files by path. */
const CreateParameters = z.looseObject({
  content: TextOrKeys.optional(),
  manifest: TextOrKeys.optional(),
  files: z.record(z.string(), File).default({}),
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
  const { files, location, content, manifest } = readParameters(itemId, given)
  const { content: _c, manifest: _m, files: _f, location: _l, ...beside } = given
  const carried = Object.entries(files).map(([path, file]) => toFile(path, file))
  const { id, category } = readNewId(itemId)
  const item = await newItem({ kind, id, content, manifest, beside, files: carried })
  return { item: { ...item, category, itemType: kind === 'thread' ? 'tool' : kind }, location }
}

async function newItem(described: Described): Promise<Named> {
  const { kind, content, manifest } = described
  const written = typeof content === 'string' ? await fromText(described, content) : null
  if (written !== null) return written
  if (content !== undefined && manifest !== undefined) throw bothGiven(described.id)
  const source = manifest ?? content
  if (source === undefined && Object.keys(described.beside).length === 0)
    throw missing(described.id, 'manifest', '"manifest" or "content" is missing')
  const { raw, text } = await completed(described, source ?? {})
  const id = textOf(raw['tool_id'] ?? '')
  if (id === '') throw missing(described.id, 'tool_id', '"tool_id" is missing')
  if (kind === 'knowledge' || raw['tool_type'] === 'knowledge') return newDocument(described, null, raw)
  return asManifest(id, text, described.files)
}

function asManifest(id: string, text: string, files: Described['files']): Named {
  if (files.length > 0 || id.toLowerCase() === 'tool') {
    return { id, written: { place: 'tools', kind: 'folder', manifest: textFile('tool.yaml', text), files } }
  }
  return { id, written: { place: 'tools', kind: 'manifest', manifest: textFile(`${id}.yaml`, text), files } }
}

/** A document or a source; null for the text of a manifest. */
async function fromText(described: Described, content: string): Promise<Named | null> {
  if (await isManifest(content)) return null
  const { kind } = described
  if (kind === 'knowledge' || kind === 'directive') return newDocument(described, content)
  const language = kind === 'tool' ? languageOf(content, described) : null
  if (language !== null) return newScript(described, content, language)
  if (kind === 'tool' && isSource(described, content)) throw noLanguage(described.id, content)
  return null
}

/** It does not begin as a manifest does, whole or broken: with a key, a brace or a mark of YAML. */
function isSource({ beside: { tool_type = 'script' } }: Described, text: string): boolean {
  if (tool_type !== 'script') return false
  const first = text.split('\n').find((line) => !/^\uFEFF?\s*(?:#(?!!)|$)/.test(line)) ?? ''
  return first !== '' && !/^\uFEFF?\s*(?:\{|---|(["']?)[\w-]+\1\s*:(?:\s|$))/.test(first)
}

function noLanguage(itemId: string | undefined, content: string): KiwiError {
  const command = shebangOf(content)
  const reason =
    command === null
      ? 'which language? give tool_type python, bash or node, or begin with a shebang'
      : `no runtime of Kiwi runs "${command}", which its first line names: give the executor that does`
  return new KiwiError('INVALID_PARAMETERS', `Cannot create "${itemId ?? 'item'}": "content": ${reason}`, {
    hint:
      command === null
        ? 'Send it again with parameters.tool_type, such as python'
        : 'Send it again with parameters.executor, the id of a runtime',
    details: { missing: [], invalid: [{ name: 'content', reason }] },
  })
}

/** A mapping with a key that only manifests have, in YAML or JSON. */
async function isManifest(text: string): Promise<boolean> {
  if (text.startsWith('#!')) return false
  const keys = await parseDocument(text, 'content').catch(() => null)
  return keys !== null && TELLING.some((key) => keys[key] !== undefined)
}

const TELLING = [
  'tool_id',
  'tool_type',
  'executor',
  'executor_id',
  'config',
  'executor_config',
  'description',
]

function readParameters(itemId: string | undefined, given: JsonObject): z.infer<typeof CreateParameters> {
  const parsed = CreateParameters.safeParse(given, IN_WORDS)
  if (parsed.success) return parsed.data
  const invalid = fieldFaults(parsed.error.issues)
  const faults = invalid.map(({ name, reason }) => `"${name}" ${reason}`).join('; ')
  throw new KiwiError('INVALID_PARAMETERS', `Cannot create "${itemId ?? 'item'}": ${faults}`, {
    details: { missing: [], invalid },
  })
}

function missing(itemId: string | undefined, name: string, reason: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot create "${itemId ?? 'item'}": ${reason}`, {
    hint:
      name === 'tool_id'
        ? 'Give item_id in the call, or tool_id in the manifest'
        : 'Give parameters.manifest (a mapping or YAML), or parameters.content (a source or document)',
    details: { missing: [name], invalid: [] },
  })
}

function bothGiven(itemId: string | undefined): KiwiError {
  return new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot create "${itemId ?? 'item'}": "content" and "manifest" are both given`,
    {
      hint: 'Give the manifest under one of them, and files under "files"',
      details: { missing: [], invalid: [{ name: 'content', reason: 'not together with manifest' }] },
    },
  )
}
