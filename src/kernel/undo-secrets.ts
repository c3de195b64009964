import type { Batch } from '../spaces/import/batch.ts'
import { serverId } from '../spaces/server-entry.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { ItemName } from '../shared/ids.ts'
import type { Means } from './means.ts'

/** A secret that an import brought: it goes again, is gone already, or stays. */
export interface SecretLine {
  readonly id: string
  readonly type: 'secret'
  readonly path: string
  readonly state: 'removed' | 'gone' | 'conflict'
  readonly reason: string | null
}

/** What would become of the secrets that an import of servers brought. */
export async function judgeSecrets(
  { secrets: brought, servers }: Batch,
  { secrets: { vault }, store }: Means,
): Promise<readonly SecretLine[]> {
  if (brought.length === 0) return []
  const kept = await vault.read()
  const own = new Set(servers.map(({ name }) => serverId(name)))
  const elsewhere = (await store.grants.read()).filter(({ tool }) => !own.has(tool))
  return brought.map(({ name, set_at: setAt }): SecretLine => {
    const line = { id: name, type: 'secret', path: name } as const
    const there = kept.get(name)
    if (there === undefined) return { ...line, state: 'gone', reason: null }
    const why =
      there.set_at === setAt
        ? elsewhere.some(({ secret }) => secret === name)
          ? 'it was granted to something else since: left as it is'
          : null
        : 'it was changed since the import: left as it is'
    return { ...line, state: why === null ? 'removed' : 'conflict', reason: why }
  })
}

/** Takes back what an import of servers granted and kept, once its servers are gone. */
export async function takeBackSecrets(
  batch: Batch,
  lookup: Lookup,
  means: Means,
): Promise<readonly SecretLine[]> {
  const imported = batch.servers.filter(({ state }) => state === 'imported')
  for (const { name } of imported) {
    const ref = { name: ItemName.parse(serverId(name)), category: null, version: null }
    const left = await lookup.find(ref, 'mcp')
    // What is still named, there or in another space, keeps what it was given.
    if (left === null || left.form !== 'entry') await means.store.grants.revoke(serverId(name), null)
  }
  const lines = await judgeSecrets(batch, means)
  for (const { id, state } of lines) if (state === 'removed') await means.secrets.vault.remove(id)
  return lines
}
