import { KiwiError } from '../shared/errors.ts'
import type { ItemRef } from '../shared/ids.ts'
import { deepFreeze, sha256 } from '../shared/json.ts'
import type { ItemType } from '../shared/tool-type.ts'
import type { Item } from '../spaces/item.ts'
import type { Lookup } from '../spaces/lookup.ts'
import { versionNotFound } from '../spaces/not-found.ts'
import type { Compiled } from './compile-plan.ts'
import { compilePlan } from './compile-plan.ts'
import { createCurrent } from './current.ts'
import type { Plan } from './plan.ts'
import type { Schemas } from './schemas.ts'
import type { Judge } from './trust.ts'
import { toLinks, walk } from './walk.ts'

/** Turns ids into plans, and keeps them. */
export interface Resolver {
  /**
   * The plan of an id: at once when it is kept, so that the common case costs a look into a map. NOT_FOUND and the
   * faults of the chain are thrown. Freshness is the caller's: see `current`.
   */
  resolve(ref: ItemRef, lookup: Lookup, itemType?: ItemType): Plan | Promise<Plan>
  /** The same after a look at whether the files and rows of the plan are still what they were. */
  current(ref: ItemRef, lookup: Lookup, itemType?: ItemType): Plan | Promise<Plan>
  /**
   * Many at once: what is not kept comes in one query. An id that is not there maps to null, one whose chain is
   * faulty to what is wrong with it.
   */
  resolveBatch(
    refs: readonly ItemRef[],
    lookup: Lookup,
  ): Promise<ReadonlyMap<string, Plan | KiwiError | null>>
  /** The plan of an item that is in no space yet; it is not kept. */
  plan(item: Item, lookup: Lookup): Promise<Plan>
  /** Brings the executors that nearly every chain ends in into memory, in one query. */
  preload(lookup: Lookup): Promise<void>
}

const COMMON = ['python_runtime', 'bash_runtime', 'node_runtime', 'subprocess', 'http_client']
const MOST_COMPILED = 2000
/** Ids of one look-up whose plans are kept: a version can be asked for in endless ways. */
const MOST_KEPT = 10_000

export function openResolver(schemas: Schemas, { judge }: Pick<Judge, 'judge'>): Resolver {
  const kept = new WeakMap<Lookup, { generation: number; plans: Map<string, Plan> }>()
  const compiled = new Map<string, Compiled>()

  const plansOf = (lookup: Lookup): Map<string, Plan> => {
    const known = kept.get(lookup)
    if (known?.generation === lookup.generation) return known.plans
    const fresh = { generation: lookup.generation, plans: new Map<string, Plan>() }
    kept.set(lookup, fresh)
    return fresh.plans
  }

  const compile = async (items: readonly Item[]): Promise<Compiled> => {
    const key = sha256(items.map((item) => `${item.id} ${item.space} ${item.contentHash}`).join('\n'))
    const known = compiled.get(key)
    if (known !== undefined) return known
    const plan = await compilePlan(items, schemas)
    if (compiled.size >= MOST_COMPILED) compiled.clear()
    compiled.set(key, plan)
    return plan
  }

  const plan = async (item: Item, lookup: Lookup): Promise<Plan> => {
    const items = Object.freeze(await walk(item, lookup))
    const links = deepFreeze(toLinks(items))
    const chain = Object.freeze(links.map(({ tool_id }) => tool_id))
    const { odd, ...content } = await compile(items)
    const { effect } = content
    const trust = await judge(items, lookup.projectPath, effect.kind === 'mcp' ? effect : undefined)
    const judged =
      effect.kind === 'mcp' && trust.listedUnder !== null
        ? { ...effect, identity: trust.listedUnder }
        : effect
    // What a server lists says it of itself.
    const warnings = item.space === 'mcp' ? item.warnings : [...item.warnings, ...odd]
    return Object.freeze({ ...content, effect: judged, item, items, links, chain, trust, warnings })
  }

  const find = async (ref: ItemRef, lookup: Lookup, itemType: ItemType): Promise<Plan | null> => {
    const plans = plansOf(lookup)
    const item = await lookup.find(ref, itemType)
    if (item === null) return null
    const made = await plan(item, lookup)
    // What stands against it may pass with nothing but time, and nobody waits for a refusal.
    if (made.trust.refusal !== null) return made
    if (plans.size >= MOST_KEPT) plans.clear()
    plans.set(keyOf(ref, itemType), made)
    return made
  }

  const make = async (ref: ItemRef, lookup: Lookup, itemType: ItemType): Promise<Plan> => {
    const found = await find(ref, lookup, itemType)
    if (found === null) throw await versionNotFound(ref, itemType, lookup)
    return found
  }

  const resolve = (ref: ItemRef, lookup: Lookup, itemType: ItemType = 'tool'): Plan | Promise<Plan> =>
    plansOf(lookup).get(keyOf(ref, itemType)) ?? make(ref, lookup, itemType)

  return {
    resolve,
    current: createCurrent(resolve),
    async resolveBatch(refs, lookup) {
      const plans = plansOf(lookup)
      await lookup.prefetch(refs.filter((ref) => !plans.has(keyOf(ref))).map(({ name }) => name))
      const found = await Promise.all(
        refs.map(async (ref) => {
          // What is missing is only told: nobody looks for what may be meant.
          const known = plans.get(keyOf(ref))
          return [keyOf(ref), known ?? (await attempt(() => find(ref, lookup, 'tool')))] as const
        }),
      )
      return new Map(found)
    },
    plan,
    preload: (lookup) => lookup.prefetch(COMMON),
  }
}

async function attempt(find: () => Promise<Plan | null>): Promise<Plan | KiwiError | null> {
  try {
    return await find()
  } catch (error) {
    if (!(error instanceof KiwiError)) throw error
    return error.code === 'NOT_FOUND' ? null : error
  }
}

/** A tool and a piece of knowledge may have one name. */
function keyOf({ name, category, version }: ItemRef, itemType: ItemType = 'tool'): string {
  if (category === null && version === null && itemType === 'tool') return name
  return `${itemType} ${category ?? ''}/${name}@${version ?? ''}`
}
