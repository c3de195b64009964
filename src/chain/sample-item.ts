// Items that lie in no space, for tests.
import { join } from 'node:path'
import type { JsonObject } from '../shared/json.ts'
import type { Item } from '../spaces/item.ts'
import { contentHash } from '../spaces/item.ts'
import { readManifest } from '../spaces/manifest.ts'
import { readItem } from '../spaces/read-item.ts'
import { scan } from '../spaces/scan.ts'
import type { ItemFile, SpaceName } from '../store/store.ts'

export function sampleItem(
  raw: JsonObject,
  files: readonly ItemFile[] = [],
  space: SpaceName = 'project',
): Item {
  const { manifest, warnings } = readManifest(
    { version: '1.0.0', description: 'A sample', ...raw },
    {
      stem: 'sample',
      category: null,
    },
  )
  return {
    id: manifest.tool_id,
    space,
    path: null,
    manifest,
    raw,
    text: null,
    contentHash: contentHash(raw, files),
    warnings,
    isReserved: false,
    updatedAt: '2026-01-01T00:00:00.000Z',
    files: async () => files,
  }
}

export function sampleFile(path: string, text: string, isExecutable = false): ItemFile {
  return { path, content: Buffer.from(text), isExecutable }
}

export const BUILTIN = join(import.meta.dirname, '../../builtin')

/** An item as it is shipped. */
export async function shippedItem(id: string): Promise<Item> {
  const entry = [...scan(BUILTIN, new Set()).values()].find(({ stem }) => stem === id)
  if (entry === undefined) throw new TypeError(`"${id}" is not shipped`)
  return readItem(entry, 'builtin')
}
