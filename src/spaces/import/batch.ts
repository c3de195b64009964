import { join } from 'node:path'
import { z } from 'zod'
import { KiwiError, messageOf } from '../../shared/errors.ts'
import { LIMITS } from '../../shared/limits.ts'
import { list } from '../disk.ts'
import { readRegularFile } from '../read-file.ts'

export const STATES = ['imported', 'updated', 'unchanged', 'conflict', 'needs_repair', 'skipped'] as const

/** A place in a space, and nowhere else: whoever wrote the record, it leads to no other file. */
const PlaceInSpace = z
  .string()
  .regex(/^(?:(?:tools|directives|knowledge)(?:\/[^/]+)*|config\/mcp_registry\.yaml)$/)
  .refine((path) => !path.split('/').includes('..'), 'leads out of the space')

const BatchItem = z.object({
  id: z.string(),
  type: z.enum(['tool', 'directive', 'knowledge', 'mcp', 'library']),
  state: z.enum(STATES),
  from: z.string(),
  /** From the root of the space it went to. */
  to: PlaceInSpace,
  is_folder: z.boolean(),
  reason: z.string().nullable(),
  hash: z.string().nullable(),
  content_hash: z.string().nullable(),
  version: z.string().nullable(),
  signature: z.enum(['validated', 'unverified', 'unsigned', 'signed']),
  dialect: z.string(),
  warnings: z.array(z.string()).readonly(),
  proposed: z.object({
    secrets: z.array(z.string()).readonly(),
    grants: z.array(z.string()).readonly(),
    requires: z.array(z.string()).readonly(),
  }),
  mapped_from: z.array(z.string()).readonly(),
})
/** One line of the report. */
export type BatchItem = Readonly<z.infer<typeof BatchItem>>

const ServerLine = z.object({
  name: z.string(),
  from: z.string(),
  state: z.enum(STATES),
  reason: z.string().nullable(),
  /** Secrets that went to the vault. */
  kept: z.array(z.string()).readonly(),
  /** Secrets that its client would have asked for. */
  asked: z.array(z.string()).readonly(),
  /** Secrets it needs and nobody has set. */
  unset: z.array(z.string()).readonly(),
  notes: z.array(z.string()).readonly(),
  /** Commands that give it what it needs, in order. */
  next: z.array(z.string()).readonly().default([]),
})

export const BatchShape = z.object({
  batch: z.string(),
  time: z.string(),
  source: z.string(),
  layout: z.string(),
  to: z.enum(['user', 'project']),
  root: z.string(),
  totals: z.record(z.enum(STATES), z.number()),
  items: z.array(BatchItem).readonly(),
  not_imported: z.array(z.object({ path: z.string(), reason: z.string() })).readonly(),
  history: z.record(z.string(), z.number()),
  proposed_secrets: z.array(z.string()).readonly(),
  /** Folders that were made for it, outermost first. */
  folders: z.array(PlaceInSpace).readonly(),
  /** Servers of other clients, by what became of each. */
  servers: z.array(ServerLine).readonly().default([]),
  /** Secrets that were not in the vault before. */
  secrets: z
    .array(z.object({ name: z.string(), set_at: z.string() }))
    .readonly()
    .default([]),
  undone_at: z.string().nullable(),
})
/** What an import did, as it is kept and printed. */
export type Batch = Readonly<z.infer<typeof BatchShape>>

/** Whether a line stands for files that the batch put there. */
export function isWritten({ state }: BatchItem): boolean {
  return state === 'imported' || state === 'updated' || state === 'conflict' || state === 'needs_repair'
}

/** The file that makes a folder an item, by where the folder goes. */
export function manifestIn(to: string): string {
  return to.startsWith('directives/') ? 'SKILL.md' : 'tool.yaml'
}

const ID = /^[0-9A-HJKMNP-TV-Z]{26}$/

/** Where a batch is kept, and beside it what it replaced. */
export function batchFile(userSpace: string, batch: string): string {
  return join(userSpace, 'imports', `${batch}.json`)
}

/** Every batch that can be read, oldest first. */
export function readBatches(userSpace: string): readonly Batch[] {
  return list(join(userSpace, 'imports'))
    .map(({ name }) => name)
    .filter((name) => name.endsWith('.json') && ID.test(name.slice(0, -5)))
    .toSorted()
    .flatMap((name) => {
      try {
        return [readBatch(userSpace, name.slice(0, -5))]
      } catch (error) {
        // A broken one can still be looked at by its own name.
        if (error instanceof KiwiError && error.code !== 'STORE_UNAVAILABLE') return []
        throw error
      }
    })
}

/** One batch. NOT_FOUND when there is none of this name, PARSE_ERROR when its file is broken. */
export function readBatch(userSpace: string, batch: string): Batch {
  const file = batchFile(userSpace, batch)
  const value = ID.test(batch) ? parsed(file) : null
  if (value === null) {
    throw new KiwiError('NOT_FOUND', `Cannot find the import "${batch.slice(0, 64)}"`, {
      hint: 'kiwi import --list shows all imports',
    })
  }
  const read = BatchShape.safeParse(value)
  if (read.success) return read.data
  throw new KiwiError('PARSE_ERROR', `Cannot read "${file}": ${read.error.issues[0]?.message ?? 'broken'}`)
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(readRegularFile(file, LIMITS.bundleBytes).bytes.toString('utf8'))
  } catch (error) {
    if (error instanceof KiwiError && error.code === 'PARSE_ERROR') return null
    if (error instanceof SyntaxError)
      throw new KiwiError('PARSE_ERROR', `Cannot read "${file}": ${messageOf(error)}`)
    throw error
  }
}
