import { KiwiError } from '../shared/errors.ts'
import { serverName } from '../shared/groups.ts'
import { keepAll } from '../shared/redact.ts'
import { realPathOf } from '../spaces/disk.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'
import { trustLaunches } from './trust-launches.ts'

/** A person lets the items of a project run, or no longer. It is one decision, on record, for the folder itself. */
export async function trustWork(
  { project, isRevoked }: Extract<Wish, { kind: 'trust' }>,
  lookup: Lookup,
  { caller }: Ticket,
  means: Means,
): Promise<Work> {
  const { store, clock } = means
  // A folder that is gone can still be on the list, and another may come to stand in its place.
  const path = realPathOf(project) ?? (isRevoked ? project : null)
  if (path === null) {
    throw new KiwiError('PROJECT_PATH_REQUIRED', `Cannot trust "${project}": it is not a folder`)
  }
  if (caller.kind !== 'person') {
    throw new KiwiError('UNTRUSTED', `Cannot trust "${path}": only a person can`, {
      hint: `Ask the person to review it and run: kiwi trust --project ${path}`,
      details: { reason: 'person', project: path },
    })
  }
  const action = isRevoked ? 'revoke' : 'trust'
  const link = { id: 'kiwi-mcp', version: null, space: null }
  return {
    item: link,
    action,
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action }],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { project: path },
    redact: keepAll,
    preview: () => ({ project: path }),
    warnings: [],
    async perform() {
      const left: string[] = []
      const trusted_at = new Date(clock.now()).toISOString()
      if (isRevoked) await store.trust.revokeProject(path)
      else {
        await store.trust.trustProject({ path, trusted_at, trusted_by: caller.principal })
        left.push(...(await trustLaunches(lookup, caller, means)))
      }
      lookup.freshen(true)
      return {
        data: { output: `${isRevoked ? 'No longer trusted' : 'Trusted'}: ${path}`, project: path },
        warnings: left.map(
          (id) =>
            `texts of "${id}" speak to the model; it stays untrusted until: kiwi trust ${serverName(id)}`,
        ),
      }
    },
  }
}
