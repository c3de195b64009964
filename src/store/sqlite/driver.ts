import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import { KiwiError } from '../../shared/errors.ts'
import { toStoreError } from './failure.ts'

/** The seam: everything the store asks of a SQLite package. Nothing else here knows which one it is. */
export interface Database {
  readonly isOpen: boolean
  exec(sql: string): void
  /** Compiled once for each text and kept until `close`. */
  prepare(sql: string): Statement
  /** All of `work` or nothing, with the write lock held from the start. */
  transaction<T>(work: () => T): T
  close(): void
}

export interface Statement {
  /** How many rows changed. */
  run(...values: readonly SqlValue[]): number
  get(...values: readonly SqlValue[]): unknown
  all(...values: readonly SqlValue[]): readonly unknown[]
}

export type SqlValue = string | number | bigint | boolean | Uint8Array | null

interface DatabaseOptions {
  /** How long SQLite itself may wait for a lock. It blocks the event loop, so it is short. */
  readonly busyTimeout: number
  /** The file that errors name. */
  readonly file: string
}

export async function openDatabase(location: string, options: DatabaseOptions): Promise<Database> {
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const guard: Guard = (work) => {
    try {
      return work()
    } catch (error) {
      throw toStoreError(error, options.file)
    }
  }
  const raw = guard(() => new DatabaseSync(location, { timeout: options.busyTimeout, defensive: true }))
  const compiled = new Map<string, StatementSyncInstance>()
  let isClosed = false
  const compile: Compile = (sql) => {
    if (isClosed) {
      throw new KiwiError('STORE_UNAVAILABLE', `Cannot use the store "${options.file}": it is closed`)
    }
    const known = compiled.get(sql)
    if (known !== undefined) return known
    const statement = raw.prepare(sql)
    compiled.set(sql, statement)
    return statement
  }
  return {
    get isOpen() {
      return raw.isOpen
    },
    exec: (sql) => guard(() => raw.exec(sql)),
    prepare(sql) {
      guard(() => compile(sql))
      return {
        // Written out: every call of a tool comes here several times.
        run(...values) {
          try {
            return compile(sql).run(...bind(values)).changes
          } catch (error) {
            throw toStoreError(error, options.file)
          }
        },
        get: (...values) => guard((): unknown => compile(sql).get(...bind(values))),
        all: (...values) => guard((): unknown[] => compile(sql).all(...bind(values))),
      }
    },
    transaction: (work) => guard(() => transact(raw, compile, work)),
    close() {
      // The package finalizes a statement when it is collected, and the file stays open as long: let go of all.
      isClosed = true
      compiled.clear()
      if (raw.isOpen) guard(() => raw.close())
    },
  }
}

type Guard = <T>(work: () => T) => T
type Compile = (sql: string) => StatementSyncInstance

/** The driver takes an object for named parameters and NaN for NULL: both would store something else in silence. */
function bind(values: readonly unknown[]): readonly unknown[] {
  return values.every(isColumn) ? values : values.map(toColumn)
}

function isColumn(value: unknown): boolean {
  return typeof value === 'string' || value === null || Number.isFinite(value)
}

function toColumn(value: unknown): unknown {
  if (isColumn(value)) return value
  if (typeof value === 'boolean') return Number(value)
  if (typeof value === 'bigint' || value instanceof Uint8Array) return value
  const kind = Object.prototype.toString.call(value)
  throw new KiwiError('INTERNAL', `Cannot store a value: a column cannot hold ${kind}`)
}

function transact<T>(raw: DatabaseSyncInstance, compile: Compile, work: () => T): T {
  compile('BEGIN IMMEDIATE').run()
  try {
    const result = work()
    compile('COMMIT').run()
    return result
  } catch (error) {
    // A full disk and some other faults have rolled back by themselves.
    if (raw.isTransaction) raw.exec('ROLLBACK')
    throw error
  }
}
