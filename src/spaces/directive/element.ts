import { yamlText } from './dialect.ts'

/** An element of a directive, whichever reader made it. */
export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly Element[]
  /** Its own text, without blanks around it. */
  readonly text: string
  /** All between its tags as its author wrote it. */
  readonly inner: string
  /** The same in parts, in their order, without comments between them; data has none. */
  readonly content?: readonly Piece[]
  readonly line: number
  readonly column: number
  /** It is written as data, and shown so. */
  readonly isData?: true
}

/** A part of what an element holds: a text or an element, and as its author wrote it. */
export interface Piece {
  readonly part: string | Element
  readonly written: string
}

export function childrenOf({ children }: Element, ...names: readonly string[]): readonly Element[] {
  return children.filter(({ name }) => names.includes(name))
}

/** The words of the first of these attributes that is there: comma separated, blanks ignored; null for none. */
export function listOf({ attributes }: Element, ...names: readonly string[]): readonly string[] | null {
  const given = new Map(Object.entries(attributes))
  return wordsOf([names.map((name) => given.get(name)).find((value) => value !== undefined)])
}

/** The words of all of these attributes that are there; null for none. */
export function wholeListOf({ attributes }: Element, ...names: readonly string[]): readonly string[] | null {
  const given = new Map(Object.entries(attributes))
  return wordsOf(names.map((name) => given.get(name)))
}

function wordsOf(texts: readonly (string | undefined)[]): readonly string[] | null {
  const words = texts
    .flatMap((text = '') => text.split(','))
    .map((word) => word.trim())
    .filter((word) => word !== '')
  return words.length === 0 ? null : words
}

/** The words its author would understand. */
export function dialectOf({ isData }: Pick<Element, 'isData'>): 'xml' | 'yaml' {
  return isData === true ? 'yaml' : 'xml'
}

/** As its author wrote it, but for the order of blanks. */
export function shown(element: Element): string {
  const { name, attributes, children } = element
  if (element.isData === true) return shownData(element)
  const given = Object.entries(attributes).map(([key, value]) => ` ${key}="${value}"`)
  return `<${name}${given.join('')}${children.length > 0 ? '>...' : '/>'}`
}

function shownData({ name, attributes, children, text }: Element): string {
  const given = Object.entries(attributes).map(([key, value]) => `${key}: ${yamlText(value)}`)
  const held = [...given, ...children.map(shownChild)]
  if (held.length > 0) return `"${name}: {${held.join(', ')}}"`
  return text === '' ? `"${name}"` : `"${name}: ${yamlText(text)}"`
}

function shownChild({ name, attributes, children, text }: Element): string {
  const isPlain = children.length === 0 && Object.keys(attributes).length === 0
  return `${name}: ${isPlain ? yamlText(text) : '{...}'}`
}
