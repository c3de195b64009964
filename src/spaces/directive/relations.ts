import type { JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { Element } from './element.ts'
import { shown } from './element.ts'
import type { Reading } from './formed.ts'
import { formed, pairsForm } from './formed.ts'
import type { Relation } from './model.ts'
import type { Note } from './note.ts'
import { meant } from './note.ts'

const KINDS = ['requires', 'suggests', 'extends', 'related'] as const

/** One of `<relationships>`. */
export function relationOf(element: Element, note: Note): readonly Relation[] {
  const { name, attributes, text } = element
  const kind = KINDS.find((known) => known === name)
  const directive = attributes['directive'] ?? text
  if (kind !== undefined && directive !== '') return [{ kind, directive }]
  const probably = kind === undefined ? meant(name, KINDS, (known) => `<${known}>`) : ''
  const why = kind === undefined ? 'is no relation' : 'names no directive'
  note(element, `${shown(element)} ${why}: left out${probably}`)
  return []
}

/** The same as data: of each kind the name of a directive or several. */
export function relationsOf(given: JsonValue | undefined, reading: Reading): readonly Relation[] {
  const { at, note } = reading
  const write = 'relationships: {requires: [other]}'
  const key = { path: ['relationships'], takes: `names under ${KINDS.join(', ')}`, write }
  const pairs = formed(given, pairsForm, key, reading) ?? []
  return pairs.flatMap(([name, value]) => {
    const path = ['relationships', name]
    const kind = KINDS.find((known) => known === name)
    if (kind !== undefined) {
      const names = formed(value, namesForm, { path, takes: 'the names of directives', write }, reading)
      return (names ?? []).map((directive) => ({ kind, directive }))
    }
    note(at(path), `"${name}" is no relation: left out${meant(name, KINDS, (known) => `"${known}"`)}`)
    return []
  })
}

/** Names, each by itself or under `directive`, as the attribute of an element is called. */
function namesForm(given: JsonValue): readonly string[] | null {
  const names = (Array.isArray(given) ? given : [given]).map((one: JsonValue) =>
    isJsonObject(one) ? one['directive'] : one,
  )
  return names.every((name) => typeof name === 'string' || typeof name === 'number')
    ? names.map(textOf)
    : null
}
