import { isObject } from '../../shared/json.ts'
import type { Connection } from './connection.ts'
import { isBusy } from './failure.ts'

/** A number that grows with each change of the registry, whichever process made it. */
export interface Generation {
  current(): number
  /** Called inside the transaction that changes the registry. */
  grow(): void
}

export function createGeneration(connection: Connection): Generation {
  const dataVersion = connection.prepare('PRAGMA data_version')
  const stored = connection.prepare("SELECT value FROM meta WHERE key = 'registry_generation'")
  const growing = connection.prepare("UPDATE meta SET value = value + 1 WHERE key = 'registry_generation'")
  let known = 0
  let seen: unknown
  // data_version tells of the commits of others only.
  let isOurs = true
  return {
    current() {
      try {
        const now = numberIn(dataVersion.get(), 'data_version')
        if (!isOurs && now === seen) return known
        known = numberIn(stored.get(), 'value')
        seen = now
        isOurs = false
      } catch (error) {
        // The next call looks again.
        if (!isBusy(error)) throw error
      }
      return known
    },
    grow() {
      growing.run()
      isOurs = true
    },
  }
}

function numberIn(row: unknown, column: string): number {
  return isObject(row) ? Number(row[column]) : 0
}
