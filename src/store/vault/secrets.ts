import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { Config } from '../../config/config.ts'
import { isOpen } from '../../config/environment.ts'
import type { Clock } from '../../shared/clock.ts'
import { KiwiError, errnoOf } from '../../shared/errors.ts'
import type { KnownSecrets } from '../../shared/known-secrets.ts'
import { openKnownSecrets } from '../../shared/known-secrets.ts'
import type { Maybe } from '../../shared/maybe.ts'
import type { Redact } from '../../shared/redact.ts'
import { SHORTEST_SECRET } from '../../shared/redact.ts'
import type { Store } from '../store.ts'
import { openKeychain } from './keychain.ts'
import type { Logins } from './logins.ts'
import { isLoginName, openLogins, secretsOfLogin } from './logins.ts'
import type { Argv, Vault } from './vault.ts'
import { openVault } from './vault.ts'
import { openVaultKeys } from './vault-keys.ts'

/** What the names of secrets stand for. */
export interface Secrets {
  readonly vault: Vault
  readonly logins: Logins
  /** As far as they stand for anything: in the vault, then in the environment, then in `.env` of the user space. */
  find(names: ReadonlySet<string>): Promise<FoundSecrets>
  /** From now on it is taken out of everything: for what a program gave. */
  know(name: string, value: string): void
  /** Takes out every value that this process knows, whichever call it was for: it may come back by any other. */
  readonly redact: Redact
  /** Gets to know what is in the vault, where that takes no time and asks nobody. */
  learn(): Maybe<void>
}

/** What names stand for; no name is in both. */
export interface FoundSecrets {
  readonly values: ReadonlyMap<string, string>
  /** Those that a program gives, when it is asked. */
  readonly commands: ReadonlyMap<string, SecretCommand>
}

/** A program that gives a secret, as a person set it. */
export interface SecretCommand {
  readonly argv: Argv
  readonly set_at: string
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
        [...secrets].flatMap(([name, { value }]) => {
          if (value === undefined) return []
          return isLoginName(name) ? secretsOfLogin(value) : [[name, value] as const]
        }),
      ),
  })
  return {
    vault,
    logins: openLogins({ vault, path, clock }),
    redact: known.redact,
    learn() {
      try {
        const learning = vault.glance()
        return learning instanceof Promise ? learning.catch(passOver) : learning
      } catch {
        return undefined
      }
    },
    know: (name, value) => known.add([[name, value]]),
    async find(names) {
      const values = new Map<string, string>()
      const commands = new Map<string, SecretCommand>()
      const take = (name: string, value: string | undefined): void => {
        if (value !== undefined && value !== '' && !values.has(name) && !commands.has(name))
          values.set(name, value)
      }
      const kept = await vault.read()
      for (const name of names) {
        const { value, command, set_at = '' } = kept.get(name) ?? {}
        if (command === undefined) take(name, value)
        else commands.set(name, { argv: command, set_at })
      }
      for (const name of names) if (Object.hasOwn(environment, name)) take(name, environment[name])
      if (values.size + commands.size < names.size) {
        const written = readEnvFile(join(userSpace, '.env'))
        for (const name of names) if (Object.hasOwn(written, name)) take(name, written[name])
      }
      known.add(values)
      return { values, commands }
    },
  }
}

/** What cannot be read is said where it is needed. */
function passOver(): void {}

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

/** Why a text is no secret; null when it can be one. A shorter one would turn ordinary text into marks. */
export function faultOfValue(value: string): string | null {
  if (value.trim().length < SHORTEST_SECRET)
    return `it has fewer than ${SHORTEST_SECRET} characters, so it could not be taken out of results`
  if (value.length > LONGEST) return `it has more than ${LONGEST} characters`
  return value.includes('\0') ? 'it holds a character that no variable can' : null
}

const TOO_SHORT = 'Use a longer one, or write what is no secret into the manifest'
const TOO_LONG = 'Keep it in a file of its own that only its tool reads, and the path to it in the manifest'
const NO_TEXT = 'Give it as text, bytes as base64: tools get it as a variable or a header'

export function assertSecretValue(name: string, value: string): void {
  const reason = faultOfValue(value)
  if (reason === null) return
  throw new KiwiError('INVALID_PARAMETERS', `Cannot use the value of ${name} as a secret: ${reason}`, {
    hint: value.length > LONGEST ? TOO_LONG : value.includes('\0') ? NO_TEXT : TOO_SHORT,
    details: { missing: [], invalid: [{ name, reason }] },
  })
}
