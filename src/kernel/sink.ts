import type { Plan } from '../chain/plan.ts'
import type { Place } from '../chain/secret-places.ts'
import { KiwiError } from '../shared/errors.ts'

interface Asked {
  readonly plan: Plan
  readonly name: string
  /** Where the manifest names the secret. */
  readonly places: readonly Place[]
  /** Where its requests go; null when that is not written out, or there are none. */
  readonly host: string | null
}

/** A place to which a secret is bound, as a person writes it: `env:NAME`, `header:Name`, `host:name`. */
export function readSink(text: string, { plan, name, places, host }: Asked): string {
  const [, kind = '', rest = ''] = /^(env|header|host):([^\s]+)$/.exec(text) ?? []
  const sink = kind === 'env' ? text : `${kind}:${rest.toLowerCase()}`
  if (kind === '') throw unusable(text, 'it is none of env:NAME, header:Name and host:name')
  if (kind === 'host') {
    if (plan.effect.kind !== 'http_client')
      throw unusable(text, 'a program reaches hosts by itself; bind it to env:NAME')
    if (host !== null && sink !== `host:${host}`) throw unusable(text, `"${plan.item.id}" calls host:${host}`)
    return sink
  }
  if (places.some((place) => place === sink)) return sink
  const shown = places.length === 0 ? 'nowhere' : `in ${places.join(', ')}`
  throw unusable(text, `the manifest of "${plan.item.id}" puts ${name} ${shown}`)
}

function unusable(text: string, reason: string): KiwiError {
  return new KiwiError('INVALID_PARAMETERS', `Cannot bind the grant to "${text}": ${reason}`, {
    hint: 'Leave --to out to grant it for the places where the manifest names it',
    details: { missing: [], invalid: [{ name: 'to', reason }] },
  })
}
