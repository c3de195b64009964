import type { Performed } from '../chain/perform.ts'
import type { Plan } from '../chain/plan.ts'
import { isOwn } from '../chain/trust.ts'
import { KiwiError, messageOf } from '../shared/errors.ts'
import { keepAll } from '../shared/redact.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import { withVersion } from '../spaces/change-item.ts'
import type { Item } from '../spaces/item.ts'
import { withInputs } from '../spaces/directive/with-inputs.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { invalidManifest } from '../spaces/manifest.ts'
import { missingFields } from '../spaces/required-fields.ts'
import { targetOf } from '../spaces/write.ts'
import { writtenOf } from '../spaces/written-item.ts'
import type { Ticket, Wish, Work } from './call.ts'
import { writtenData } from './create-work.ts'
import { itemWrites } from './item-writes.ts'
import type { Asker } from './listings.ts'
import type { Means } from './means.ts'
import { assertHigher, freePatch } from './next-version.ts'
import { samePlace } from './place.ts'
import { ruleCheck } from './rule-check.ts'
import { linksOf } from './run-work.ts'
import { authorAgain, changeable, unchangedWork } from './update-work.ts'
import { mayVouch } from './vouch.ts'
import { writeSigned } from './write-signed.ts'

/** An item of a file space to be made a version of the registry, which never changes again. */
export async function publishWork(
  wish: Extract<Wish, { kind: 'publish' }>,
  lookup: Lookup,
  ticket: Ticket,
  means: Means,
): Promise<Work> {
  const standing = await changeable('publish', wish, lookup, ticket)
  const { item: source } = standing
  const version = wish.version ?? source.manifest.version
  if (version !== source.manifest.version) {
    assertHigher({ id: source.id, wanted: version, present: source.manifest.version })
  }
  const published = await means.store.registry.version(source.id, version).catch(() => null)
  const isRegistered = source.space === 'registry'
  if (isRegistered && published !== null) return unchangedWork('publish', source)
  if (isRegistered) throw onlyRegistered(source, version)
  const missing = missingFields(source)
  if (missing.length > 0) throw invalidManifest(source.id, missing)
  const by = ticket.caller.kind
  const { verified } = await mayVouch(source, { verb: 'publish', by, lookup, means })
  if (verified.state === 'unverified') throw modified(source)
  const isRaised = version !== source.manifest.version
  const present = await writtenOf(source)
  const authored = await authorAgain(source, isRaised ? await withVersion(present, version) : present, {
    action: 'publish',
    lookup,
    means,
  })
  const { item, plan } = authored
  if (published?.content_hash === item.contentHash) return unchangedWork('publish', item)
  const { registry } = means.store
  const hash = await registry.publishedHash(item.id, version)
  if (hash !== null && hash !== item.contentHash)
    throw versionExists(item, hash, await freePatch(item.id, version, registry))
  const rules = await ruleCheck(plan, { action: 'publish', ticket, lookup, means })
  const write = isRaised ? samePlace(standing, authored.written, { lookup, means }) : null
  return {
    item: { id: item.id, version, space: 'registry' },
    action: 'publish',
    chain: linksOf(plan),
    demands: [
      { op: 'tool', id: item.id, action: 'publish' },
      ...itemWrites(write === null ? [] : [targetOf(write)], ticket),
      ...rules.demands,
    ],
    isRepeatable: false,
    isReadOnly: false,
    parameters: { tool_id: item.id, version, content_hash: item.contentHash, changelog: wish.changelog },
    redact: keepAll,
    preview: () => ({ executor_chain: plan.chain, would_write: 'registry', version, ...rules.preview() }),
    warnings: [...authored.warnings, ...leftBehind(plan), ...rules.warnings],
    async perform(watch) {
      const found = await rules.check(watch?.signal)
      const signing = { lookup, means, by, changelog: wish.changelog }
      const raised = write === null ? null : await writeSigned(authored, { ...signing, write })
      // What carries a signature of our own is published as it lies there.
      const isSigned = raised === null && isOwn(verified)
      const made = await writeSigned(authored, { ...signing, write: null, isSigned })
      const data = writtenData('Published', await withInputs(made.item, lookup), 'registry')
      const { data: listed, warnings: left } = await listAgain(made.item, { ticket, lookup, means })
      return {
        data: { ...data, path: source.path, changed: true, ...listed },
        warnings: [...found, ...(raised?.warnings ?? []), ...made.warnings, ...left],
      }
    },
  }
}

/** Whoever publishes a server wants to see what it has now: it is asked, by a call of its own. */
async function listAgain({ id, manifest }: Item, asker: Asker): Promise<Performed> {
  const isServer = manifest.tool_type === 'mcp_server'
  const server = isServer ? await asker.lookup.serverFor(id) : null
  if (server === null || asker.means.listings === null) return { data: {}, warnings: [] }
  try {
    const { data, warnings } = await asker.means.listings.list(server, asker)
    return { data: { tools: data['tools'] ?? null }, warnings }
  } catch (error) {
    return { data: {}, warnings: [`it is published, but could not be listed: ${messageOf(error)}`] }
  }
}

/** Its version would carry what nobody has looked at. */
function modified({ id, path }: Item): KiwiError {
  return new KiwiError('CONTENT_MODIFIED', `Cannot publish "${id}": it is not what was signed`, {
    hint: `Ask the person to review the change and run: kiwi sign ${id}`,
    details: { tool: id, path },
  })
}

/** Whoever has the version alone does not have these. */
function leftBehind({ links }: Plan): readonly string[] {
  return links
    .slice(1)
    .filter(({ space }) => space === 'project' || space === 'user')
    .map(({ tool_id, space }) => `it runs through "${tool_id}", which is only in ${space}: publish that too`)
}

function onlyRegistered({ id, manifest }: Item, version: string): KiwiError {
  return new KiwiError('CONFLICT', `Cannot publish "${id}" as ${version}: it is in the registry only`, {
    hint: `Make a version after ${manifest.version} with update`,
    fix: {
      call: 'execute',
      arguments: {
        item_type: itemTypeOf(manifest.tool_type),
        action: 'update',
        item_id: id,
        parameters: { version },
      },
    },
    details: { tool_id: id, version: manifest.version },
  })
}

function versionExists({ id, manifest, contentHash }: Item, publishedHash: string, next: string): KiwiError {
  const { version } = manifest
  return new KiwiError(
    'VERSION_EXISTS',
    `Cannot publish "${id}": version ${version} was published with other content`,
    {
      hint: `Change it with update, which raises the version, or publish it as ${next}`,
      fix: {
        call: 'execute',
        arguments: {
          item_type: itemTypeOf(manifest.tool_type),
          action: 'publish',
          item_id: id,
          parameters: { version: next },
        },
      },
      details: { tool_id: id, version, content_hash: contentHash, published_hash: publishedHash },
    },
  )
}
