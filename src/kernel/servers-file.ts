import { join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import { statOf } from '../spaces/disk.ts'
import type { ServerChanges } from '../spaces/edit-servers.ts'
import { editServers } from '../spaces/edit-servers.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { decodeText, readRegularFile } from '../spaces/read-file.ts'
import { stampAt } from '../spaces/scan.ts'
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
  const isNew = statOf(path) === null
  const stamp = isNew ? null : stampAt({ path, kind: 'manifest', beside: [] })
  const text = isNew ? '' : decodeText(readRegularFile(path, LIMITS.itemBytes).bytes, path)
  return {
    path,
    text,
    isNew,
    async change(changes) {
      const edited = await editServers(text, changes, path)
      const manifest = { path: 'mcp_registry.yaml', content: Buffer.from(edited), isExecutable: false }
      const write = async (): Promise<void> => {
        const place = { id: 'mcp_registry', root, within, path: SERVERS_PATH, isFolder: false }
        const replaces = isNew ? 'nothing' : { stamp }
        await writeItem({ ...place, manifest, files: [], replaces, isLibrary: true }, (work) =>
          means.store.exclusively(work),
        )
        lookup.freshen(true)
      }
      return { text: edited, write }
    },
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
