import { KiwiError } from '../../shared/errors.ts'
import type { ItemRef } from '../../shared/ids.ts'
import { parseItemRef } from '../../shared/ids.ts'
import { LIMITS } from '../../shared/limits.ts'
import type { Item } from '../item.ts'
import type { Directive, Finding, WantedTools } from './model.ts'
import { readDirective } from './read-directive.ts'
import { NOTHING_WANTED } from './wanted.ts'

export interface Extended {
  readonly directive: Directive
  /** What it is built on, the nearest first: who runs it trusts these as well. */
  readonly bases: readonly Item[]
}

/** What one item means by the name of another. */
type Find = (ref: ItemRef, by: Item) => Promise<Item | null>

/** A directive with all it is built on. Rights are never handed down: what it may do it says itself. */
export async function readExtended(item: Item, find: Find): Promise<Extended> {
  const bases: Item[] = []
  const parts = [await readDirective(item)]
  for (let next = parts[0]?.extends ?? null; next !== null;) {
    const base = await findBase(next, bases.at(-1) ?? item, find)
    const ids = [item, ...bases].map(({ id }) => id)
    if (ids.includes(base.id)) throw ringed(item, [...ids, base.id])
    if (ids.length >= LIMITS.chainLinks) throw tooLong(item, [...ids, base.id])
    bases.push(base)
    const read = await readDirective(base)
    parts.push(read)
    next = read.extends
  }
  return { directive: parts.reduceRight((base, child) => merge(base, child)), bases }
}

/** What the child says counts; of inputs and steps by their names. */
function merge(base: Directive, child: Directive): Directive {
  const isWanting = JSON.stringify(child.wanted) !== JSON.stringify(NOTHING_WANTED)
  const inputs = over(base.inputs, child.inputs)
  const isFilled = ({ unfilled }: Finding): boolean => inputs.some(({ name }) => name === unfilled)
  return {
    ...child,
    description: child.description === '' ? base.description : child.description,
    inputs,
    steps: over(base.steps, child.steps),
    body: child.body === '' ? base.body : child.body,
    wanted: isWanting ? child.wanted : withoutScripts(base.wanted),
    relations: [...base.relations, ...child.relations],
    limits: { ...base.limits, ...child.limits },
    more: { ...base.more, ...child.more },
    findings: [
      ...child.findings.filter((finding) => !isFilled(finding)),
      ...base.findings
        .filter((finding) => !isFilled(finding))
        .map(({ message, ...place }) => ({ ...place, message: `in "${base.name}": ${message}` })),
      ...(child.permissions === null && base.permissions !== null ? [notHandedDown(base)] : []),
    ],
  }
}

/** A script that is wanted is granted by that, and no right is handed down. */
function withoutScripts(wanted: WantedTools): WantedTools {
  return { ...wanted, scripts: [] }
}

function notHandedDown({ name }: Directive): Directive['findings'][number] {
  return {
    line: 1,
    column: 1,
    message: `the permissions of "${name}" are not handed down: it needs its own`,
  }
}

/** In the order of the base; what it has under the same name is replaced, and what is new follows. */
function over<T extends { readonly name: string | null }>(
  base: readonly T[],
  child: readonly T[],
): readonly T[] {
  const named = new Map(child.flatMap((one) => (one.name === null ? [] : [[one.name, one] as const])))
  const taken = new Set<string>()
  const kept = base.map((one) => {
    const own = one.name === null ? undefined : named.get(one.name)
    if (own === undefined || one.name === null) return one
    taken.add(one.name)
    return own
  })
  return [...kept, ...child.filter(({ name }) => name === null || !taken.has(name))]
}

async function findBase(id: string, item: Item, find: Find): Promise<Item> {
  const ref = refOf(id)
  const base = ref === null ? null : await find(ref, item)
  if (base !== null && base.manifest.tool_type === 'directive') return base
  throw new KiwiError(
    'NOT_FOUND',
    `Cannot read "${item.id}": there is no directive "${id}", which it extends`,
    {
      hint: 'Correct the name under extends, or create the directive it names',
      details: { item_type: 'directive', item_id: id },
      fix: {
        call: 'search',
        arguments: {
          query: (ref?.name ?? id.slice(0, 64)).replaceAll(/[_./-]+/g, ' '),
          item_type: 'directive',
        },
      },
    },
  )
}

/** What cannot be the id of anything names nothing. */
function refOf(id: string): ItemRef | null {
  try {
    return parseItemRef(id)
  } catch {
    return null
  }
}

function ringed({ id }: Item, ring: readonly string[]): KiwiError {
  return new KiwiError(
    'PARSE_ERROR',
    `Cannot read "${id}": what it extends forms a ring: ${ring.join(' > ')}`,
    {
      hint: 'Remove extends from one of them',
      details: { line: 1, column: 1, ring },
    },
  )
}

function tooLong({ id }: Item, chain: readonly string[]): KiwiError {
  const said = `Cannot read "${id}": it is built on more than ${LIMITS.chainLinks - 1} others`
  return new KiwiError('PARSE_ERROR', said, {
    hint: 'Put what the first of them say into one directive',
    details: { line: 1, column: 1, chain },
  })
}
