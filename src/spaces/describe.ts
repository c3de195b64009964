import { serverOf } from '../shared/groups.ts'
import { LIMITS } from '../shared/limits.ts'
import { textOf } from '../shared/template.ts'
import type { ToolType } from '../shared/tool-type.ts'
import type { IndexEntry, ItemFile, NewVersion, SearchText } from '../store/store.ts'
import type { Item } from './item.ts'
import { entrypointOf } from './item.ts'
import type { Manifest } from './manifest.ts'
import { inputSchema } from './input-schema.ts'
import { beginningOf } from './read-file.ts'
import type { Entry } from './scan.ts'

/** An item as the search index takes it. */
export async function toIndexEntry(item: Item, path: string, stamp: string): Promise<IndexEntry> {
  const { manifest } = item
  // What a server writes of its tools is found by a word however often it says it.
  const told = (text: string): string => (item.space === 'mcp' ? wordsOnce(text) : text)
  const text = searchText(item, isText(manifest) ? await item.files() : [])
  return {
    path,
    stamp,
    item_id: item.id,
    tool_type: manifest.tool_type,
    name: nameOf(manifest),
    description: told(manifest.description),
    category: manifest.category,
    tags: tagsOf(manifest),
    version: manifest.version,
    updated_at: item.updatedAt,
    search_text: { ...text, parameters: told(text.parameters) },
    server: serverOf(manifest.tool_type, item.id, manifest.executor),
  }
}

function wordsOnce(text: string): string {
  const seen = new Map<string, string>()
  for (const [word] of text.matchAll(/[\p{L}\p{N}_-]+/gu)) {
    const key = word.toLowerCase()
    if (!seen.has(key)) seen.set(key, word)
  }
  return [...seen.values()].join(' ')
}

const TYPES: Readonly<Record<Entry['place'], ToolType>> = {
  tools: 'script',
  directives: 'directive',
  knowledge: 'knowledge',
}

/** A file that cannot be read as it is, so that whoever looks for it finds out what is wrong with it. */
export function toRepair(
  { path, stem, category, place, modified }: Entry,
  reason: string,
  stamp: string,
): IndexEntry {
  return {
    path,
    stamp,
    item_id: stem,
    tool_type: TYPES[place],
    name: stem,
    description: `needs repair: ${reason}`,
    category,
    tags: [],
    version: '0.0.0',
    updated_at: new Date(modified).toISOString(),
    search_text: { parameters: '', body: beginningOf(path, LIMITS.itemBytes) },
    server: null,
  }
}

/** An item as the registry takes it. */
export async function toNewVersion(item: Item, changelog: string | null): Promise<NewVersion> {
  const { manifest } = item
  const files = await item.files()
  return {
    tool_id: item.id,
    tool_type: manifest.tool_type,
    executor_id: manifest.executor,
    version: manifest.version,
    name: nameOf(manifest),
    description: manifest.description,
    category: manifest.category,
    tags: tagsOf(manifest),
    manifest: item.raw,
    manifest_yaml: item.text,
    content_hash: item.contentHash,
    changelog,
    files,
    entrypoint: entrypointOf(manifest, item.filePaths),
    search_text: searchText(item, isText(manifest) ? files : []),
  }
}

export function nameOf(manifest: Manifest): string {
  return typeof manifest['name'] === 'string' ? manifest['name'] : manifest.tool_id
}

/** A script is also found by its language: `python_runtime` tags it `python`. */
function tagsOf({ tags, tool_type, executor }: Manifest): readonly string[] {
  const [, language] = /^(\w+)_runtime$/.exec(executor ?? '') ?? []
  return tool_type === 'script' && language !== undefined && !tags.includes(language)
    ? [...tags, language]
    : tags
}

function isText({ tool_type }: Manifest): boolean {
  return tool_type === 'knowledge' || tool_type === 'directive'
}

/** What is written for readers: the text of a document, and of a script what its author says about it. */
function searchText({ manifest, raw }: Item, files: readonly ItemFile[]): SearchText {
  const { properties } = inputSchema(manifest)
  const parameters = typeof properties === 'object' && properties !== null ? Object.entries(properties) : []
  const content = files.find(({ path }) => path === raw['_file']) ?? files[0]
  return {
    parameters: parameters.map(([name, schema]) => `${name} ${describe(schema)}`).join('\n'),
    body:
      content === undefined
        ? textOf(raw['_documentation'])
        : Buffer.from(content.content).toString('utf8').slice(0, LIMITS.itemBytes),
  }
}

/** What its author says of a parameter, and the words that it takes: people ask for these. */
function describe(schema: unknown): string {
  if (typeof schema !== 'object' || schema === null) return ''
  const said = 'description' in schema ? [String(schema.description)] : []
  return [
    ...said,
    ...wordsIn('enum' in schema ? schema.enum : []),
    ...wordsIn('examples' in schema ? schema.examples : []),
  ].join(' ')
}

/** Values that a parameter is found by; a list of all countries would be found by any. */
const MOST_VALUES = 20
const LONGEST_VALUE = 40

function wordsIn(values: unknown): readonly string[] {
  if (!Array.isArray(values)) return []
  const words = values.filter((value) => typeof value === 'string' && value.length <= LONGEST_VALUE)
  return words.length > MOST_VALUES ? [] : words.map(String)
}
