import type { JsonObject } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import type { Item } from '../spaces/item.ts'
import { contentHash } from '../spaces/item.ts'
import type { Manifest } from '../spaces/manifest.ts'
import type { ItemFile, SpaceName } from '../store/store.ts'

/** An item that is in no space yet, in the shape of one that is. */
export function unplacedItem(
  {
    raw,
    manifest,
    text,
    files,
  }: { raw: JsonObject; manifest: Manifest; text: string; files: readonly ItemFile[] },
  space: SpaceName,
): Item {
  return {
    id: manifest.tool_id,
    space,
    form: manifest.tool_type === 'knowledge' ? 'document' : files.length > 0 ? 'folder' : 'manifest',
    path: null,
    manifest,
    raw,
    text,
    contentHash: contentHash(raw, files),
    warnings: [],
    isReserved: false,
    updatedAt: new Date(0).toISOString(),
    filePaths: files.map(({ path }) => path),
    files: async () => files,
  }
}

/** A piece of knowledge as a markdown file: its manifest as front matter, its content below. */
export async function documentText(raw: JsonObject, content: string): Promise<string> {
  const { stringify } = await import('yaml')
  const { tool_id, tool_type: _type, executor: _executor, name, config, ...rest } = raw
  const settings = isJsonObject(config) ? config : {}
  return `---\n${stringify({ id: tool_id, title: name ?? tool_id, ...settings, ...rest })}---\n${content}`
}
