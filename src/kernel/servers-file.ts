import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { KiwiError } from '../shared/errors.ts'
import { canonicalJson } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { statOf } from '../spaces/disk.ts'
import type { ServerChanges } from '../spaces/edit-servers.ts'
import { editServers } from '../spaces/edit-servers.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { decodeText, readRegularFile } from '../spaces/read-file.ts'
import { stampAt } from '../spaces/scan.ts'
import { readServers } from '../spaces/read-servers.ts'
import { registryFile } from '../spaces/server-registry.ts'
import { writeItem } from '../spaces/write.ts'
import type { Means } from './means.ts'

/** The `mcp_registry.yaml` of a space as it is now, and how it is given other entries. */
export interface ServersText {
  readonly path: string
  readonly text: string
  readonly isNew: boolean
  /** Works the change out; what it gives writes it. What was changed meanwhile is not written over. */
  change(changes: ServerChanges): Promise<{ readonly text: string; readonly write: () => Promise<void> }>
}

export type ServersPlace = 'user' | 'project'

export const SERVERS_PATH = 'config/mcp_registry.yaml'

export function openServersFile(to: ServersPlace, lookup: Lookup, means: Means): ServersText {
  const { root, within } = rootOf(to, lookup, means)
  const path = registryFile(root)
  const first = readNow(path)
  const put = async (seen: Seen, edited: string): Promise<void> => {
    const place = { id: 'mcp_registry', root, within, path: SERVERS_PATH, isFolder: false }
    const manifest = { path: 'mcp_registry.yaml', content: Buffer.from(edited), isExecutable: false }
    const replaces = seen.stamp === null ? 'nothing' : { stamp: seen.stamp }
    await writeItem({ ...place, manifest, files: [], replaces, isLibrary: true }, (work) =>
      means.store.exclusively(work),
    )
  }
  /** Others may name servers of theirs at the same time: what they wrote stays, and the change is made to that. */
  const write = async (changes: ServerChanges, edited: string): Promise<void> => {
    let [seen, text] = [first, edited]
    for (let tries = 1; ; tries++) {
      try {
        await put(seen, text)
        return lookup.freshen(true)
      } catch (error) {
        if (!(error instanceof KiwiError) || error.code !== 'CONFLICT' || tries >= MOST_TRIES) throw error
      }
      await delay(PAUSE_MS * Math.random())
      const now = readNow(path)
      await assertUntouched(changes, { before: seen.text, now: now.text, path })
      seen = now
      text = await editServers(now.text, changes, path)
    }
  }
  return {
    path,
    text: first.text,
    isNew: first.stamp === null,
    async change(changes) {
      const edited = await editServers(first.text, changes, path)
      return { text: edited, write: () => write(changes, edited) }
    },
  }
}

const MOST_TRIES = 50
const PAUSE_MS = 50

/** The file at one moment. */
interface Seen {
  readonly text: string
  /** Null where there is none. */
  readonly stamp: string | null
}

function readNow(path: string): Seen {
  if (statOf(path) === null) return { text: '', stamp: null }
  const stamp = stampAt({ path, kind: 'manifest', beside: [] })
  return { text: decodeText(readRegularFile(path, LIMITS.itemBytes).bytes, path), stamp }
}

/** What somebody else made of the very servers that are to be changed is not written over. */
async function assertUntouched(
  changes: ServerChanges,
  { before, now, path }: { readonly before: string; readonly now: string; readonly path: string },
): Promise<void> {
  const [old, other] = [await readServers(before, path), await readServers(now, path)]
  for (const name of changes.keys()) {
    const [was, is] = [old, other].map(({ entries }) => canonicalJson(entries.get(name)?.entry ?? null))
    if (was === is) continue
    throw new KiwiError('CONFLICT', `Cannot change "${name}" in "${path}": it was changed meanwhile`, {
      hint: 'Look at it, and run the command again: kiwi servers',
    })
  }
}

export function rootOf(
  to: ServersPlace,
  { projectPath }: Lookup,
  { userSpace }: Means,
): { readonly root: string; readonly within: string | null } {
  if (to === 'user') return { root: userSpace, within: null }
  if (projectPath !== null) return { root: join(projectPath, '.ai'), within: projectPath }
  throw new KiwiError(
    'PROJECT_PATH_REQUIRED',
    'Cannot change the servers of the project: no project folder is known',
  )
}
