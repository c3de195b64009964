import type { AsyncEntry as Entry } from '@napi-rs/keyring'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../../config/environment.ts'

/** Where the system keeps passwords. Every call fails where there is none, and none waits for long. */
export interface Keychain {
  get(account: string): Promise<string | null>
  set(account: string, text: string): Promise<void>
  remove(account: string): Promise<void>
}

const SERVICE = 'kiwi-mcp'
/** A person may have to unlock it first; whoever waits for a call does not wait for longer. */
const LIMIT_MS = 10_000

/** The package is optional, and imported when a key is first needed. */
export function openKeychain(environment: Environment): Keychain {
  const use = async <T>(
    account: string,
    work: (entry: Entry, signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    if (!isLikely(environment)) throw new Error('there is no session bus to reach it by')
    const { AsyncEntry } = await import('@napi-rs/keyring')
    // The other store of Linux is empty after a restart of the machine.
    const entry = new AsyncEntry(SERVICE, account, { linux: { store: 'secret-service' } })
    const limit = AbortSignal.timeout(LIMIT_MS)
    return Promise.race([work(entry, limit), expiry(limit)])
  }
  return {
    get: (account) => use(account, (entry, signal) => entry.getPassword(signal)),
    set: (account, text) => use(account, (entry, signal) => entry.setPassword(text, signal)),
    remove: (account) =>
      use(account, async (entry, signal) => {
        await entry.deleteCredential(signal)
      }),
  }
}

/** Without a session there is nobody who could have unlocked it: asking would only take time. */
function isLikely({
  DBUS_SESSION_BUS_ADDRESS: bus = '',
  XDG_RUNTIME_DIR: folder = '',
}: Environment): boolean {
  return process.platform !== 'linux' || bus !== '' || (folder !== '' && existsSync(join(folder, 'bus')))
}

function expiry(limit: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    limit.addEventListener('abort', () => reject(new Error(`it did not answer within ${LIMIT_MS / 1000} s`)))
  })
}
