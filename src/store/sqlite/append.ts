import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { KiwiError } from '../../shared/errors.ts'
import type { Maybe } from '../../shared/maybe.ts'
import { after } from '../../shared/maybe.ts'
import type { Claim } from '../approvals.ts'
import type { Journal, JournalRecord, NewRecord } from '../journal.ts'
import { createUseUp, isUsedUp } from './use-approval.ts'
import type { Connection } from './connection.ts'
import { isDuplicate, isPlaceTaken } from './failure.ts'
import { GENESIS, hashBody, hashOf } from './links.ts'
import { readRow } from './rows.ts'

/**
 * Records given at one moment share a commit. The first of a turn of the loop is made at once; what comes later in the
 * same turn waits for its end and shares one, as does what comes while the store is busy.
 */
export interface Appender {
  readonly append: Journal['append']
  readonly appendLater: Journal['appendLater']
  readonly follow: Journal['follow']
  /** Resolves when nothing waits any more. */
  drain(): Promise<void>
}

interface AppenderOptions {
  /** Records that may wait. */
  readonly queueLimit: number
  /** What is given every record at least. */
  readonly sync: 'normal' | 'full'
}

export function createAppender(connection: Connection, { queueLimit, sync }: AppenderOptions): Appender {
  const { commit, follow } = createCommit(connection, sync)
  let waiting: Rider[] = []
  let rows = 0
  let flushing: Promise<void> | null = null
  const turn = createTurn()

  const commitWaiting = (): Maybe<void> => {
    const riders = waiting
    waiting = []
    return after(commit(riders), () => {
      for (const { entries } of riders) rows -= entries.length
    })
  }
  const flush = async (): Promise<void> => {
    while (waiting.length > 0) await commitWaiting()
    flushing = null
  }
  /** The first of a turn is made at once, and what comes while it is taken waits for the next. */
  const begin = (): void => {
    if (flushing !== null || waiting.length === 0) return
    const begun = turn.take() ?? commitWaiting()
    if (begun instanceof Promise) flushing = begun.then(flush)
  }
  /** Has them wait. */
  const add: Journal['append'] = async (records, least, claim) => {
    if (records.length === 0) return []
    if (rows + records.length > queueLimit) {
      throw new KiwiError('OVERLOADED', `Cannot record the call: ${rows} records wait for the store`)
    }
    const entries = records.map(toEntry)
    rows += entries.length
    return new Promise<readonly JournalRecord[]>((resolve, reject) => {
      waiting.push({ entries, sync: least, claim, resolve, reject })
    })
  }
  const late = createLate((records) => add(records, 'normal'), begin)

  return {
    append(records, least, claim) {
      late.finish()
      const added = add(records, least, claim)
      begin()
      return added
    },
    appendLater: late.add,
    follow,
    async drain() {
      late.finish()
      begin()
      await flushing
    },
  }
}

/** Makes all records of some riders in one transaction, and tells whoever follows. */
function createCommit(
  connection: Connection,
  least: 'normal' | 'full',
): { readonly commit: (riders: readonly Rider[]) => Maybe<void>; readonly follow: Journal['follow'] } {
  const write = createWriter(connection)
  const useUp = createUseUp(connection)
  const followers: Parameters<Journal['follow']>[0][] = []
  let end: End | null = null

  const settle = (riders: readonly Rider[], placed: readonly JournalRecord[]): void => {
    end = placed.at(-1) ?? end
    for (const hear of followers) hear(placed)
    let from = 0
    for (const rider of riders) rider.resolve(placed.slice(from, (from += rider.entries.length)))
  }
  /** A record that stands already, or an approval that is gone, is the fault of one rider; the others get a commit without it. */
  const fail = async (riders: readonly Rider[], error: unknown): Promise<void> => {
    if ((isDuplicate(error) || isUsedUp(error)) && riders.length > 1) {
      for (const rider of riders) await commit([rider])
      return
    }
    const reason = isDuplicate(error) ? recordedTwice(error) : error
    for (const rider of riders) rider.reject(reason)
  }
  const commit = (riders: readonly Rider[]): Maybe<void> => {
    let sync = least
    const entries: Entry[] = []
    for (const rider of riders) {
      if (rider.sync === 'full') sync = 'full'
      entries.push(...rider.entries)
    }
    try {
      const writing = connection.writeNow(() => {
        for (const { claim } of riders) if (claim !== undefined) useUp(claim)
        return write(entries, end)
      }, sync)
      if (!(writing instanceof Promise)) return settle(riders, writing)
      return writing.then(
        (placed) => settle(riders, placed),
        (error: unknown) => fail(riders, error),
      )
    } catch (error) {
      return fail(riders, error)
    }
  }
  return { commit, follow: (hear) => void followers.push(hear) }
}

/** Null for whoever takes the turn; for all others when the next one comes. */
function createTurn(): { take(): Promise<void> | null } {
  let next: Promise<void> | null = null
  return {
    take() {
      if (next !== null) return next
      next = new Promise((resolve) => {
        setImmediate(() => {
          next = null
          resolve()
        })
      })
      return null
    },
  }
}

/** Records that nobody waits for share the commit of the next ones, and stand before them; if none come, they get one of their own. */
function createLate(
  append: (records: readonly NewRecord[]) => Promise<readonly JournalRecord[]>,
  begin: () => void,
): { readonly add: Journal['appendLater']; readonly finish: () => void } {
  let due: (() => void)[] = []
  let timer: NodeJS.Timeout | null = null
  const finish = (): void => {
    const all = due
    due = []
    for (const give of all) give()
  }
  const finishInTime = (): void => {
    timer = null
    finish()
    begin()
  }
  return {
    add: (make) =>
      new Promise((resolve, reject) => {
        due.push(() => {
          try {
            append(make()).then(resolve, reject)
          } catch (error) {
            reject(error)
          }
        })
        timer ??= setTimeout(finishInTime, LATE_MS)
        if (due.length < MOST_LATE) return
        finish()
        begin()
      }),
    finish,
  }
}

/** A client that calls again at once does so within this. */
const LATE_MS = 2
/** What is not made into records yet holds on to whole results. */
const MOST_LATE = 64

interface Rider {
  readonly entries: readonly Entry[]
  readonly sync: 'normal' | 'full'
  readonly claim: Claim | undefined
  readonly resolve: (placed: readonly JournalRecord[]) => void
  readonly reject: (reason: unknown) => void
}

interface Entry {
  readonly record: NewRecord
  readonly salt: string
  readonly body: string
  readonly body_hash: string
}

/** What can be wrong with a record by itself is found here, before it shares a transaction. */
function toEntry(record: NewRecord): Entry {
  const { kind, call_id, session, parent_session, principal, operation, tool, status, body } = record
  const salt = randomUUID()
  const text = JSON.stringify(body)
  return {
    record: {
      kind,
      call_id: storable(call_id),
      session: storable(session),
      parent_session: parent_session === null ? null : storable(parent_session),
      principal: storable(principal),
      operation: storable(operation),
      tool: storable(tool),
      status: storable(status),
      wall: Math.trunc(record.wall),
      mono: Math.trunc(record.mono),
      body,
    },
    salt,
    body: text,
    body_hash: hashBody(salt, text),
  }
}

/** SQLite changes half surrogates and may end at a NUL: the hash must be over what will be read again. */
function storable(text: string): string {
  // Nearly every text is plain, and looking is cheaper than replacing.
  return /[\uD800-\uDFFF\0]/.test(text) ? text.replace(/\p{Surrogate}|\0/gu, '\uFFFD') : text
}

/** Of the chain, as it was left here. No two records have one place, so what others wrote since is noticed. */
interface End {
  readonly seq: number
  readonly hash: string
}

/** The place in the chain is taken under the lock, so several processes make one chain. */
function createWriter(
  connection: Connection,
): (entries: readonly Entry[], end: End | null) => readonly JournalRecord[] {
  const selectLast = connection.prepare('SELECT seq, hash FROM journal ORDER BY seq DESC LIMIT 1')
  const insert = connection.prepare(
    `INSERT INTO journal (seq, kind, call_id, session, principal, operation, tool, status, wall, salt, body,
       body_hash, prev_hash, hash, mono, parent_session)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const place = ({ record, salt, body, body_hash }: Entry, { seq: last, hash: prev }: End): JournalRecord => {
    const { kind, call_id, session, principal, operation, tool, status, wall, mono, parent_session } = record
    const seq = last + 1
    const hash = hashOf(seq, prev, body_hash, record)
    insert.run(
      seq,
      kind,
      call_id,
      session,
      principal,
      operation,
      tool,
      status,
      wall,
      salt,
      body,
      body_hash,
      prev,
      hash,
      mono,
      parent_session,
    )
    return { seq, prev, hash, ...record }
  }
  const placeAll = (entries: readonly Entry[], from: End): readonly JournalRecord[] => {
    let end = from
    return entries.map((entry) => {
      const placed = place(entry, end)
      end = placed
      return placed
    })
  }
  const lastOf = (): End => {
    const row = selectLast.get()
    return row === undefined ? { seq: 0, hash: GENESIS } : readRow(LastRow, row)
  }
  return (entries, end) => {
    if (end === null) return placeAll(entries, lastOf())
    try {
      return placeAll(entries, end)
    } catch (error) {
      // Taken by another process: nothing of this is written yet.
      if (!isPlaceTaken(error)) throw error
      return placeAll(entries, lastOf())
    }
  }
}

const LastRow = z.object({ seq: z.number(), hash: z.string() })

function recordedTwice(cause: unknown): KiwiError {
  return new KiwiError('CONFLICT', 'Cannot record the call: a record of its kind stands under its call id', {
    cause,
  })
}
