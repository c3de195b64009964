import { KiwiError } from '../../shared/errors.ts'
import { sha256 } from '../../shared/json.ts'
import type { Catalog, CatalogTool } from '../catalog.ts'
import {
  BareListing,
  DigestsRow,
  PositionRow,
  RevisionRow,
  listingDigest,
  readTool,
  toolFields,
} from './catalog-rows.ts'
import type { Connection } from './connection.ts'
import type { Generation } from './generation.ts'
import { readRow } from './rows.ts'

/** What changes the catalog; and the digests of the tools of a listing, which what is read is held against. */
export function createCatalogWriter(
  connection: Connection,
  generation: Generation,
): Pick<Catalog, 'put' | 'approve' | 'expire'> & { readonly digestsOf: (key: string) => string } {
  const selectListing = connection.prepare('SELECT * FROM listings WHERE key = ?')
  const selectTool = connection.prepare('SELECT * FROM listed_tools WHERE key = ? AND name = ?')
  const selectDigests = connection.prepare(
    "SELECT group_concat(digest, '') AS digests FROM (SELECT digest FROM listed_tools WHERE key = ? ORDER BY position)",
  )
  const putListing = connection.prepare(
    'INSERT OR REPLACE INTO listings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const dropTools = connection.prepare('DELETE FROM listed_tools WHERE key = ?')
  const putTool = connection.prepare(
    'INSERT OR REPLACE INTO listed_tools VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const dropFound = connection.prepare(
    "DELETE FROM search_items WHERE space = 'mcp' AND root >= ?1 AND root < ?1 || 'g'",
  )
  const expireListing = connection.prepare(
    'UPDATE listings SET listed_at = 0 WHERE key = ? AND listed_at > 0 RETURNING key',
  )

  const digestsOf = (key: string): string => readRow(DigestsRow, selectDigests.get(key)).digests ?? ''
  const writeTool = (key: string, tool: CatalogTool, position: number): void => {
    const fields = toolFields(tool, position)
    putTool.run(key, ...fields, sha256(JSON.stringify([key, ...fields])))
  }
  const writeListing = (listing: Omit<BareListing, 'digest'>): void => {
    const { key, listed_at, server, hash, era, protocol, capabilities, server_info, instructions } = listing
    const digest = listingDigest(listing, digestsOf(key))
    const before = selectListing.get(key)
    // What is no longer so is not found any more; what is new is put there by whoever searches next.
    if (before === undefined || readRow(RevisionRow, before).digest !== digest) dropFound.run(key)
    const said = [capabilities, server_info, instructions]
    putListing.run(key, server, listed_at, hash, era, protocol, ...said, digest)
  }

  return {
    digestsOf,
    put: (listing, tools) =>
      connection.write(() => {
        dropTools.run(listing.key)
        for (const [position, tool] of tools.entries()) writeTool(listing.key, tool, position)
        const { capabilities, server_info } = listing
        writeListing({
          ...listing,
          capabilities: JSON.stringify(capabilities),
          server_info: JSON.stringify(server_info),
        })
        generation.grow()
      }),
    approve: (key, seen) =>
      connection.write(() => {
        const stored = BareListing.safeParse(selectListing.get(key))
        for (const { name, pin } of seen) {
          const row = selectTool.get(key, name)
          const tool = row === undefined ? null : readTool(row)
          if (tool === null || tool.pin !== pin) throw changedMeanwhile(name)
          const passed = { ...tool, state: 'usable', reason: null, approved: tool.raw } as const
          writeTool(key, passed, readRow(PositionRow, row).position)
        }
        if (!stored.success) throw changedMeanwhile(seen.map(({ name }) => name).join(', '))
        writeListing(stored.data)
        generation.grow()
      }, 'full'),
    expire: (key) =>
      connection.write(() => {
        if (expireListing.all(key).length > 0) generation.grow()
      }),
  }
}

function changedMeanwhile(name: string): KiwiError {
  return new KiwiError('CONFLICT', `Cannot trust "${name}": its definition has changed meanwhile`, {
    hint: 'Look at it again, and trust what is there now',
  })
}
