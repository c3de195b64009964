/** An element of a directive, whichever reader made it. */
export interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly Element[]
  /** Its own text, without blanks around it. */
  readonly text: string
  /** All between its tags as its author wrote it. */
  readonly inner: string
  readonly line: number
  readonly column: number
}

export function childrenOf({ children }: Element, ...names: readonly string[]): readonly Element[] {
  return children.filter(({ name }) => names.includes(name))
}

/** The words of the first of these attributes that is there: comma separated, blanks ignored; null for none. */
export function listOf({ attributes }: Element, ...names: readonly string[]): readonly string[] | null {
  const given = new Map(Object.entries(attributes))
  const text = names.map((name) => given.get(name)).find((value) => value !== undefined) ?? ''
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  return words.length === 0 ? null : words
}

/** As its author wrote it, but for the order of blanks. */
export function shown({ name, attributes, children }: Element): string {
  const given = Object.entries(attributes).map(([key, value]) => ` ${key}="${value}"`)
  return `<${name}${given.join('')}${children.length > 0 ? '>...' : '/>'}`
}
