import type { JsonObject } from '../shared/json.ts'

/** What an upstream said of itself when it was last asked. `key` is its server item and how it is reached: another command or address is another upstream. */
export interface Listing {
  readonly key: string
  /** The id of the server item. */
  readonly server: string
  /** Milliseconds since 1970. */
  readonly listed_at: number
  /** Of all its definitions together, in canonical form. */
  readonly hash: string
  readonly era: 'legacy' | 'modern'
  /** '' where it is not known how it speaks: so far it was only spoken to in the older era, on purpose. */
  readonly protocol: string
  readonly capabilities: JsonObject
  /** Never used as a name: the person's name for it counts. */
  readonly server_info: JsonObject
  readonly instructions: string | null
}

/** Why a definition is kept from agents. */
export type QuarantineReason = 'new' | 'changed' | 'flagged' | 'unvouched'

/** One tool of an upstream as it defined it. */
export interface CatalogTool {
  readonly name: string
  /** The whole object as it came. */
  readonly raw: JsonObject
  /** sha256 of the raw object in canonical form and of the key. */
  readonly pin: string
  /** `missing`: the upstream does not list it any more; `unusable`: its name or schema cannot be taken. */
  readonly state: 'usable' | 'quarantined' | 'missing' | 'unusable'
  readonly reason: QuarantineReason | null
  /** What was found in its texts, or is wrong with it, in words. */
  readonly findings: readonly string[]
  /** The object as a person, or the first listing, let it pass; null when nobody did. */
  readonly approved: JsonObject | null
}

/** What is known of upstreams without asking them. Every write grows the generation of the store. */
export interface Catalog {
  listing(key: string): Promise<Listing | null>
  /** Another one when anything but the time of the listing has changed; null when there is none. */
  revision(key: string): Promise<string | null>
  tools(key: string): Promise<readonly CatalogTool[]>
  /** The names of those it lists. */
  names(key: string): Promise<readonly string[]>
  tool(key: string, name: string): Promise<CatalogTool | null>
  /** A listing with all its tools, in place of the one before, in one transaction. */
  put(listing: Listing, tools: readonly CatalogTool[]): Promise<void>
  /** A person lets definitions pass as they stand, all or none: CONFLICT when one has another pin by now. */
  approve(key: string, seen: readonly Pick<CatalogTool, 'name' | 'pin'>[]): Promise<void>
  /** What is listed is to be asked for again. */
  expire(key: string): Promise<void>
}
