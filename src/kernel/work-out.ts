import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Arrival, Ticket, Understood, Wish, Work } from './call.ts'
import { connectWork } from './connect-work.ts'
import { copyWork } from './copy-work.ts'
import { createWork } from './create-work.ts'
import { decideWork } from './decide-work.ts'
import { deleteWork } from './delete-work.ts'
import { discoverWork } from './discover-work.ts'
import { directiveWork, finishWork } from './directive-work.ts'
import { eraseWork } from './erase-work.ts'
import { forgetWork } from './forget-work.ts'
import { grantWork, revokeGrantWork } from './grant-work.ts'
import { importServersWork } from './import-servers-work.ts'
import { importWork } from './import-work.ts'
import { loginWork } from './login-work.ts'
import type { Means } from './means.ts'
import { relayWork } from './relay-work.ts'
import { publishWork } from './publish-work.ts'
import { rollbackWork } from './rollback-work.ts'
import { runWork } from './run-work.ts'
import { secretCommandWork, secretWork } from './secret-work.ts'
import { addServerWork, removeServerWork } from './server-work.ts'
import { undoImportWork } from './undo-import-work.ts'
import { signWork } from './sign-work.ts'
import { trustServerWork } from './trust-server-work.ts'
import { trustWork } from './trust-work.ts'
import { undoWork } from './undo-work.ts'
import { updateWork } from './update-work.ts'

/** From what a request means to what it would do. */
export function workOut(understood: Understood, ticket: Ticket, means: Means): Maybe<Arrival> {
  const { lookup, isDryRun } = understood
  const bound = isDryRun ? { ...means, listings: null } : means
  return after(workOf(understood, ticket, bound), (work) => ({
    work,
    projectPath: lookup.projectPath,
    isDryRun,
  }))
}

function workOf({ wish, lookup }: Understood, ticket: Ticket, means: Means): Maybe<Work> {
  if (isPersons(wish)) return workOfPerson(wish, lookup, ticket, means)
  switch (wish.kind) {
    case 'run':
      return (wish.itemType === 'directive' ? directiveWork : runWork)(wish, lookup, ticket, means)
    case 'finish':
      return finishWork(wish, ticket, means)
    case 'create':
      return createWork(wish, lookup, ticket, means)
    case 'update':
      return updateWork(wish, lookup, ticket, means)
    case 'discover':
      return discoverWork(wish, lookup, ticket, means)
    case 'publish':
      return publishWork(wish, lookup, ticket, means)
    case 'delete':
      return deleteWork(wish, lookup, ticket, means)
    case 'copy':
      return copyWork(wish, lookup, ticket, means)
    case 'sign':
      return signWork(wish, lookup, ticket, means)
    case 'undo':
      return undoWork(wish, lookup, ticket, means)
    case 'relay':
      return relayWork(wish, lookup, ticket, means)
  }
}

/** What no action of `execute` means. */
const PERSONS = [
  'rollback',
  'import',
  'undo_import',
  'trust',
  'decide',
  'secret',
  'secret_command',
  'grant',
  'revoke_grant',
  'erase',
  'forget',
] as const
/** The same for servers. */
const SERVERS = ['import_servers', 'add_server', 'remove_server', 'trust_server', 'login', 'connect'] as const
type ServersWish = Extract<Wish, { kind: (typeof SERVERS)[number] }>
type PersonsWish = Extract<Wish, { kind: (typeof PERSONS)[number] }> | ServersWish

function isPersons(wish: Wish): wish is PersonsWish {
  return PERSONS.some((kind) => kind === wish.kind) || isServers(wish)
}

function isServers(wish: Wish): wish is ServersWish {
  return SERVERS.some((kind) => kind === wish.kind)
}

function workOfPerson(wish: PersonsWish, lookup: Lookup, ticket: Ticket, means: Means): Promise<Work> {
  if (isServers(wish)) return workOfServer(wish, lookup, ticket, means)
  switch (wish.kind) {
    case 'rollback':
      return rollbackWork(wish, lookup, ticket, means)
    case 'import':
      return importWork(wish, lookup, ticket, means)
    case 'undo_import':
      return undoImportWork(wish, lookup, ticket, means)
    case 'trust':
      return trustWork(wish, lookup, ticket, means)
    case 'decide':
      return decideWork(wish, lookup, ticket, means)
    case 'secret':
      return secretWork(wish, ticket, means)
    case 'secret_command':
      return secretCommandWork(wish, ticket, means)
    case 'grant':
      return grantWork(wish, lookup, ticket, means)
    case 'revoke_grant':
      return revokeGrantWork(wish, ticket, means)
    case 'erase':
      return eraseWork(wish, ticket, means)
    case 'forget':
      return forgetWork(wish, ticket, means)
  }
}

function workOfServer(wish: ServersWish, lookup: Lookup, ticket: Ticket, means: Means): Promise<Work> {
  switch (wish.kind) {
    case 'import_servers':
      return importServersWork(wish, lookup, ticket, means)
    case 'add_server':
      return addServerWork(wish, lookup, ticket, means)
    case 'remove_server':
      return removeServerWork(wish, lookup, ticket, means)
    case 'trust_server':
      return trustServerWork(wish, lookup, ticket, means)
    case 'login':
      return loginWork(wish, lookup, ticket, means)
    case 'connect':
      return connectWork(wish, lookup, ticket, means)
  }
}
