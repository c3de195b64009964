import type { Publisher } from '../config/config.ts'
import { fitsGlob } from '../shared/glob.ts'
import type { Item } from './item.ts'
import type { PublicKey } from './signing-key.ts'
import { readPublicKey } from './signing-key.ts'

/** Somebody whose signature counts, for the items of one namespace. */
export interface KnownPublisher extends PublicKey {
  readonly name: string
  readonly isRevoked: boolean
  /** By id, or by category and id. */
  covers(item: Item): boolean
}

/** By fingerprint. One key may have several namespaces; once revoked it is so in all of them. */
export function readPublishers(publishers: readonly Publisher[]): ReadonlyMap<string, KnownPublisher> {
  const known = new Map<string, KnownPublisher>()
  for (const { name, key, namespace, revoked } of publishers) {
    const read = readPublicKey(key)
    const before = known.get(read.fingerprint)
    known.set(read.fingerprint, {
      ...read,
      name,
      isRevoked: revoked || before?.isRevoked === true,
      covers: (item) => covers(namespace, item) || before?.covers(item) === true,
    })
  }
  return known
}

function covers(namespace: string, { id, manifest: { category } }: Item): boolean {
  return fitsGlob(namespace, id) || (category !== null && fitsGlob(namespace, `${category}/${id}`))
}
