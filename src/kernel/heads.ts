import { appendFile, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import type { Clock } from '../shared/clock.ts'
import { errnoOf, messageOf } from '../shared/errors.ts'
import { canonicalJson } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Log } from '../shared/log.ts'
import type { OwnKey } from '../spaces/signing-key.ts'
import type { Journal } from '../store/journal.ts'
import type { Follower } from './follower.ts'

/** How long the journal was at a time, and what it ended with: signed, and kept outside of the database. */
const Head = z.object({
  size: z.number().int().positive(),
  hash: z.string(),
  time: z.string(),
  /** Fingerprint of the key. */
  key: z.string(),
  signature: z.string(),
})
export type Head = z.infer<typeof Head>
type Said = Pick<Head, 'size' | 'hash' | 'time'>

interface HeadMeans {
  /** Where they are kept. */
  readonly file: string
  readonly ownKey: OwnKey
  readonly clock: Clock
  readonly log: Log
  /** Where its size is noted as well. */
  readonly journal: Pick<Journal, 'noteHead'>
}

/**
 * The chain itself cannot show that its end was cut off, or all of it written anew. A head can: it is written after
 * every thousand records, after a minute with records, and at the end of a process.
 */
export function openHeads({ file, ownKey, clock, log, journal }: HeadMeans): Follower {
  let last: Pick<Head, 'size' | 'hash'> | null = null
  let written: number | null = null
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()
  const write = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (last === null || last.size === written) return
    const { size, hash } = last
    written = size
    writing = keep({ size, hash, time: new Date(clock.now()).toISOString() }, writing)
  }
  const keep = async (said: Said, before: Promise<void>): Promise<void> => {
    await before
    try {
      const key = await ownKey.readOrMake()
      await append(file, { ...said, key: key.fingerprint, signature: key.sign(statementOf(said)) })
      // After the head: what is noted is there to be found.
      await journal.noteHead(said.size)
    } catch (error) {
      log.warn('head.unwritten', { file, reason: messageOf(error) })
    }
  }
  return {
    add(records) {
      const newest = records.at(-1)
      if (newest === undefined) return
      written ??= newest.seq - records.length
      last = { size: newest.seq, hash: newest.hash }
      if (newest.seq - written >= LIMITS.headRecords) write()
      else timer ??= setTimeout(write, LIMITS.headSeconds * 1000).unref()
    },
    async close() {
      write()
      await writing
    },
  }
}

/** What is signed: a signature for an item is never one for a head. */
export function statementOf({ size, hash, time }: Said): string {
  return `kiwi journal head\n${canonicalJson({ size, hash, time })}`
}

/** The newest are enough: the one that fits vouches for all records before it. */
const KEPT_HEADS = 200
const LONGEST_FILE = 256 * 1024

async function append(file: string, head: Head): Promise<void> {
  // On a line of its own, also behind half of one that a killed process left.
  await appendFile(file, `\n${JSON.stringify(head)}\n`, { mode: 0o600 })
  if ((await stat(file)).size <= LONGEST_FILE) return
  const { heads } = await readHeads(file)
  const beside = `${file}.${process.pid}`
  const kept = heads.slice(-KEPT_HEADS).map((each) => `${JSON.stringify(each)}\n`)
  await writeFile(beside, kept.join(''), { mode: 0o600 })
  await rename(beside, file)
}

/** All that can be read, and how many lines could not: a process may have been killed within one. */
export async function readHeads(
  file: string,
): Promise<{ readonly heads: readonly Head[]; readonly unreadable: number }> {
  const lines = (await textOf(file)).split('\n').filter((line) => line !== '')
  const heads = lines.flatMap((line) => headOf(line) ?? [])
  return { heads, unreadable: lines.length - heads.length }
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return ''
    throw error
  }
}

function headOf(line: string): Head | null {
  try {
    return Head.safeParse(JSON.parse(line)).data ?? null
  } catch {
    return null
  }
}
