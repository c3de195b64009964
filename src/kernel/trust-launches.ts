import { realPathOf } from '../spaces/disk.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { Caller } from './call.ts'
import type { Means } from './means.ts'

/** A person's word for how the servers of a project, or one of them, are started or reached now. */
export async function trustLaunches(
  lookup: Lookup,
  { principal }: Caller,
  { store, clock }: Means,
  only?: string,
): Promise<void> {
  const project = lookup.projectPath === null ? null : realPathOf(lookup.projectPath)
  if (project === null) return
  const kept = { kept_at: new Date(clock.now()).toISOString(), kept_by: principal }
  // What was written a moment ago counts.
  await lookup.syncIndex()
  for (const { item, key } of await lookup.servers()) {
    if (item.space !== 'project' || (only !== undefined && item.id !== only)) continue
    await store.trust.trustLaunch({ project, server: item.id, identity: key, ...kept })
  }
}
