import { LIMITS } from '../shared/limits.ts'
import type { IndexEntry, ItemFile, NewVersion, SearchText } from '../store/store.ts'
import type { Item } from './item.ts'
import { entrypointOf } from './item.ts'
import type { Manifest } from './manifest.ts'
import { inputSchema } from './input-schema.ts'

/** An item as the search index takes it. */
export async function toIndexEntry(item: Item, path: string, stamp: string): Promise<IndexEntry> {
  const { manifest } = item
  return {
    path,
    stamp,
    item_id: item.id,
    tool_type: manifest.tool_type,
    name: nameOf(manifest),
    description: manifest.description,
    category: manifest.category,
    tags: tagsOf(manifest),
    version: manifest.version,
    updated_at: item.updatedAt,
    search_text: searchText(manifest, manifest.tool_type === 'knowledge' ? await item.files() : []),
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
    search_text: searchText(manifest, manifest.tool_type === 'knowledge' ? files : []),
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

function searchText(manifest: Manifest, files: readonly ItemFile[]): SearchText {
  const { properties } = inputSchema(manifest)
  const parameters = typeof properties === 'object' && properties !== null ? Object.entries(properties) : []
  const [content] = files
  return {
    parameters: parameters.map(([name, schema]) => `${name} ${describe(schema)}`).join('\n'),
    body:
      content === undefined ? '' : Buffer.from(content.content).toString('utf8').slice(0, LIMITS.itemBytes),
  }
}

function describe(schema: unknown): string {
  return typeof schema === 'object' && schema !== null && 'description' in schema
    ? String(schema.description)
    : ''
}
