import { z } from 'zod'
import { KiwiError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'

/** What the config of a server says of a login, with everything filled in. */
export interface OauthTerms {
  /** False where the config says nothing of a login. */
  readonly isSaid: boolean
  /** A client that the issuer knows, or the address of a document that describes one. */
  readonly clientId: string | null
  readonly clientSecret: string | null
  readonly scopes: readonly string[]
  /** Who may give it; null: whoever the server names first. */
  readonly issuer: string | null
  /** Whether Kiwi logs in by itself, with the secret of the client. */
  readonly isOwn: boolean
}

/** A server to log in to, as calls of one principal see it. */
export interface LoginTarget {
  /** How people know it. */
  readonly id: string
  readonly url: string
  readonly principal: string
  readonly terms: OauthTerms
  /** The `host:port` of its address where a person wrote that themselves. */
  readonly named?: string | null
}

const Auth = z.looseObject({
  client_id: z.string().min(1).optional(),
  client_secret: z.string().min(1).optional(),
  scopes: z.union([z.array(z.string()), z.string().transform((text) => text.split(/\s+/))]).optional(),
  issuer: z.url().optional(),
  flow: z.enum(['authorization_code', 'client_credentials']).optional(),
})

/** Null stands for a config that says nothing of it: a login may be asked for all the same. */
export function readTerms(id: string, config: JsonObject | null): OauthTerms {
  const read = Auth.safeParse(config ?? {})
  const isOwn = read.data?.flow === 'client_credentials'
  const { client_id: clientId = null, client_secret: clientSecret = null } = read.data ?? {}
  if (!read.success || (isOwn && (clientId === null || clientSecret === null))) {
    const [issue] = read.error?.issues ?? []
    const reason =
      issue === undefined
        ? 'flow client_credentials needs client_id and client_secret'
        : `${issue.path.join('.')}: ${issue.message}`
    throw new KiwiError('INVALID_CONFIG', `Cannot read auth of "${id}": ${reason}`, {
      hint: 'Write {type: oauth}, with client_id, client_secret, scopes, issuer and flow where they are needed',
    })
  }
  const { scopes = [], issuer = null } = read.data
  return {
    isSaid: config !== null,
    clientId,
    clientSecret,
    scopes: scopes.filter((scope) => scope !== ''),
    issuer,
    isOwn,
  }
}
