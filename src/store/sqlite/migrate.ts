import { KiwiError } from '../../shared/errors.ts'
import { isObject } from '../../shared/json.ts'
import type { Connection } from './connection.ts'
import { MIGRATIONS } from './migrations/list.ts'

/** Brings the file to the newest version. Of several processes one does it and the others find it done. */
export async function migrate(connection: Connection, file: string): Promise<void> {
  const isCurrent = await connection.read(() => versionOf(connection, 'main', file) === MIGRATIONS.length)
  if (isCurrent) return
  await connection.write(() => {
    const from = versionOf(connection, 'main', file)
    for (const sql of MIGRATIONS.slice(from)) connection.exec(sql)
    connection.exec(`PRAGMA application_id = ${OURS}`)
    connection.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
  }, 'full')
}

/** The version of a store; 0 when nothing is in it. Refuses what this Kiwi must not touch. */
export function versionOf(connection: Connection, schema: 'main' | 'file', file: string): number {
  const read = (sql: string): number => {
    const row = connection.prepare(sql).get()
    return isObject(row) ? Number(Object.values(row)[0]) : 0
  }
  // The tables are looked for first: another process may be making them between two of these reads.
  if (read(`SELECT count(*) FROM ${schema}.sqlite_master`) === 0) return 0
  if (read(`PRAGMA ${schema}.application_id`) !== OURS) {
    throw new KiwiError(
      'STORE_UNAVAILABLE',
      `Cannot use the store "${file}": it belongs to another program`,
      {
        hint: 'Set "store" in kiwi.json to another path',
        details: { file },
      },
    )
  }
  const version = read(`PRAGMA ${schema}.user_version`)
  if (version <= MIGRATIONS.length) return version
  throw new KiwiError('STORE_UNAVAILABLE', `Cannot use the store "${file}": a newer Kiwi has written it`, {
    hint: 'Install the newest Kiwi, or set "store" in kiwi.json to another path',
    details: { file, store_version: version, known_version: MIGRATIONS.length },
  })
}

/** "Kiwi" in ASCII, in the header of every store. */
const OURS = 0x4b697769
