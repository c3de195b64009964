import type { JsonValue } from '../../shared/json.ts'
import { isJsonObject, parsePlain } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import type { Element } from './element.ts'
import type { DirectiveInput } from './model.ts'
import { writtenText } from './written-text.ts'

/** A value as its type wants it, whether it was written as text or as data; undefined when it is none of that type. */
export function valueAs(type: DirectiveInput['type'], given: JsonValue): JsonValue | undefined {
  return READERS[type](given)
}

type Reader = (given: JsonValue) => JsonValue | undefined

const READERS: Readonly<Record<DirectiveInput['type'], Reader>> = {
  string: (given) => (typeof given === 'object' ? undefined : String(given)),
  number: numberIn,
  integer(given) {
    const number = numberIn(given)
    return Number.isSafeInteger(number) ? number : undefined
  },
  boolean: (given) => BOOLEANS.get(textOf(given).trim().toLowerCase()),
  array(given) {
    const list = typeof given === 'string' ? (parsePlain(given) ?? wordsIn(given)) : given
    return Array.isArray(list) ? list : undefined
  },
  object(given) {
    const value = typeof given === 'string' ? parsePlain(given) : given
    return isJsonObject(value) ? value : undefined
  },
}

function numberIn(given: JsonValue): number | undefined {
  const number = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
])

/** Words between commas. */
export function wordsIn(text: string): readonly string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

/** An element as data: its text, or its attributes and children by name, those that are there several times as a list. */
export function dataOf(element: Element): JsonValue {
  const { attributes } = element
  // Between words an element is markup: apart from them it would say something else.
  const isText = element.text !== '' || element.children.length === 0
  const text = isText ? writtenText(element) : ''
  const children = isText ? [] : element.children
  if (isText && Object.keys(attributes).length === 0) return text
  const found = new Map<string, JsonValue[]>()
  const add = (name: string, value: JsonValue): void => {
    const known = found.get(name)
    if (known === undefined) found.set(name, [value])
    else known.push(value)
  }
  for (const [name, value] of Object.entries(attributes)) add(name, value)
  for (const child of children) add(child.name, dataOf(child))
  if (text !== '') add('text', text)
  return Object.fromEntries(
    [...found].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
  )
}
