import type { Plan } from '../chain/plan.ts'
import type { Place } from '../chain/secret-places.ts'
import { secretPlaces } from '../chain/secret-places.ts'
import { literalHost } from '../chain/url-template.ts'
import { EVERYTHING } from '../chain/variables.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { keepAll } from '../shared/redact.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { serverId } from '../spaces/server-entry.ts'
import type { StoredGrant } from '../store/grants.ts'
import { assertSecretName, assertSecretValue } from '../store/vault/secrets.ts'
import { assertPerson } from './assert-person.ts'
import type { Ticket, Wish, Work } from './call.ts'
import type { Means } from './means.ts'
import { linksOf, trustedPlan } from './run-work.ts'
import { readSink } from './sink.ts'

type GrantWish = Extract<Wish, { kind: 'grant' }>

/** A person lets this content of a tool read secrets, each for the places that were shown. */
export async function grantWork(
  wish: GrantWish,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  assertPerson(ticket, 'grant')
  lookup.freshen(true)
  // A server is granted something by any name that people call it.
  const isServer =
    (await lookup.find(wish.ref, 'tool')) === null && (await lookup.find(wish.ref, 'mcp')) !== null
  const itemType = isServer ? 'mcp' : 'tool'
  const { plan, spaceRoot } = await trustedPlan({ ref: wish.ref, itemType }, lookup, means)
  const { id, manifest, space } = plan.item
  const digest = await means.chain.digest(plan.items, spaceRoot)
  if (wish.expectedDigest !== null && wish.expectedDigest !== digest) {
    throw new KiwiError('CONFLICT', `Cannot grant "${id}": it has changed since it was shown`, {
      hint: 'Run the command again and look at what it is now',
    })
  }
  const asked = await askedFor(plan, wish, means)
  const shown = asked.map(({ name, places, sinks, isSet }) => ({
    name,
    places,
    sinks: sinks.filter((sink) => sink !== null),
    is_set: isSet,
  }))
  const unset = asked.filter(({ isSet }) => !isSet).map(({ name }) => name)
  return {
    item: { id, version: manifest.version, space },
    action: 'grant',
    chain: linksOf(plan),
    demands: [{ op: 'tool', id: 'kiwi-mcp', action: 'grant' }],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { names: wish.names, sinks: wish.sinks, principal: wish.principal, digest },
    trust: plan.trust.level,
    redact: keepAll,
    preview: () => ({ tool: id, version: manifest.version, space, digest, secrets: shown }),
    warnings: unset.map((name) => `${name} is not set yet: kiwi secret set ${name}`),
    async perform() {
      const common = {
        principal: wish.principal,
        tool: id,
        digest,
        granted_at: new Date(means.clock.now()).toISOString(),
        granted_by: ticket.caller.principal,
      }
      const grants = asked.flatMap(({ name, sinks }) =>
        sinks.map((sink): StoredGrant => ({ ...common, secret: name, sink })),
      )
      await means.store.grants.give(grants)
      return {
        data: { output: `Granted to "${id}": ${wish.names.join(', ')}`, tool: id, digest, secrets: shown },
        warnings: [],
      }
    },
  }
}

interface Asked {
  readonly name: string
  readonly places: readonly Place[]
  readonly sinks: readonly (string | null)[]
  readonly isSet: boolean
}

/** What it asks for by these names. A grant that would never let anything through is refused. */
async function askedFor(
  plan: Plan,
  { names, sinks }: GrantWish,
  { secrets }: Means,
): Promise<readonly Asked[]> {
  const places = secretPlaces(plan)
  for (const name of names) assertAsked(plan, name)
  const { values, commands } = await secrets.find(new Set(names))
  const host = hostOf(plan.effect)
  return names.map((name) => {
    const value = values.get(name)
    if (value !== undefined) assertSecretValue(name, value)
    const at = places.get(name) ?? []
    const given = sinks.map((sink) => readSink(sink, { plan, name, places: at, host }))
    const usual = host === null || name === EVERYTHING ? null : `host:${host}`
    return {
      name,
      places: at,
      sinks: given.length === 0 ? [usual] : given,
      isSet: name === EVERYTHING || value !== undefined || commands.has(name),
    }
  })
}

/** The host that the manifest of a request, or of a server at an address, writes out. */
export function hostOf(effect: Plan['effect']): string | null {
  const asks = effect.kind === 'mcp' ? effect.server : effect
  return 'request' in asks ? literalHost(asks.request.url) : null
}

function assertAsked({ item, secrets, effect }: Plan, name: string): void {
  if (name === EVERYTHING) {
    const asks = effect.kind === 'mcp' ? effect.server : effect
    if ('command' in asks && asks.command.inheritEnv) return
    throw notAsked(item, 'all variables', 'its manifest does not say "inherit_env: true"')
  }
  assertSecretName(name)
  if (secrets.has(name)) return
  const asks = secrets.size === 0 ? 'it asks for none' : `it asks for ${[...secrets].join(', ')}`
  throw notAsked(item, name, asks)
}

function notAsked({ id, form, path }: Item, wanted: string, reason: string): KiwiError {
  const where = form === 'entry' ? `its entry in ${path}` : 'the manifest'
  return new KiwiError('INVALID_PARAMETERS', `Cannot grant ${wanted} to "${id}": ${reason}`, {
    hint: `Declare it under "secrets" in ${where}, and put it where it is needed: \${NAME}`,
    details: { missing: [], invalid: [{ name: wanted, reason }] },
  })
}

/** A person takes grants back: of a tool that may be gone, whatever its content was. */
export async function revokeGrantWork(
  { tool, name }: Extract<Wish, { kind: 'revoke_grant' }>,
  ticket: Ticket,
  { store }: Means,
): Promise<Work> {
  assertPerson(ticket, 'grant')
  const parameters: JsonObject = { tool, name }
  return {
    item: { id: tool, version: null, space: null },
    action: 'grant.revoke',
    chain: [],
    demands: [{ op: 'tool', id: 'kiwi-mcp', action: 'grant.revoke' }],
    isRepeatable: false,
    isReadOnly: false,
    parameters,
    redact: keepAll,
    preview: () => parameters,
    warnings: [],
    async perform() {
      const own = await store.grants.revoke(tool, name)
      const count = own > 0 ? own : await store.grants.revoke(serverId(tool), name)
      if (count > 0)
        return {
          data: { output: `Taken back from "${tool}": ${name ?? 'all secrets'}`, count },
          warnings: [],
        }
      const what = name === null ? 'any secret' : name
      throw new KiwiError('NOT_FOUND', `Cannot take back a grant of ${what} to "${tool}": there is none`, {
        hint: 'kiwi grant --list shows all; those in kiwi.json are taken out there',
      })
    },
  }
}
