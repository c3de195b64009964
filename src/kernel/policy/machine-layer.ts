import { deepFreeze } from '../../shared/json.ts'
import type { Layer, Operation, Rule } from './rule.ts'

/** Places of Kiwi itself that no tool may write to. */
export interface ProtectedPlaces {
  readonly store: string
  readonly token: string
  readonly config: string
  readonly key: string
  readonly publicKey: string
}

/** The layer that is always there: Kiwi cannot be turned against itself; the rest is allowed, and recorded. */
export function machineLayer({ store, token, config, key, publicKey }: ProtectedPlaces): Layer {
  const own = [store, `${store}-wal`, `${store}-shm`, token, config, key, publicKey]
  return deepFreeze({
    name: 'machine',
    isBase: true,
    rules: [
      {
        id: 'machine/own-files',
        op: 'write',
        match: { kind: 'under', paths: own },
        effect: 'deny',
        remedy: 'Only a person changes these files, outside of Kiwi',
      },
      {
        id: 'machine/own-program',
        op: 'exec',
        match: { kind: 'program', names: ['kiwi'] },
        effect: 'deny',
        remedy: 'Call search, load, execute or help instead of starting kiwi from a tool',
      },
      ...(['tool', 'exec', 'net', 'read', 'write', 'spawn'] as const).map(allowed),
    ],
  })
}

function allowed(op: Operation): Rule {
  return {
    id: `machine/allow-${op}`,
    op,
    match: { kind: 'any' },
    effect: 'allow',
    remedy: 'Nothing is needed',
  }
}
