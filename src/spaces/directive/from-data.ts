import type { JsonObject, JsonValue } from '../../shared/json.ts'
import { isJsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { Element } from './element.ts'
import type { Reading } from './formed.ts'
import { formed, listForm, mappingForm } from './formed.ts'
import type { Position } from './position.ts'

type At = (path: readonly PropertyKey[]) => Position

/**
 * Elements that are written as data: a list with one entry for each, its name as the only key. What holds plain values
 * stands for attributes, a list of them for one with commas, and whatever holds more for children.
 */
export function elementsOf(given: JsonValue, at: At, path: readonly PropertyKey[]): readonly Element[] {
  if (Array.isArray(given)) return given.flatMap((entry, index) => elementsOf(entry, at, [...path, index]))
  if (!isJsonObject(given)) return [{ ...NOTHING, name: textOf(given), ...at(path) }]
  return Object.entries(given).map(([name, value]) => elementOf(name, value, at, [...path, name]))
}

const NOTHING = { attributes: {}, children: [], text: '', inner: '', isData: true } as const

function elementOf(name: string, value: JsonValue, at: At, path: readonly PropertyKey[]): Element {
  const element: Element = { ...NOTHING, name, ...at(path) }
  if (isPlain(value)) return { ...element, text: plainText(value) }
  if (!isJsonObject(value)) return { ...element, children: elementsOf(value, at, path) }
  const entries = Object.entries(value)
  const isHeld = ([key, one]: readonly [string, JsonValue]): boolean => isPlain(one) && !isSection(name, key)
  return {
    ...element,
    attributes: Object.fromEntries(entries.filter(isHeld).map(([key, one]) => [key, plainText(one)])),
    children: entries
      .filter((entry) => !isHeld(entry))
      .map(([key, one]) => sectionOf(elementOf(key, one, at, [...path, key]), Array.isArray(one))),
  }
}

function isPlain(value: JsonValue): boolean {
  return Array.isArray(value)
    ? value.every((one) => typeof one !== 'object' || one === null)
    : !isJsonObject(value)
}

function plainText(value: JsonValue): string {
  return Array.isArray(value) ? value.map(textOf).join(',') : textOf(value)
}

/** `filesystem: {read: [a, b]}` and `kiwi: {search: [tool]}`: a right by name, and what it is about. */
function isSection(around: string, name: string): boolean {
  return (around === 'filesystem' && ['read', 'write', 'delete'].includes(name)) || around === 'kiwi'
}

/** An empty list stays one: it is not the same as none. */
function sectionOf(element: Element, isList: boolean): Element {
  const { name, text, children } = element
  if (children.length > 0 || (text === '' && !isList)) return element
  const key = ['read', 'write', 'delete'].includes(name) ? 'paths' : name === 'search' ? 'types' : 'actions'
  return { ...element, attributes: { ...element.attributes, [key]: text }, text: '' }
}

export const DECLARED = ['requires', 'capabilities', 'declared'] as const
const DECLARED_SO = 'requires: {capabilities: {declared: [...]}}, or what it may do under permissions'

/** What another system calls capabilities, as `<permissions>` hold them; null where it declares none. */
export function capabilitiesIn(requires: JsonValue | undefined, reading: Reading): readonly Element[] | null {
  const { at, note } = reading
  const within = (outer: JsonValue | undefined, depth: 1 | 2): JsonValue | undefined => {
    const path = DECLARED.slice(0, depth)
    const key = { path, takes: `"${DECLARED[depth]}"`, write: DECLARED_SO }
    const { [DECLARED[depth]]: inner, ...others } = formed(outer, mappingForm, key, reading) ?? {}
    for (const other of Object.keys(others))
      note(at([...path, other]), `"${[...path, other].join('.')}" is not known: kept, without effect`)
    return inner
  }
  const key = { path: DECLARED, takes: 'a list', write: DECLARED_SO }
  const declared = formed(within(within(requires, 1), 2), listForm, key, reading)
  return declared?.map((one, index) => capability(textOf(one), at([...DECLARED, index]))) ?? null
}

/** `ryeos.execute.tool.a/b`. */
function capability(text: string, place: Position): Element {
  const [, action, type, id] = /^(?:rye|ryeos)\.(\w+)\.(\w+)\.(.+)$/.exec(text) ?? []
  if (action === undefined || type === undefined || id === undefined)
    return { ...NOTHING, name: text, ...place }
  const inner: Element = { ...NOTHING, name: type, text: id, ...place }
  return { ...NOTHING, name: action, children: [inner], ...place }
}

/** The tools of a directive that is a manifest: `permissions: {tools: [a, b]}`. */
export function grantsOf(given: JsonObject, at: At, path: readonly PropertyKey[]): readonly Element[] {
  const { tools, ...others } = given
  const place = at([...path, 'tools'])
  const ids = tools === undefined ? '' : plainText(tools)
  const attributes = { resource: 'tool', id: ids }
  return [
    ...(ids === '' ? [] : [{ ...NOTHING, name: 'execute', attributes, ...place }]),
    ...elementsOf(others, at, path),
  ]
}
