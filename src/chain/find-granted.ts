import type { Config } from '../config/config.ts'
import { isOpen } from '../config/environment.ts'
import type { Store } from '../store/store.ts'
import type { FoundSecrets, Secrets } from '../store/vault/secrets.ts'
import type { Plan } from './plan.ts'
import type { VariableGrant } from './variables.ts'

/** What the links of a chain were granted, of any content, and what the names it asks for stand for. */
export interface Granted extends FoundSecrets {
  readonly grants: readonly VariableGrant[]
}

interface GrantedMeans {
  readonly config: Pick<Config, 'grants'>
  readonly store: Pick<Store, 'grants'>
  readonly secrets: Secrets
}

/** At once for a plan that asks for nothing. No value is read that nobody granted, and no program is asked for one. */
export function createFindGranted({ config, store, secrets }: GrantedMeans) {
  return (plan: Plan, principal: string): Granted | Promise<Granted> =>
    asksForSecrets(plan) ? find(plan, principal) : NOTHING

  async function find({ items, secrets: names }: Plan, principal: string): Promise<Granted> {
    const ids = new Set<string>(items.map(({ id }) => id))
    const stored = await store.grants.read()
    const grants = [
      ...stored.filter((grant) => ids.has(grant.tool) && ['*', principal].includes(grant.principal)),
      ...config.grants
        .filter(({ tool }) => ids.has(tool))
        .flatMap(({ tool, hash, names: granted }) =>
          granted.map((secret): VariableGrant => ({ tool, digest: hash, secret, sink: null })),
        ),
    ]
    const wanted = new Set(grants.map(({ secret }) => secret).filter((name) => names.has(name)))
    return { ...(wanted.size === 0 ? NOTHING : await secrets.find(wanted)), grants }
  }
}

const NOTHING: Granted = { grants: [], values: new Map(), commands: new Map() }

function asksForSecrets({ secrets, effect }: Plan): boolean {
  const asks = effect.kind === 'mcp' ? effect.server : effect
  if ('command' in asks && asks.command.inheritEnv) return true
  for (const name of secrets) if (!isOpen(name)) return true
  return false
}
