import { z } from 'zod'
import { sha256 } from '../../shared/json.ts'
import type { CatalogTool, Listing } from '../catalog.ts'
import { jsonObject, jsonTexts } from './rows.ts'

type Field = string | number | null

export function toolFields(tool: CatalogTool, position: number): readonly Field[] {
  const { name, raw, pin, state, reason, findings, approved } = tool
  const texts = [JSON.stringify(findings), approved === null ? null : JSON.stringify(approved)]
  return [name, position, JSON.stringify(raw), pin, state, reason, ...texts]
}

/** Not of the time: that it is to be listed again may be said by anybody. */
export function listingDigest(listing: Omit<BareListing, 'digest' | 'listed_at'>, digests: string): string {
  const { key, server, hash, era, protocol, capabilities, server_info, instructions } = listing
  return sha256(
    JSON.stringify([key, server, hash, era, protocol, capabilities, server_info, instructions, digests]),
  )
}

/** Null for a row whose digest does not fit. */
export function readTool(row: unknown): CatalogTool | null {
  const bare = BareRow.safeParse(row)
  if (!bare.success) return null
  const { key, name, position, raw, pin, state, reason, findings, approved, digest } = bare.data
  const fields = [key, name, position, raw, pin, state, reason, findings, approved]
  if (sha256(JSON.stringify(fields)) !== digest) return null
  const parsed = ToolRow.safeParse(row)
  return parsed.success ? parsed.data : null
}

export const RevisionRow = z.object({ digest: z.string() })
export const DigestsRow = z.object({ digests: z.string().nullable() })
export const PositionRow = z.object({ position: z.number() })

/** As it was written, to be held against its digest. */
export const BareListing = z.object({
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
export type BareListing = z.infer<typeof BareListing>

export const ListingRow = BareListing.omit({ digest: true }).extend({
  capabilities: jsonObject,
  server_info: jsonObject,
})

export const UNREADABLE: Omit<Listing, 'key'> = {
  server: '',
  listed_at: 0,
  hash: '',
  era: 'legacy',
  protocol: '',
  capabilities: {},
  server_info: {},
  instructions: null,
}

export const NamesRow = z.object({ names: jsonTexts })

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
