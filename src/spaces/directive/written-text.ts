import type { Element, Piece } from './element.ts'

/** What an element says: its text, and where that holds markup, all of it as its author wrote it. */
export function writtenText({ children, text, content = [] }: Element): string {
  if (children.length === 0) return text
  return content
    .map(({ written }) => written)
    .join('')
    .trim()
}

/** One element that stands apart from what is around it; or else what stands together between two of these. */
interface Group {
  readonly apart: Element | null
  readonly pieces: readonly Piece[]
}

type IsApart = (element: Element) => boolean

/** What an element holds, in its order. */
export function groupsIn({ content = [] }: Element, isApart: IsApart): readonly Group[] {
  const groups: Group[] = []
  let pieces: Piece[] = []
  const endGroup = (): void => {
    if (pieces.some(({ part }) => typeof part !== 'string' || part.trim() !== ''))
      groups.push({ apart: null, pieces })
    pieces = []
  }
  for (const piece of content) {
    if (typeof piece.part === 'string' || !isApart(piece.part)) {
      pieces.push(piece)
      continue
    }
    endGroup()
    groups.push({ apart: piece.part, pieces: [piece] })
  }
  endGroup()
  return groups
}

/** The text of what stands together, as it is written where there is markup in it. */
export function textOfGroup({ pieces }: Group): string {
  const plain = pieces.flatMap(({ part }) => (typeof part === 'string' ? [part] : []))
  const whole = plain.length === pieces.length ? plain : pieces.map(({ written }) => written)
  return dedented(whole.join(''))
}

/** The texts of an element without what stands apart in it, in their order. */
export function textsBeside(element: Element, isApart: IsApart): readonly string[] {
  return groupsIn(element, isApart)
    .filter(({ apart }) => apart === null)
    .map(textOfGroup)
}

/** A text over several lines without the blanks its place in the file gave them. */
function dedented(text: string): string {
  const [first = '', ...rest] = text.trim().split(/\r?\n/)
  const blanks = rest.map((line) => line.search(/\S/)).filter((at) => at >= 0)
  const least = blanks.reduce((fewest, at) => Math.min(fewest, at), Infinity)
  return [first, ...rest.map((line) => line.slice(Number.isFinite(least) ? least : 0).trimEnd())].join('\n')
}
