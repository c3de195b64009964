import { fitsSegment } from '../../shared/name-glob.ts'

/** Globs of the paths that two globs have in common, where neither holds the other: all below `src`, and all that end in `.ts`. */
export function meetPaths(one: string, other: string): readonly string[] {
  if (one.startsWith('/') !== other.startsWith('/')) return []
  const lead = one.startsWith('/') ? '/' : ''
  return meet(segmentsOf(one), segmentsOf(other)).map((segments) => lead + segments.join('/'))
}

type Segments = readonly string[]

/** An author may write any number of `**`: of more than these ways to meet, the rest is not shown. */
const MOST = 8

/** From the ends on, so that each pair of places is worked out once. */
function meet(one: Segments, other: Segments): readonly Segments[] {
  let below: readonly (readonly Segments[])[] = []
  for (let i = one.length; i >= 0; i--) {
    const row: (readonly Segments[])[] = []
    for (let j = other.length; j >= 0; j--) {
      const after = { both: below[j + 1] ?? [], first: below[j] ?? [], second: row[j + 1] ?? [] }
      row[j] = i === one.length && j === other.length ? [[]] : distinct(ways(one[i], other[j], after))
    }
    below = row
  }
  return below[0] ?? []
}

/** What follows when both go on by a segment, or one of them alone. */
interface After {
  readonly both: readonly Segments[]
  readonly first: readonly Segments[]
  readonly second: readonly Segments[]
}

function ways(a: string | undefined, b: string | undefined, after: After): readonly Segments[] {
  const before = (segment: string | null, rest: readonly Segments[]): readonly Segments[] =>
    segment === null ? [] : rest.map((segments) => [segment, ...segments])
  if (a === ANY && b === ANY) return [...before(ANY, after.first), ...before(ANY, after.second)]
  // It stands for none, or for what the other has there.
  if (a === ANY) return [...after.first, ...before(b ?? null, after.second)]
  if (b === ANY) return [...after.second, ...before(a ?? null, after.first)]
  return a === undefined || b === undefined ? [] : before(meetSegments(a, b), after.both)
}

const ANY = '**'

function distinct(found: readonly Segments[]): readonly Segments[] {
  const known = new Map(found.map((segments) => [segments.join('/'), segments]))
  return [...known.values()].slice(0, MOST)
}

/** Null when no name is of both. Where it takes more than one pattern to say which are, it is the narrower one. */
function meetSegments(a: string, b: string): string | null {
  if (a === b || b === '*') return a
  if (a === '*') return b
  if (!isPattern(a)) return fitsSegment(b, a) ? a : null
  if (!isPattern(b)) return fitsSegment(a, b) ? b : null
  const [start, end] = [longer(startOf(a), startOf(b), 'startsWith'), longer(endOf(a), endOf(b), 'endsWith')]
  if (start === null || end === null) return null
  const isSimple = [a, b].every((pattern) => /^[^*?]*\*[^*?]*$/.test(pattern))
  return isSimple ? `${start}*${end}` : a.length >= b.length ? a : b
}

function longer(a: string, b: string, way: 'startsWith' | 'endsWith'): string | null {
  const [long, short] = a.length >= b.length ? [a, b] : [b, a]
  return long[way](short) ? long : null
}

function startOf(pattern: string): string {
  return pattern.replace(/[*?].*$/, '')
}

function endOf(pattern: string): string {
  return pattern.replace(/^.*[*?]/, '')
}

function isPattern(segment: string): boolean {
  return /[*?]/.test(segment)
}

function segmentsOf(glob: string): Segments {
  return glob.split('/').filter((segment) => segment !== '')
}
