import { z } from 'zod'
import { LIMITS } from '../../shared/limits.ts'
import { pairsOf } from '../../shared/pairs.ts'
import { serverOf } from '../../shared/groups.ts'
import { itemTypeOf } from '../../shared/tool-type.ts'
import type { IndexEntry, NewVersion, SpaceName } from '../store.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'

/** The rows search reads. Each is written in the transaction of what it shows. */
export interface SearchRows {
  put(place: SearchPlace, entry: IndexEntry): void
  putVersion(version: NewVersion, space: 'builtin' | 'registry', updatedAt: string): void
  drop(place: SearchPlace, path: string): void
  dropTool(toolId: string): void
}

/** A space, and the folder or upstream of it; the registry has none. */
interface SearchPlace {
  readonly space: SpaceName
  readonly root: string
}

export function createSearchRows(connection: Connection): SearchRows {
  const putItem = connection.prepare(
    `INSERT INTO search_items (space, root, path, stamp, item_id, item_type, tool_type, name, category, tags,
       version, updated_at, server)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (space, root, path) DO UPDATE SET stamp = excluded.stamp, item_id = excluded.item_id,
       item_type = excluded.item_type, tool_type = excluded.tool_type, name = excluded.name,
       category = excluded.category, tags = excluded.tags,
       version = excluded.version, updated_at = excluded.updated_at, server = excluded.server
     RETURNING id`,
  )
  const putText = connection.prepare(
    `INSERT OR REPLACE INTO search_text (rowid, name, description, category, tags, parameters, body)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  // What it is about is worked out when it is first searched for.
  const putVector = connection.prepare(
    "INSERT OR REPLACE INTO search_vectors (row_id, vector) VALUES (?, x'')",
  )
  const dropItem = connection.prepare('DELETE FROM search_items WHERE space = ? AND root = ? AND path = ?')

  const put = (place: SearchPlace, entry: IndexEntry): void => {
    const { item_id, tool_type, name, category, tags, search_text } = entry
    const description = cut(entry.description, LIMITS.descriptionBytes)
    const { id } = readRow(
      IdRow,
      putItem.get(
        place.space,
        place.root,
        entry.path,
        entry.stamp,
        item_id,
        itemTypeOf(tool_type),
        tool_type,
        name,
        category,
        JSON.stringify(tags),
        entry.version,
        entry.updated_at,
        entry.server,
      ),
    )
    putText.run(
      id,
      withPairs(splitWords(name === item_id ? name : `${name} ${item_id}`)),
      description,
      category ?? '',
      withPairs(tags.join(' ')),
      withPairs(splitWords(search_text.parameters)),
      // A description is shown as it stands here, so its pairs stand elsewhere.
      [withPairs(search_text.body), ...pairsOf(description)].join(' '),
    )
    putVector.run(id)
  }
  return {
    put,
    putVersion: (version, space, updatedAt) =>
      put(
        { space, root: '' },
        {
          ...version,
          path: version.tool_id,
          item_id: version.tool_id,
          stamp: '',
          updated_at: updatedAt,
          server: serverOf(version.tool_type, version.tool_id, version.executor_id),
        },
      ),
    drop: ({ space, root }, path) => void dropItem.run(space, root, path),
    dropTool(toolId) {
      dropItem.run('builtin', '', toolId)
      dropItem.run('registry', '', toolId)
    },
  }
}

const IdRow = z.object({ id: z.number() })

/** `listOpenIssues` is found as it stands and by its parts. The tokenizer itself splits at `_`, `-` and `.`. */
export function splitWords(text: string): string {
  return text.replace(/[A-Za-z0-9]+/g, (word) => {
    const parts = word.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    return parts === word ? word : `${word} ${parts}`
  })
}

function withPairs(text: string): string {
  const pairs = pairsOf(text)
  return pairs.length === 0 ? text : `${text} ${pairs.join(' ')}`
}

/** At most so many bytes, never half a character. */
function cut(text: string, bytes: number): string {
  const encoded = new TextEncoder().encode(text)
  if (encoded.byteLength <= bytes) return text
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(encoded.subarray(0, bytes), { stream: true })
}
