import { z } from 'zod'
import type { Clock } from '../../shared/clock.ts'
import { canonicalJson, sha256 } from '../../shared/json.ts'
import { takeLock } from '../../shared/take-lock.ts'
import type { Vault } from './vault.ts'

/** What a login to a server gave, and what it takes to renew it. */
export type Login = z.infer<typeof Login>

const Login = z.strictObject({
  /** How people know the server. */
  server: z.string(),
  url: z.string(),
  /** Whose calls may use it; `*` for everybody. */
  principal: z.string(),
  /** Who gave it: it is renewed there and nowhere else. */
  issuer: z.string(),
  /** What the token is for, in the words of the issuer; null when it says nothing of that. */
  resource: z.string().nullable(),
  scope: z.string(),
  client: z.looseObject({ client_id: z.string(), client_secret: z.string().optional() }),
  access_token: z.string(),
  refresh_token: z.string().nullable(),
  /** Milliseconds since 1970; null when it was not said. */
  expires_at: z.number().nullable(),
  /** What the server asked for beyond it, for the next login; and how often in a row a login was made for that. */
  wanted: z.string().nullable(),
  step_ups: z.number(),
})

/** Whose login to which address. */
interface LoginKey {
  readonly url: string
  readonly principal: string
}

/** Logins in the vault, each under an address and a principal: another address has none of them. */
export interface Logins {
  /** That of the principal, else that of everybody. */
  find(key: LoginKey): Promise<Login | null>
  keep(login: Login): Promise<void>
  /** Who gave the login, also one that is over: a secret that went to one issuer goes to no other unasked. */
  issuerOf(key: LoginKey): Promise<string | null>
  /** It holds no more; who gave it stays known until it is forgotten. */
  end(login: Login): Promise<void>
  /** Whether there was one. */
  forget(key: LoginKey): Promise<boolean>
  /** Of all processes one at a time does this for a login: what can be used once is not used by two. */
  inTurn<T>(key: LoginKey, work: () => Promise<T>): Promise<T>
}

interface LoginsMeans {
  readonly vault: Vault
  /** Where the vault is: locks lie beside it. */
  readonly path: string
  readonly clock: Clock
}

/** No secret of a person can have such a name. */
const PREFIX = 'login:'

/** Longer than anybody has for a renewal: whoever has the turn has it no longer. */
const LONGEST_TURN_MS = 40_000

export function openLogins({ vault, path, clock }: LoginsMeans): Logins {
  const read = async (key: LoginKey): Promise<Login | null> => {
    const kept = (await vault.read()).get(nameOf(key))
    return kept?.value === undefined ? null : parse(kept.value)
  }
  const live = async (key: LoginKey): Promise<Login | null> => {
    const login = await read(key)
    return login === null || isOver(login) ? null : login
  }
  return {
    find: async (key) => (await live(key)) ?? live(everybody(key)),
    issuerOf: async (key) => ((await read(key)) ?? (await read(everybody(key))))?.issuer ?? null,
    end: ({ client: { client_id }, ...login }) =>
      vault.set(
        nameOf(login),
        JSON.stringify({ ...login, client: { client_id }, access_token: '', refresh_token: null }),
      ),
    keep: (login) => vault.set(nameOf(login), JSON.stringify(login)),
    forget: (key) => vault.remove(nameOf(key)),
    async inTurn(key, work) {
      const release = await takeLock(`${path}.${hashOf(key)}.lock`, {
        clock,
        signal: AbortSignal.timeout(LONGEST_TURN_MS),
        isDone: () => false,
        onWait: () => {},
        longestMs: LONGEST_TURN_MS,
      })
      try {
        return await work()
      } finally {
        await release?.()
      }
    },
  }
}

function everybody(key: LoginKey): LoginKey {
  return { ...key, principal: '*' }
}

function isOver({ access_token }: Login): boolean {
  return access_token === ''
}

export function isLoginName(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** What of a login must never be shown, by what it is called where it is taken out. */
export function secretsOfLogin(text: string): readonly (readonly [name: string, value: string])[] {
  const login = parse(text)
  if (login === null) return []
  const { access_token, refresh_token, client } = login
  const all = { access_token, refresh_token, client_secret: client.client_secret }
  return Object.entries(all).flatMap(([name, value]) =>
    typeof value === 'string' ? [[`${login.server} ${name}`, value] as const] : [],
  )
}

function nameOf(key: LoginKey): string {
  return `${PREFIX}${hashOf(key)}`
}

function hashOf({ url, principal }: LoginKey): string {
  return sha256(canonicalJson({ url, principal })).slice(0, 32)
}

/** One that another version wrote is none: whoever needs it logs in again. */
function parse(text: string): Login | null {
  return Login.safeParse(JSON.parse(text)).data ?? null
}
