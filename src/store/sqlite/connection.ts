import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../shared/clock.ts'
import { KiwiError } from '../../shared/errors.ts'
import type { Maybe } from '../../shared/maybe.ts'
import type { Database, Statement } from './driver.ts'
import { isBusy } from './failure.ts'

/** Takes turns with the other processes that use the file: a lock is waited for without blocking the event loop. */
export interface Connection {
  prepare(sql: string): Statement
  exec(sql: string): void
  /** `work` may run again when it met a lock, so it only reads. */
  read<T>(work: () => T): Promise<T>
  /** All of `work` or nothing. `full` survives the death of the machine, `normal` that of the process. */
  write<T>(work: () => T, sync?: 'normal' | 'full'): Promise<T>
  /** The same, done or failed at once where nobody else holds the lock. */
  writeNow<T>(work: () => T, sync: 'normal' | 'full'): Maybe<T>
  /** Lets what is under way finish first. */
  close(): Promise<void>
}

export interface ConnectionMeans {
  readonly file: string
  readonly clock: Clock
  /** Milliseconds after which a lock is given up on. */
  readonly busyLimit: number
}

/** SQLite's own wait is unfair, so the pause between two tries is random. */
const LONGEST_PAUSE = 15

export function createConnection(database: Database, means: ConnectionMeans): Connection {
  const { file, clock, busyLimit } = means
  const underWay = new Set<Promise<unknown>>()
  let isClosing = false
  let hasWritten = false
  const rest = createRest(() => {
    if (!isClosing && database.isOpen) checkpoint(database, 'PASSIVE')
  })

  const patiently = async <T>(attempt: () => T): Promise<T> => {
    const start = clock.monotonic()
    for (;;) {
      await sleep(Math.random() * LONGEST_PAUSE)
      try {
        return attempt()
      } catch (error) {
        if (!isBusy(error)) throw error
        if (clock.monotonic() - start >= busyLimit) throw gaveUp(file, busyLimit, error)
      }
    }
  }
  const waiting = async <T>(attempt: () => T): Promise<T> => {
    const work = patiently(attempt)
    underWay.add(work)
    try {
      return await work
    } finally {
      underWay.delete(work)
    }
  }
  const track = <T>(attempt: () => T): Maybe<T> => {
    if (isClosing) throw closed(file)
    try {
      // Nearly always nobody else holds the lock.
      return attempt()
    } catch (error) {
      if (!isBusy(error)) throw error
    }
    return waiting(attempt)
  }
  const writeNow = <T>(work: () => T, sync: 'normal' | 'full'): Maybe<T> =>
    track(() => {
      const result = commit(database, work, sync)
      hasWritten = true
      rest.disturb()
      return result
    })
  return {
    prepare: (sql) => database.prepare(sql),
    exec: (sql) => database.exec(sql),
    read: async (work) => track(work),
    write: async (work, sync = 'normal') => writeNow(work, sync),
    writeNow,
    async close() {
      isClosing = true
      rest.end()
      await Promise.allSettled(underWay)
      if (hasWritten) checkpoint(database, 'TRUNCATE')
      database.close()
    },
  }
}

function commit<T>(database: Database, work: () => T, sync: 'normal' | 'full'): T {
  if (sync === 'normal') return database.transaction(work)
  // SQLite ignores the switch inside a transaction, so it stands around it.
  database.exec('PRAGMA synchronous = FULL')
  try {
    return database.transaction(work)
  } finally {
    database.exec('PRAGMA synchronous = NORMAL')
  }
}

/** Moves the log into the file. The driver closes the file too late to do it, and a reader may need it whole. */
function checkpoint(database: Database, mode: 'PASSIVE' | 'TRUNCATE'): void {
  try {
    database.exec(`PRAGMA wal_checkpoint(${mode})`)
  } catch {
    // The log stays and the next one to open the store reads it.
  }
}

/** So long after the last write nobody waits for the next. */
const REST_MS = 400
/** Below so many writes the log is short, and moving it is not worth two syncs. */
const FEW_WRITES = 200

/** Tells when there was a lot to write, and now there is nothing: to move the log takes many times as long as a write. */
function createRest(begin: () => void): { disturb(): void; end(): void } {
  let writes = 0
  let timer: NodeJS.Timeout | null = null
  let seen = 0
  const rest = (): void => {
    timer = null
    // Cheaper than to put the timer off with every write.
    if (writes > seen) return wait()
    writes = 0
    begin()
  }
  const wait = (): void => {
    seen = writes
    timer = setTimeout(rest, REST_MS).unref()
  }
  return {
    disturb() {
      writes += 1
      if (timer === null && writes >= FEW_WRITES) wait()
    },
    end() {
      if (timer !== null) clearTimeout(timer)
    },
  }
}

function closed(file: string): KiwiError {
  return new KiwiError('STORE_UNAVAILABLE', `Cannot use the store "${file}": it is closed`, {
    hint: 'Send the call again when Kiwi runs again',
  })
}

function gaveUp(file: string, busyLimit: number, cause: unknown): KiwiError {
  return new KiwiError(
    'STORE_UNAVAILABLE',
    `Cannot use the store "${file}": another process held its lock for ${busyLimit / 1000} s`,
    {
      hint: `Find the process that keeps "${file}" locked, then send the call again`,
      details: { file },
      cause,
    },
  )
}
