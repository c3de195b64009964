import type { Redact } from './redact.ts'
import { createRedact, keepAll } from './redact.ts'

type Values = Iterable<readonly [name: string, value: string]>

/** All values that came by in this process, under the first name each had; of one that was replaced the old one too. */
export interface KnownSecrets {
  readonly add: (values: Values) => void
  readonly redact: Redact
}

export function openKnownSecrets(): KnownSecrets {
  const names = new Map<string, string>()
  let redact = keepAll
  return {
    add(values) {
      const before = names.size
      for (const [name, value] of values) names.set(value, names.get(value) ?? name)
      if (names.size > before) redact = createRedact(Array.from(names, ([value, name]) => [name, value]))
    },
    redact: (value, isCut) => redact(value, isCut),
  }
}
