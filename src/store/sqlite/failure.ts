import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { KiwiError } from '../../shared/errors.ts'

/**
 * Turns a fault of SQLite into our own error; `details.errcode` keeps its number for callers here. Its text stays
 * in the cause: it may quote our SQL. What is no fault of SQLite is handed back as it is.
 */
export function toStoreError(error: unknown, file: string): unknown {
  const errcode = errcodeOf(error)
  if (errcode === 0) return error
  const { code, reason, hint } = explain(errcode, file)
  return new KiwiError(code, `Cannot use the store "${file}": ${reason}`, {
    ...(hint === undefined ? {} : { hint }),
    details: { file, errcode },
    cause: error,
  })
}

function errcodeOf(error: unknown): number {
  if (!(error instanceof Error)) return 0
  return 'errcode' in error ? Number(error.errcode) : (UNNUMBERED[error.message] ?? 0)
}

/** Another connection holds the lock: worth another try. */
export function isBusy(error: unknown): boolean {
  return [BUSY, LOCKED].includes(primaryCode(error))
}

/** The file may be read at most: closed to us, or on a disk that has no room for its log. */
export function isUnwritable(error: unknown): boolean {
  return [READONLY, CANTOPEN, FULL, IOERR].includes(primaryCode(error))
}

/** The file is there but is no sound database. */
export function isDamaged(error: unknown): boolean {
  return [CORRUPT, NOTADB].includes(primaryCode(error))
}

/** A row with the same key stands already. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof KiwiError && UNIQUE.includes(Number(error.details['errcode']))
}

/** A row with the same number stands already. */
export function isPlaceTaken(error: unknown): boolean {
  return error instanceof KiwiError && error.details['errcode'] === PRIMARY_KEY
}

const BUSY = 5
const LOCKED = 6
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const CONSTRAINT = 19
const NOTADB = 26
const PRIMARY_KEY = 1555
const UNIQUE = [2067, PRIMARY_KEY]

/** Where many rows are read, the package leaves the number out: these are the texts that SQLite has for them. */
const UNNUMBERED: Readonly<Record<string, number>> = {
  'database is locked': BUSY,
  'database table is locked': LOCKED,
  'attempt to write a readonly database': READONLY,
  'disk I/O error': IOERR,
  'database disk image is malformed': CORRUPT,
  'database or disk is full': FULL,
  'unable to open database file': CANTOPEN,
  'file is not a database': NOTADB,
}

/** The low byte is the kind; the bytes above it only refine it. */
function primaryCode(error: unknown): number {
  return error instanceof KiwiError ? Number(error.details['errcode'] ?? 0) & 0xff : 0
}

interface Explanation {
  readonly code: 'STORE_UNAVAILABLE' | 'STORE_FULL' | 'CONFLICT' | 'INTERNAL'
  readonly reason: string
  readonly hint?: string
}

function explain(errcode: number, file: string): Explanation {
  switch (errcode & 0xff) {
    case BUSY:
    case LOCKED:
      return { code: 'STORE_UNAVAILABLE', reason: 'another process holds its lock' }
    case FULL:
      return full(file)
    case READONLY:
    case CANTOPEN:
      return {
        code: 'STORE_UNAVAILABLE',
        reason: 'it cannot be opened for writing',
        hint: `Make "${file}" and its folder writable for this user`,
      }
    case IOERR:
      // The file that processes share their locks in is mapped, and growing it on a full disk is no FULL to SQLite.
      if (isDiskFull(file)) return full(file)
      return {
        code: 'STORE_UNAVAILABLE',
        reason: 'the disk failed',
        hint: `Check the disk that holds "${file}"`,
      }
    case CORRUPT:
    case NOTADB:
      return {
        code: 'STORE_UNAVAILABLE',
        reason: 'it is damaged or no database',
        hint: `Restore "${file}" from a backup, or move it away: a new store is made on the next start`,
      }
    case CONSTRAINT:
      return { code: 'CONFLICT', reason: 'a rule of its tables does not allow it' }
    default:
      return { code: 'INTERNAL', reason: `SQLite failed with ${errcode}` }
  }
}

function full(file: string): Explanation {
  return {
    code: 'STORE_FULL',
    reason: 'the disk is full',
    hint: `Free space on the disk of "${file}", then send the call again`,
  }
}

/** Less than the store needs to begin a transaction. */
const NO_ROOM_BYTES = 64 * 1024

function isDiskFull(file: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(file))
    return bavail * bsize < NO_ROOM_BYTES
  } catch {
    return false
  }
}
