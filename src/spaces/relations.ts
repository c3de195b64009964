import { textOf } from '../shared/template.ts'
import { isObject } from '../shared/json.ts'
import type { Manifest } from './manifest.ts'

/** Another item that a piece of knowledge or a directive names. */
export interface NamedRelation {
  readonly kind: string
  /** An id as its author wrote it. */
  readonly target: string
}

/** What it builds on comes before what it only refers to. */
const KINDS = ['extends', 'references'] as const

/** The relations that a piece of knowledge declares, each once; what names nothing is said. */
export function relationsIn(manifest: Manifest): {
  readonly relations: readonly NamedRelation[]
  readonly warnings: readonly string[]
} {
  const relations: NamedRelation[] = []
  const warnings: string[] = []
  for (const kind of KINDS) {
    const named = listOf(manifest[kind]).map(targetOf)
    const targets = new Set(named.filter((target) => target !== ''))
    relations.push(...Array.from(targets, (target) => ({ kind, target })))
    if (kind === 'extends' && targets.has(manifest.tool_id))
      warnings.push('"extends" names the item itself: without effect')
    if (named.includes('')) warnings.push(`"${kind}" holds something that is no id: left out`)
  }
  return { relations, warnings }
}

/** A list, or one text with commas. */
function listOf(given: unknown): readonly unknown[] {
  if (given === undefined || given === null) return []
  if (Array.isArray(given)) return given
  return typeof given === 'string' ? given.split(',').filter((part) => part.trim() !== '') : [given]
}

/** Some write `{id: x}` where others write `x`. */
function targetOf(given: unknown): string {
  const id = isObject(given) ? given['id'] : given
  return typeof id === 'string' || typeof id === 'number' ? textOf(id).trim() : ''
}
