import type { Catalog, CatalogTool } from '../catalog.ts'
import {
  BareListing,
  ListingRow,
  NamesRow,
  RevisionRow,
  UNREADABLE,
  listingDigest,
  readTool,
} from './catalog-rows.ts'
import { createCatalogWriter } from './catalog-writer.ts'
import type { Connection } from './connection.ts'
import type { Generation } from './generation.ts'
import { readRow } from './rows.ts'

export function createCatalog(connection: Connection, generation: Generation): Catalog {
  const selectListing = connection.prepare('SELECT * FROM listings WHERE key = ?')
  const selectNames = connection.prepare(
    "SELECT json_group_array(name) AS names FROM listed_tools WHERE key = ? AND state <> 'missing'",
  )
  const selectRevision = connection.prepare('SELECT digest FROM listings WHERE key = ?')
  const selectTools = connection.prepare('SELECT * FROM listed_tools WHERE key = ? ORDER BY position')
  const selectTool = connection.prepare('SELECT * FROM listed_tools WHERE key = ? AND name = ?')
  const { digestsOf, ...writing } = createCatalogWriter(connection, generation)

  /** What was not written by us is as good as not there, and the upstream is asked again. */
  const believed = async (key: string, rows: readonly unknown[]): Promise<readonly CatalogTool[]> => {
    const tools = rows.flatMap((row) => readTool(row) ?? [])
    if (tools.length < rows.length) await writing.expire(key)
    return tools
  }

  return {
    ...writing,
    listing: (key) =>
      connection.read(() => {
        const row = selectListing.get(key)
        if (row === undefined) return null
        const bare = BareListing.safeParse(row)
        const isOurs = bare.success && bare.data.digest === listingDigest(bare.data, digestsOf(key))
        // Never as if it had not been listed: then whatever it lists next would be let pass.
        return isOurs ? readRow(ListingRow, row) : { ...UNREADABLE, key }
      }),
    async names(key) {
      return readRow(NamesRow, await connection.read(() => selectNames.get(key))).names
    },
    async revision(key) {
      const row = await connection.read(() => selectRevision.get(key))
      return row === undefined ? null : readRow(RevisionRow, row).digest
    },
    async tools(key) {
      return believed(key, await connection.read(() => selectTools.all(key)))
    },
    async tool(key, name) {
      const row = await connection.read(() => selectTool.get(key, name))
      const [tool] = row === undefined ? [] : await believed(key, [row])
      return tool ?? null
    },
  }
}
