import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { Config } from '../../config/config.ts'
import { isOpen } from '../../config/environment.ts'
import type { Clock } from '../../shared/clock.ts'
import { KiwiError, errnoOf } from '../../shared/errors.ts'
import type { KnownSecrets } from '../../shared/known-secrets.ts'
import { openKnownSecrets } from '../../shared/known-secrets.ts'
import type { Redact } from '../../shared/redact.ts'
import { SHORTEST_SECRET } from '../../shared/redact.ts'
import type { Store } from '../store.ts'
import { openKeychain } from './keychain.ts'
import type { Logins } from './logins.ts'
import { isLoginName, openLogins, secretsOfLogin } from './logins.ts'
import type { Vault } from './vault.ts'
import { openVault } from './vault.ts'
import { openVaultKeys } from './vault-keys.ts'

/** What the names of secrets stand for. */
export interface Secrets {
  readonly vault: Vault
  readonly logins: Logins
  /** As far as they stand for anything: in the vault, then in the environment, then in `.env` of the user space. */
  valuesOf(names: ReadonlySet<string>): Promise<ReadonlyMap<string, string>>
  /** Takes out every value that this process knows, whichever call it was for: it may come back by any other. */
  readonly redact: Redact
  /** Gets to know what is in the vault, where that takes no time and asks nobody. */
  learn(): Promise<void>
}

interface SecretMeans {
  readonly config: Pick<Config, 'vault' | 'userSpace' | 'environment'>
  readonly clock: Clock
  readonly store: Pick<Store, 'exclusively'>
  /** What else this process knows; left out, nothing. */
  readonly known?: KnownSecrets
}

export function openSecrets({ config, clock, store, known = openKnownSecrets() }: SecretMeans): Secrets {
  const { environment, userSpace } = config
  const { path, keyFile, passphrase } = config.vault
  const vault = openVault({
    path,
    keys: openVaultKeys({ keyFile, passphrase, keychain: openKeychain(environment) }),
    exclusively: (work) => store.exclusively(work),
    now: () => clock.now(),
    learn: (secrets) =>
      known.add(
        [...secrets].flatMap(([name, { value }]) =>
          isLoginName(name) ? secretsOfLogin(value) : [[name, value] as const],
        ),
      ),
  })
  return {
    vault,
    logins: openLogins(vault),
    redact: known.redact,
    learn: () => vault.glance(),
    async valuesOf(names) {
      const values = new Map<string, string>()
      const take = (name: string, value: string | undefined): void => {
        if (value !== undefined && value !== '' && !values.has(name)) values.set(name, value)
      }
      const kept = await vault.read()
      for (const name of names) take(name, kept.get(name)?.value)
      for (const name of names) if (Object.hasOwn(environment, name)) take(name, environment[name])
      if (values.size < names.size) {
        const written = readEnvFile(join(userSpace, '.env'))
        for (const name of names) if (Object.hasOwn(written, name)) take(name, written[name])
      }
      known.add(values)
      return values
    },
  }
}

/** One that cannot be read is none: what is missing is said where it is needed. */
function readEnvFile(path: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (error) {
    if (errnoOf(error) !== '') return {}
    throw error
  }
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

/** Refuses a name that no template could ask for, or that stands for something else already. */
export function assertSecretName(name: string): void {
  const reason = !NAME.test(name)
    ? 'a name is made of letters, digits and _'
    : isOpen(name)
      ? 'every tool sees the variable of this name'
      : name.startsWith('KIWI_')
        ? 'names that begin with KIWI_ belong to Kiwi'
        : null
  if (reason === null) return
  throw new KiwiError('INVALID_PARAMETERS', `Cannot use "${name}" as the name of a secret: ${reason}`, {
    hint: 'Choose a name such as WEATHER_KEY',
    details: { missing: [], invalid: [{ name: 'name', reason }] },
  })
}

const LONGEST = 64 * 1024

/** A shorter value cannot be taken out of results: it would turn ordinary text into marks. */
export function assertSecretValue(name: string, value: string): void {
  const reason =
    value.trim().length < SHORTEST_SECRET
      ? `it has fewer than ${SHORTEST_SECRET} characters, so it could not be taken out of results`
      : value.length > LONGEST
        ? `it has more than ${LONGEST} characters`
        : value.includes('\0')
          ? 'it holds a character that no variable can'
          : null
  if (reason === null) return
  throw new KiwiError('INVALID_PARAMETERS', `Cannot use the value of ${name} as a secret: ${reason}`, {
    hint: 'Use a longer one, or write what is no secret into the manifest',
    details: { missing: [], invalid: [{ name, reason }] },
  })
}
