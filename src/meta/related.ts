import { messageOf } from '../shared/errors.ts'
import { parseItemRef } from '../shared/ids.ts'
import type { JsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import type { ItemType } from '../shared/tool-type.ts'
import { itemTypeOf } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import { BODY } from '../spaces/item.ts'
import { readDirective } from '../spaces/directive/read-directive.ts'
import type { Lookup } from '../spaces/lookup.ts'
import type { NamedRelation } from '../spaces/relations.ts'
import { relationsIn } from '../spaces/relations.ts'

interface Related {
  readonly data: JsonObject
  readonly warnings: readonly string[]
}

/** Items that are followed in all, and bytes of the texts that come along. */
const MOST_RELATED = 50
const MOST_BYTES = LIMITS.resultBytes

/** What an item says it belongs to; with a depth also what stands there, so many steps away. */
export async function relatedTo(item: Item, depth: number, lookup: Lookup): Promise<Related> {
  const warnings: string[] = []
  const say = (warning: string): void => void (warnings.includes(warning) || warnings.push(warning))
  const declared = await followedFrom(item, lookup, say)
  if (declared.length === 0) return { data: {}, warnings }
  const relations = declared.map(({ kind, target, found }) => ({
    kind,
    id: target,
    item_type: found === null ? null : itemTypeOf(found.manifest.tool_type),
    description: found?.manifest.description ?? null,
  }))
  if (depth === 0) return { data: { relations }, warnings }
  return { data: { relations, related: await follow(item, depth, lookup, say) }, warnings }
}

/** A relation, and the item it leads to. */
interface Followed extends NamedRelation {
  readonly found: Item | null
}

type Say = (warning: string) => void

/** Nearest first. Each item once, so what leads back to itself ends. */
async function follow(start: Item, depth: number, lookup: Lookup, say: Say): Promise<JsonObject[]> {
  const seen = new Set([keyOf(start)])
  const related: JsonObject[] = []
  let left = MOST_BYTES
  let at: readonly Item[] = [start]
  for (let step = 1; step <= depth && at.length > 0; step++) {
    const next: Item[] = []
    for (const from of at) {
      for (const { kind, found } of await followedFrom(from, lookup, say)) {
        if (found === null || seen.has(keyOf(found))) continue
        if (related.length === MOST_RELATED) {
          say(`only ${MOST_RELATED} related items are shown: load others by their id`)
          return related
        }
        seen.add(keyOf(found))
        const text = await textIn(found).catch((error: unknown) => say(messageOf(error)))
        const bytes = Buffer.byteLength(text ?? '')
        const isShown = bytes <= left
        if (isShown) left -= bytes
        else say(`the text of "${found.id}" is left out of what is related: load it by its id`)
        related.push({
          ...shown(found),
          kind,
          of: from.id,
          depth: step,
          content: isShown ? (text ?? null) : null,
        })
        next.push(found)
      }
    }
    at = next
  }
  return related
}

function shown({ id, space, manifest }: Item): JsonObject {
  const { tool_type: type, description, version } = manifest
  return { id, item_type: itemTypeOf(type), description, version, source: space }
}

function keyOf({ id, space, manifest }: Item): string {
  return `${space} ${itemTypeOf(manifest.tool_type)} ${id} ${manifest.version}`
}

/** The text of what is written to be read; of a tool its description says enough. */
async function textIn({ manifest, raw, files }: Item): Promise<string | undefined> {
  if (!isRead(itemTypeOf(manifest.tool_type))) return undefined
  const all = await files()
  const own = all.find(({ path }) => path === BODY || path === raw['_file']) ?? all[0]
  return own === undefined ? undefined : Buffer.from(own.content).toString('utf8')
}

function isRead(type: ItemType): boolean {
  return type === 'knowledge' || type === 'directive'
}

async function followedFrom(item: Item, lookup: Lookup, say: Say): Promise<readonly Followed[]> {
  const type = itemTypeOf(item.manifest.tool_type)
  const relations = type === 'directive' ? await ofDirective(item) : ofKnowledge(item, say)
  const targets = await Promise.all(relations.map(({ target }) => findTarget(target, type, lookup)))
  return relations.map((relation, at) => {
    const found = targets[at] ?? ''
    if (typeof found !== 'string') return { ...relation, found }
    if (!isAddress(relation.target)) say(`"${item.id}" ${relation.kind} "${relation.target}": ${found}`)
    return { ...relation, found: null }
  })
}

function ofKnowledge({ id, manifest }: Item, say: Say): readonly NamedRelation[] {
  if (manifest.tool_type !== 'knowledge') return []
  const { relations, warnings } = relationsIn(manifest)
  for (const warning of warnings) say(`"${id}": ${warning}`)
  return relations
}

/** One that cannot be read is shown as its author wrote it. */
async function ofDirective(item: Item): Promise<readonly NamedRelation[]> {
  const read = await readDirective(item).catch(() => null)
  if (read === null) return []
  const base = read.extends === null ? [] : [{ kind: 'extends', target: read.extends }]
  const others = read.relations.map(({ kind, directive }) => ({ kind, target: directive }))
  return [...base, ...others.filter(({ kind, target }) => kind !== 'extends' || target !== read.extends)]
}

/** Something to read elsewhere, and no item of ours. */
function isAddress(target: string): boolean {
  return /^https?:\/\//.test(target)
}

/** Why there is none, where there is none. What is of the same type is meant before anything else that has the id. */
async function findTarget(target: string, type: ItemType, lookup: Lookup): Promise<Item | string> {
  if (isAddress(target)) return 'it is an address'
  try {
    const ref = parseItemRef(target)
    return (await lookup.find(ref, type)) ?? (await lookup.find(ref, 'tool')) ?? 'there is no such item'
  } catch (error) {
    return messageOf(error)
  }
}
