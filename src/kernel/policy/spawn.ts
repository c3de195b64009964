import { canonicalJson } from '../../shared/json.ts'
import type { Dialect } from '../../spaces/directive/dialect.ts'
import type { LayerData, LayerSource, Rule, WantedLayer } from './rule.ts'
import { unlessXml } from './wanted-layer.ts'

/** The two sets of layers of a run: what judges it, and what judges whatever it begins. */
export interface RunLayers {
  readonly own: readonly LayerData[]
  readonly ceiling: readonly LayerData[]
}

interface Spawn {
  readonly directive: string
  readonly dialect?: Dialect | undefined
  /** Null to start from what the parent may. */
  readonly permissions: readonly Rule[] | null
  readonly delegate: readonly Rule[] | null
  /** What the directive says it will use; null where it does not say. */
  readonly wanted: WantedLayer | null
  readonly tools: LayerData | null
}

/**
 * A child's list is its parent's ceiling and more, and the strictest of more layers never allows more: so no descendant
 * is above the ceiling of any ancestor, whatever is declared on the way.
 */
export function spawned(
  parent: RunLayers | null,
  { directive, dialect = 'xml', permissions, delegate, wanted, tools }: Spawn,
): RunLayers {
  const { own: parents = [], ceiling = [] } = parent ?? {}
  const source = { kind: 'directive', directive, ...unlessXml(dialect) } as const
  const declared = permissions === null ? [] : [layerOf({ ...source, element: 'permissions' }, permissions)]
  const used = wanted === null ? [] : [wanted]
  const handed =
    delegate === null
      ? [...declared, ...used.map(withoutAliases)]
      : [layerOf({ ...source, element: 'delegate' }, delegate)]
  const named = tools === null ? [] : [tools]
  return {
    own: distinct([...ceiling, ...(permissions === null ? parents : declared), ...used, ...named]),
    ceiling: distinct([...ceiling, ...handed, ...named]),
  }
}

/** The names a directive gives to servers are its own. */
function withoutAliases(layer: WantedLayer): WantedLayer {
  return { ...layer, source: { ...layer.source, aliases: {} } }
}

function layerOf(source: Extract<LayerSource, { kind: 'directive' }>, rules: readonly Rule[]): LayerData {
  const { directive, element } = source
  const name = element === 'permissions' ? `directive ${directive}` : `ceiling of directive ${directive}`
  return { name, source, rules }
}

function distinct(layers: readonly LayerData[]): readonly LayerData[] {
  return [...new Map(layers.map((layer) => [canonicalJson(layer), layer])).values()]
}

/** Tools named at the spawn: `server.tool`, or an id, with `*` in either. What they do is not narrowed further. */
export function narrowed(tools: readonly string[]): LayerData {
  const named = tools.flatMap((text) => {
    const dot = text.indexOf('.')
    const own = allow('tool', { kind: 'tool', server: null, tools: [text] })
    if (text === '*') return [allow('tool', { kind: 'any' })]
    if (dot < 0) return [own]
    return [own, allow('tool', { kind: 'tool', server: text.slice(0, dot), tools: [text.slice(dot + 1)] })]
  })
  const rest = (['exec', 'net', 'read', 'write', 'spawn'] as const).map((op) => allow(op, { kind: 'any' }))
  return { name: 'tools named at the spawn', source: { kind: 'spawn' }, rules: [...named, ...rest] }
}

function allow(op: Rule['op'], match: Rule['match']): Rule {
  return { id: `spawn/${op}`, op, match, effect: 'allow', remedy: 'Name the tool when the run is begun' }
}
