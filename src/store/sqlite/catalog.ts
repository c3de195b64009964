import { z } from 'zod'
import { KiwiError } from '../../shared/errors.ts'
import { sha256 } from '../../shared/json.ts'
import type { Catalog, CatalogTool, Listing } from '../catalog.ts'
import type { Connection } from './connection.ts'
import type { Generation } from './generation.ts'
import { jsonObject, jsonTexts, readRow } from './rows.ts'

export function createCatalog(connection: Connection, generation: Generation): Catalog {
  const selectListing = connection.prepare('SELECT * FROM listings WHERE key = ?')
  const selectNames = connection.prepare(
    "SELECT json_group_array(name) AS names FROM listed_tools WHERE key = ? AND state <> 'missing'",
  )
  const selectRevision = connection.prepare('SELECT digest FROM listings WHERE key = ?')
  const selectTools = connection.prepare('SELECT * FROM listed_tools WHERE key = ? ORDER BY position')
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
  // What was found by is found again as it is then.
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
    dropFound.run(key)
    putListing.run(
      key,
      server,
      listed_at,
      hash,
      era,
      protocol,
      capabilities,
      server_info,
      instructions,
      digest,
    )
  }
  const expire = (key: string): Promise<void> =>
    connection.write(() => {
      if (expireListing.all(key).length > 0) generation.grow()
    })

  /** What was not written by us is as good as not there, and the upstream is asked again. */
  const believed = async (key: string, rows: readonly unknown[]): Promise<readonly CatalogTool[]> => {
    const tools = rows.flatMap((row) => readTool(row) ?? [])
    if (tools.length < rows.length) await expire(key)
    return tools
  }

  return {
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
      const { names } = readRow(NamesRow, await connection.read(() => selectNames.get(key)))
      return names
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
    approve: (key, name, pin) =>
      connection.write(() => {
        const row = selectTool.get(key, name)
        const tool = row === undefined ? null : readTool(row)
        const stored = BareListing.safeParse(selectListing.get(key))
        if (tool === null || tool.pin !== pin || !stored.success) throw changedMeanwhile(name)
        const passed = { ...tool, state: 'usable', reason: null, approved: tool.raw } as const
        writeTool(key, passed, readRow(PositionRow, row).position)
        writeListing(stored.data)
        generation.grow()
      }, 'full'),
    expire,
  }
}

type Field = string | number | null

function toolFields(tool: CatalogTool, position: number): readonly Field[] {
  const { name, raw, pin, state, reason, findings, approved } = tool
  const texts = [JSON.stringify(findings), approved === null ? null : JSON.stringify(approved)]
  return [name, position, JSON.stringify(raw), pin, state, reason, ...texts]
}

/** Not of the time: that it is to be listed again may be said by anybody. */
function listingDigest(listing: Omit<BareListing, 'digest' | 'listed_at'>, digests: string): string {
  const { key, server, hash, era, protocol, capabilities, server_info, instructions } = listing
  return sha256(
    JSON.stringify([key, server, hash, era, protocol, capabilities, server_info, instructions, digests]),
  )
}

/** Null for a row whose digest does not fit. */
function readTool(row: unknown): CatalogTool | null {
  const bare = BareRow.safeParse(row)
  if (!bare.success) return null
  const { key, name, position, raw, pin, state, reason, findings, approved, digest } = bare.data
  const fields = [key, name, position, raw, pin, state, reason, findings, approved]
  if (sha256(JSON.stringify(fields)) !== digest) return null
  const parsed = ToolRow.safeParse(row)
  return parsed.success ? parsed.data : null
}

function changedMeanwhile(name: string): KiwiError {
  return new KiwiError('CONFLICT', `Cannot trust "${name}": its definition has changed meanwhile`, {
    hint: 'Look at it again, and trust what is there now',
  })
}

const RevisionRow = z.object({ digest: z.string() })
const DigestsRow = z.object({ digests: z.string().nullable() })
const PositionRow = z.object({ position: z.number() })

/** As it was written, to be held against its digest. */
const BareListing = z.object({
  key: z.string(),
  server: z.string(),
  listed_at: z.number(),
  hash: z.string(),
  era: z.enum(['legacy', 'modern']),
  protocol: z.string(),
  capabilities: z.string(),
  server_info: z.string(),
  instructions: z.string().nullable(),
  digest: z.string(),
})
type BareListing = z.infer<typeof BareListing>

const ListingRow = BareListing.omit({ digest: true }).extend({
  capabilities: jsonObject,
  server_info: jsonObject,
})

const UNREADABLE: Omit<Listing, 'key'> = {
  server: '',
  listed_at: 0,
  hash: '',
  era: 'legacy',
  protocol: '',
  capabilities: {},
  server_info: {},
  instructions: null,
}

const NamesRow = z.object({ names: jsonTexts })

const BareRow = z.object({
  key: z.string(),
  name: z.string(),
  position: z.number(),
  raw: z.string(),
  pin: z.string(),
  state: z.string(),
  reason: z.string().nullable(),
  findings: z.string(),
  approved: z.string().nullable(),
  digest: z.string(),
})

const ToolRow = z.object({
  name: z.string(),
  raw: jsonObject,
  pin: z.string(),
  state: z.enum(['usable', 'quarantined', 'missing', 'unusable']),
  reason: z.enum(['new', 'changed', 'flagged', 'unvouched']).nullable(),
  findings: jsonTexts,
  approved: jsonObject.nullable(),
})
