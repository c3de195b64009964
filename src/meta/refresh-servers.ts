import type { Caller } from '../kernel/call.ts'
import { endedWithin } from '../shared/ended-within.ts'
import { messageOf } from '../shared/errors.ts'
import { ItemName } from '../shared/ids.ts'
import { nearest } from '../shared/nearest.ts'
import { visibleLine } from '../shared/visible.ts'
import type { Server } from '../spaces/listed.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { MetaCall } from './context.ts'

/** How long a search waits for what was never listed: for a program, and for a person at the command line. */
const WAIT_MS = { agent: 3000, person: 15_000 }

/** How long it waits for one that has said that its tools changed, and is up: what it had before is found all the same. */
const CHANGED_MS = 1000

interface Wanted {
  /** One server; null = all. */
  readonly only: string | null
  /** Servers are what is searched for: each that is left out is named with the reason. */
  readonly isAboutServers: boolean
  readonly projectPath: string | undefined
}

interface Refreshed {
  /** Something was listed meanwhile. */
  readonly hasMore: boolean
  readonly warnings: readonly string[]
}

/**
 * Has servers asked that were never listed, or too long ago. A first answer is waited for, all at once and for a short
 * while, and so is what has changed; nobody waits for what is only old. Says which are left out.
 */
export async function refreshServers(
  lookup: Lookup,
  { only, isAboutServers, projectPath }: Wanted,
  call: MetaCall,
): Promise<Refreshed> {
  const servers = (await lookup.servers()).filter(({ name }) => only === null || name === only)
  if (servers.length === 0) return { hasMore: false, warnings: await noSuchServer(only, lookup) }
  try {
    const left = await Promise.all(await asked(servers, lookup, projectPath, call))
    const warnings = left.filter(({ why }) => why !== null)
    return {
      hasMore: left.some(({ isListed }) => isListed),
      warnings: isAboutServers
        ? warnings.map(({ name, why }) => `"${name}" is left out: ${why}`)
        : briefly(warnings.map(({ name }) => name)).filter((line) => call.isNews(line)),
    }
  } catch (error) {
    return { hasMore: false, warnings: [`servers are not asked what they have: ${messageOf(error)}`] }
  }
}

interface Asked {
  readonly name: string
  readonly isListed: boolean
  /** Why nothing of it is found; null when it is. */
  readonly why: string | null
}

async function asked(
  servers: readonly Server[],
  lookup: Lookup,
  projectPath: string | undefined,
  { kernel, ticket, workplaceAt }: MetaCall,
): Promise<readonly Promise<Asked>[]> {
  const listings = await kernel.listingsFor(ticket, await workplaceAt(projectPath))
  const waitMs = WAIT_MS[ticket.caller.kind]
  return servers.map(async (server): Promise<Asked> => {
    const { name, item, key } = server
    if (await listings.isCurrent(server)) return { name, isListed: false, why: null }
    const known = await lookup.listing(key)
    // Where a person's word is missing nothing is tried, and what is said stops with that word.
    const { refusal } = await kernel.chainOf(item, lookup)
    if (refusal !== null) return { name, isListed: false, why: refusal.message }
    const { failure, first } = listings.refresh(server)
    if (failure !== null) return { name, isListed: false, why: failure }
    const isOld = known !== null && known.listed_at !== 0
    if (isOld || first === null) return { name, isListed: false, why: known === null ? LATER : null }
    let end: Pick<Asked, 'isListed' | 'why'> = { isListed: false, why: LATER }
    const ended = first.asking.then(
      () => (end = { isListed: true, why: null }),
      (error: unknown) => (end = { isListed: false, why: messageOf(error) }),
    )
    await endedWithin(ended, (known === null ? waitMs : CHANGED_MS) - first.forMs)
    return { name, isListed: end.isListed, why: known === null ? end.why : null }
  })
}

const LATER = 'it was never listed and is being asked what it has, search again in a moment'

/** Who looks for something else need not hear all of it, nor hear it again in the same session. */
function briefly(names: readonly string[]): readonly string[] {
  if (names.length === 0) return []
  const [shown, more] = [names.slice(0, MOST_NAMED), names.length - MOST_NAMED]
  return [
    `left out: ${shown.map((name) => `"${name}"`).join(', ')}${more > 0 ? ` and ${more} more` : ''}; search mcp:* says why, and kiwi doctor what to do`,
  ]
}

const MOST_NAMED = 5

/** Remembers what each session was told last. Of one that several clients share nothing is known. */
export function openTold(): (caller: Caller, line: string) => boolean {
  const told = new Map<string, string>()
  return ({ principal, session, isShared }, line) => {
    const key = `${principal} ${session}`
    if (isShared === true) return true
    if (told.get(key) === line) return false
    told.delete(key)
    told.set(key, line)
    for (const oldest of told.keys()) {
      if (told.size <= MOST_SESSIONS) break
      told.delete(oldest)
    }
    return true
  }
}

const MOST_SESSIONS = 200

async function noSuchServer(only: string | null, lookup: Lookup): Promise<readonly string[]> {
  if (only === null) return []
  const name = ItemName.safeParse(only)
  const ref = name.success ? { name: name.data, category: null, version: null } : null
  if (ref !== null && (await lookup.find(ref, 'mcp')) !== null) return []
  const near = nearest(
    only,
    (await lookup.servers()).map((server) => server.name),
  )
  const meant = near.length === 0 ? 'search mcp:* shows those there are' : `did you mean ${near.join(', ')}?`
  return [`there is no server "${visibleLine(only)}" here: ${meant}`]
}
