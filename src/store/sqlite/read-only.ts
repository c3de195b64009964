import { pathToFileURL } from 'node:url'
import { KiwiError } from '../../shared/errors.ts'
import type { Approvals } from '../approvals.ts'
import type { Catalog } from '../catalog.ts'
import type { Limits } from '../limits.ts'
import type { Grants } from '../grants.ts'
import type { Journal } from '../journal.ts'
import type { Registry, Store, Trust } from '../store.ts'
import type { Runs } from '../runs.ts'
import type { UndoLog } from '../undo.ts'
import type { Uses } from '../uses.ts'
import type { Connection } from './connection.ts'
import { isDamaged } from './failure.ts'
import { migrate, versionOf } from './migrate.ts'
import { MIGRATIONS } from './migrations/list.ts'

/**
 * Fills a store in memory with the registry of a file that cannot be written, and leaves the file attached so
 * that its journal is read where it lies. Returns whether the file could be read.
 */
export async function fillFromFile(connection: Connection, file: string): Promise<boolean> {
  await migrate(connection, file)
  const version = attach(connection, file)
  if (version === null) return false
  if (version !== MIGRATIONS.length) {
    connection.exec('DETACH file')
    return false
  }
  await connection.write(() => connection.exec(COPY))
  // From now on these names mean the tables of the file.
  connection.exec('DROP TABLE main.journal; DROP TABLE main.approvals')
  return true
}

/** The version of the file, or null when it cannot be read either. */
function attach(connection: Connection, file: string): number | null {
  // The first needs the log of a running writer or none at all; the second sees only what is in the file itself.
  for (const mode of ['mode=ro', 'mode=ro&immutable=1']) {
    try {
      connection.prepare('ATTACH ? AS file').run(`${pathToFileURL(file).href}?${mode}`)
    } catch {
      continue
    }
    try {
      return versionOf(connection, 'file', file)
    } catch (error) {
      const isOurs = error instanceof KiwiError && error.details['errcode'] === undefined
      if (isOurs || isDamaged(error)) throw error
      connection.exec('DETACH file')
    }
  }
  return null
}

const COPY = `
INSERT INTO main.seeding VALUES (1);
INSERT OR REPLACE INTO main.meta SELECT * FROM file.meta;
INSERT INTO main.tools SELECT * FROM file.tools;
INSERT INTO main.tool_versions SELECT * FROM file.tool_versions;
INSERT INTO main.blobs SELECT * FROM file.blobs;
INSERT INTO main.tool_version_files SELECT * FROM file.tool_version_files;
INSERT INTO main.trusted_projects SELECT * FROM file.trusted_projects;
INSERT INTO main.launches SELECT * FROM file.launches;
INSERT INTO main.signatures SELECT * FROM file.signatures;
INSERT INTO main.runs SELECT * FROM file.runs;
INSERT INTO main.grants SELECT * FROM file.grants;
INSERT INTO main.listings SELECT * FROM file.listings;
INSERT INTO main.listed_tools SELECT * FROM file.listed_tools;
INSERT INTO main.uses SELECT * FROM file.uses;
INSERT INTO main.use_words SELECT * FROM file.use_words;
DELETE FROM main.seeding;
INSERT INTO main.search_items SELECT * FROM file.search_items WHERE space IN ('builtin', 'registry');
INSERT INTO main.search_text (rowid, name, description, category, tags, parameters, body)
  SELECT rowid, name, description, category, tags, parameters, body FROM file.search_text
  WHERE rowid IN (SELECT id FROM main.search_items);
INSERT INTO main.search_vectors (row_id, vector)
  SELECT row_id, vector FROM file.search_vectors WHERE row_id IN (SELECT id FROM main.search_items);
`

/** What a store that cannot be written answers instead of writing. */
export function refuseWrites(file: string, reason: string): RefusedWrites {
  const refuse = (action: string) => async (): Promise<never> => {
    throw new KiwiError('STORE_UNAVAILABLE', `Cannot ${action}: ${reason}`, {
      hint: `Make "${file}" and its folder writable for this user, then start Kiwi again`,
      details: { file },
    })
  }
  return {
    publish: refuse('publish'),
    remove: refuse('remove the item'),
    append: refuse('record the call'),
    erase: refuse('erase the call'),
    noteHead: refuse('keep the head'),
    trustProject: refuse('trust the project'),
    revokeProject: refuse('stop trusting the project'),
    trustLaunch: refuse('trust the server'),
    sign: refuse('keep the signature'),
    grants: { give: refuse('grant'), revoke: refuse('take the grant back') },
    catalog: { put: refuse('keep what the server lists'), approve: refuse('trust the tool') },
    uses: { credit: refuse('remember the use'), forget: refuse('forget') },
    exclusively: refuse('write'),
    runs: { open: refuse('begin the run'), close: refuse('end the run') },
    approvals: {
      ask: refuse('ask a person'),
      decide: refuse('keep the answer'),
      expire: refuse('keep the answer'),
    },
    limits: {
      take: refuse('count the call'),
      giveBack: refuse('uncount the call'),
      reserve: refuse('count the call'),
      settle: refuse('count the call'),
      divide: refuse('share a budget'),
      reunite: refuse('share a budget'),
      setStreak: refuse('remember how the call ended'),
    },
    undo: {
      open: refuse('keep what is there before the call'),
      close: refuse('keep what the call left'),
      discard: refuse('drop what was kept'),
      markUndone: refuse('undo the call'),
      trim: refuse('drop what was kept'),
    },
  }
}

type RefusedWrites = Pick<Registry, 'publish' | 'remove'> &
  Pick<Journal, 'append' | 'erase' | 'noteHead'> &
  Pick<Trust, 'trustProject' | 'revokeProject' | 'trustLaunch' | 'sign'> &
  Pick<Store, 'exclusively'> & {
    readonly runs: Pick<Runs, 'open' | 'close'>
    readonly approvals: Omit<Approvals, 'list'>
    readonly limits: Omit<Limits, 'streak'>
    readonly undo: Pick<UndoLog, 'open' | 'close' | 'discard' | 'markUndone' | 'trim'>
    readonly grants: Pick<Grants, 'give' | 'revoke'>
    readonly catalog: Pick<Catalog, 'put' | 'approve'>
    readonly uses: Pick<Uses, 'credit' | 'forget'>
  }
