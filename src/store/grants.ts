/** A person's yes: this content of this tool may read this secret, for this place. */
export interface StoredGrant {
  /** Whose calls; `*` = everybody's. */
  readonly principal: string
  readonly tool: string
  readonly digest: string
  readonly secret: string
  /** `env:NAME`, `header:name` or `host:name`; null = wherever the manifest names it. */
  readonly sink: string | null
  readonly granted_at: string
  readonly granted_by: string
}

export interface Grants {
  /** Of one tool, of any content; or all. Ordered by tool and secret. */
  read(tool?: string): Promise<readonly StoredGrant[]>
  /** In place of what the same principal, tool, content and secret had before. */
  give(grants: readonly StoredGrant[]): Promise<void>
  /** Of any content; of all secrets when none is named. How many there were. */
  revoke(tool: string, secret: string | null): Promise<number>
}
