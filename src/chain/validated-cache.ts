import { randomUUID } from 'node:crypto'
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { LIMITS } from '../shared/limits.ts'
import { makeFolder } from '../shared/make-folder.ts'
import type { Finding } from './finding.ts'

/** What the rules of a chain had to say. */
export interface Validated {
  readonly findings: readonly Finding[]
  readonly warnings: readonly string[]
}

/** Results by what they depend on: in memory, and on disk for other processes. */
export interface ValidatedCache {
  get(key: string): Promise<Validated | null>
  /** Never fails: what cannot be kept is found out again. */
  set(key: string, validated: Validated): Promise<void>
}

const Shape: z.ZodType<Validated> = z.strictObject({
  findings: z.array(
    z.strictObject({
      rule: z.string(),
      tool: z.string(),
      path: z.string().nullable(),
      line: z.number().nullable(),
      reason: z.string(),
    }),
  ),
  warnings: z.array(z.string()),
})

export function openValidatedCache(cache: string): ValidatedCache {
  const folder = join(cache, 'validated')
  const kept = new Map<string, Validated>()
  const keep = (key: string, validated: Validated): void => {
    if (kept.size >= LIMITS.keptChecks) kept.clear()
    kept.set(key, validated)
  }
  return {
    async get(key) {
      const known = kept.get(key)
      if (known !== undefined) return known
      const read = await readKept(join(folder, key))
      if (read !== null) keep(key, read)
      return read
    },
    async set(key, validated) {
      keep(key, validated)
      await write(folder, key, validated).catch(() => {})
    },
  }
}

async function readKept(path: string): Promise<Validated | null> {
  try {
    return Shape.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}

/** Beside its place first: another process may be reading. */
async function write(folder: string, key: string, validated: Validated): Promise<void> {
  makeFolder(folder, 0o700)
  const beside = join(folder, `${key}.${randomUUID()}`)
  await writeFile(beside, JSON.stringify(validated), { mode: 0o600 })
  await rename(beside, join(folder, key))
  const names = await readdir(folder)
  if (names.length > LIMITS.keptChecks) await dropHalf(folder, names)
}

/** The older half at once, so that a full folder is not sorted with every new result. */
async function dropHalf(folder: string, names: readonly string[]): Promise<void> {
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name)
      return {
        path,
        at: await stat(path).then(
          ({ mtimeMs }) => mtimeMs,
          () => 0,
        ),
      }
    }),
  )
  const oldest = found.toSorted((a, b) => a.at - b.at).slice(0, found.length / 2)
  await Promise.all(oldest.map(({ path }) => rm(path, { force: true })))
}
