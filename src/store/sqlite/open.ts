import { resolve } from 'node:path'
import type { Clock } from '../../shared/clock.ts'
import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Store } from '../store.ts'
import { createAppender } from './append.ts'
import { createApprovals } from './approvals.ts'
import { createCatalog } from './catalog.ts'
import type { Connection } from './connection.ts'
import { createConnection } from './connection.ts'
import { openDatabase } from './driver.ts'
import { isUnwritable } from './failure.ts'
import { createFiles } from './files.ts'
import { createGrants } from './grants.ts'
import { createGeneration } from './generation.ts'
import { createJournal } from './journal.ts'
import { createLimits } from './limits.ts'
import { migrate } from './migrate.ts'
import { preparePlace } from './place.ts'
import { fillFromFile, refuseWrites } from './read-only.ts'
import { createRegistry } from './registry.ts'
import { createSearchIndex } from './search-index.ts'
import { createSearchRows } from './search-rows.ts'
import { createRuns } from './runs.ts'
import { createTasks } from './tasks.ts'
import { createTrust } from './trust.ts'
import { createUndo } from './undo.ts'
import { createUses } from './uses.ts'
import { createVectors } from './vectors.ts'
import { createVersions } from './versions.ts'

export interface SqliteOptions {
  readonly path: string
  /** A store that a new one begins as a copy of, where there is one: it need not be made and filled. */
  readonly start?: string
  readonly clock: Clock
  readonly log?: Log
  /** Milliseconds a lock of another process is waited for. */
  readonly busyLimit?: number
  /** Records that may wait for the store. */
  readonly queueLimit?: number
  /** What every record is given at least. */
  readonly journalSync?: 'normal' | 'full'
  /** Pages of the file at most. */
  readonly pageLimit?: number
}

/** Opens the store in this file and makes it when it is missing. */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const file = resolve(options.path)
  const reason = preparePlace(file, options.start ?? null)
  if (reason !== null) return openReadOnly(file, reason, options)
  try {
    return await openWritable(file, options)
  } catch (error) {
    if (!isUnwritable(error)) throw error
    return openReadOnly(file, messageOf(error), options)
  }
}

const BUSY_LIMIT = 10_000
const QUEUE_LIMIT = 10_000
/** How long SQLite may block us before we wait in our own way. */
const BUSY_TIMEOUT = 20

/**
 * Where shared memory is missing SQLite keeps its old kind of journal instead of WAL, and everything still works.
 * A temporary file would make reads fail on a full disk. A search reads a row for each match: 2 MB hold few. What was
 * moved or dropped leaves no copy behind where that costs no more writing: a record stands in one place. The log is
 * moved while nobody writes; only where that never is, in the midst of a write.
 */
const SETTINGS = `
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA temp_store = MEMORY;
PRAGMA secure_delete = FAST;
PRAGMA cache_size = -${16 * 1024};
PRAGMA journal_size_limit = ${16 * 1024 * 1024};
PRAGMA wal_autocheckpoint = 4000;
`

async function openWritable(file: string, options: SqliteOptions): Promise<Store> {
  const connection = await connect(file, file, options)
  try {
    await connection.read(() => connection.exec(SETTINGS))
    if (options.pageLimit !== undefined) connection.exec(`PRAGMA max_page_count = ${options.pageLimit}`)
    await migrate(connection, file)
    return await connection.read(() => assemble(connection, options, null))
  } catch (error) {
    await connection.close()
    throw error
  }
}

async function openReadOnly(file: string, reason: string, options: SqliteOptions): Promise<Store> {
  const connection = await connect(':memory:', file, options)
  try {
    const isRead = await fillFromFile(connection, file)
    const said = `"${file}" cannot be written: ${reason}`
    options.log?.warn('store.read_only', { file, reason, is_read: isRead })
    const store = assemble(connection, options, said)
    const { append, erase, noteHead, publish, remove, exclusively, ...more } = refuseWrites(file, said)
    const { runs, approvals, limits, undo, grants, catalog, uses, ...trust } = more
    return {
      ...store,
      exclusively,
      registry: { ...store.registry, publish, remove },
      trust: { ...store.trust, ...trust },
      journal: { ...store.journal, append, erase, noteHead },
      runs: { ...store.runs, ...runs },
      approvals: { ...store.approvals, ...approvals },
      limits: { ...store.limits, ...limits },
      undo: { ...store.undo, ...undo },
      grants: { ...store.grants, ...grants },
      catalog: { ...store.catalog, ...catalog },
      uses: { ...store.uses, ...uses },
    }
  } catch (error) {
    await connection.close()
    throw error
  }
}

async function connect(location: string, file: string, options: SqliteOptions): Promise<Connection> {
  const database = await openDatabase(location, { busyTimeout: BUSY_TIMEOUT, file })
  return createConnection(database, {
    file,
    clock: options.clock,
    busyLimit: options.busyLimit ?? BUSY_LIMIT,
  })
}

function assemble(connection: Connection, options: SqliteOptions, readOnlyReason: string | null): Store {
  const { clock, log = null } = options
  const files = createFiles(connection)
  const versions = createVersions(connection, files)
  const searchRows = createSearchRows(connection)
  const generation = createGeneration(connection)
  const appender = createAppender(connection, {
    queueLimit: options.queueLimit ?? QUEUE_LIMIT,
    sync: options.journalSync ?? 'normal',
  })
  return {
    registry: createRegistry({ connection, clock, log, generation, searchRows, versions, files }),
    index: createSearchIndex(connection, searchRows),
    trust: createTrust(connection, generation),
    journal: createJournal(connection, appender),
    runs: createRuns(connection),
    approvals: createApprovals(connection),
    limits: createLimits(connection),
    undo: createUndo(connection),
    grants: createGrants(connection),
    catalog: createCatalog(connection, generation),
    tasks: createTasks(connection, clock),
    uses: createUses(connection),
    vectors: createVectors(connection),
    readOnlyReason,
    generation: () => generation.current(),
    async exclusively(work) {
      // What it throws is not the store's, and must not be taken for it.
      const end = await connection.write(() => attempt(work))
      if ('error' in end) throw end.error
      return end.value
    },
    async close() {
      await appender.drain()
      await connection.close()
    },
  }
}

function attempt<T>(work: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: work() }
  } catch (error) {
    return { error }
  }
}
