/** One line of a comparison: in both, only in the first, or only in the second. */
export interface Line {
  readonly mark: ' ' | '-' | '+'
  readonly text: string
}

const CONTEXT = 3
/** Beyond these a comparison costs more than anybody reads of it. */
const MOST_LINES = 50_000
const MOST_CHANGES = 2000

/** Two texts side by side as a unified diff; empty when they are equal, null when they are too large or too different. */
export function unifiedDiff(before: string, after: string): string | null {
  if (before === after) return ''
  const lines = compareLines(linesOf(before), linesOf(after))
  return lines === null ? null : hunksOf(lines).map(printHunk).join('\n')
}

/** A text without a line break at its end is another than with one. */
function linesOf(text: string): readonly string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') return lines.slice(0, -1)
  return [...lines.slice(0, -1), `${lines.at(-1)}\n\\ No newline at end of file`]
}

/** The shortest way from one list to the other, after Myers; null when it is too long. */
export function compareLines(before: readonly string[], after: readonly string[]): readonly Line[] | null {
  if (before.length + after.length > MOST_LINES) return null
  const same = sharedStart(before, after)
  const left = before.slice(same)
  const right = after.slice(same)
  const steps = search(left, right)
  if (steps === null) return null
  return [
    ...before.slice(0, same).map((text) => ({ mark: ' ', text }) as const),
    ...walkBack(left, right, steps),
  ]
}

function sharedStart(before: readonly string[], after: readonly string[]): number {
  let at = 0
  while (at < before.length && before[at] === after[at]) at += 1
  return at
}

/** For each number of changes, how far along each diagonal one comes. */
function search(before: readonly string[], after: readonly string[]): readonly Int32Array[] | null {
  const steps: Int32Array[] = []
  const most = Math.min(before.length + after.length, MOST_CHANGES)
  let reach = new Int32Array(2 * most + 3)
  for (let changes = 0; changes <= most; changes++) {
    const next = reach.slice()
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      const at = diagonal + most + 1
      let x = isDown(reach, at, diagonal, changes) ? (reach[at + 1] ?? 0) : (reach[at - 1] ?? 0) + 1
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1
      next[at] = x
      if (x >= before.length && x - diagonal >= after.length) return [...steps, next]
    }
    steps.push(next)
    reach = next
  }
  return null
}

function isDown(reach: Int32Array, at: number, diagonal: number, changes: number): boolean {
  return diagonal === -changes || (diagonal !== changes && (reach[at - 1] ?? 0) < (reach[at + 1] ?? 0))
}

function walkBack(
  before: readonly string[],
  after: readonly string[],
  steps: readonly Int32Array[],
): readonly Line[] {
  const lines: Line[] = []
  const middle = ((steps[0]?.length ?? 3) - 3) / 2 + 1
  let [x, y] = [before.length, after.length]
  const keep = (start: number): void => {
    for (; x > start; x--, y--) lines.push({ mark: ' ', text: before[x - 1] ?? '' })
  }
  for (let changes = steps.length - 1; changes > 0; changes--) {
    const reach = steps[changes - 1] ?? new Int32Array(0)
    const diagonal = x - y
    const isAdded = isDown(reach, diagonal + middle, diagonal, changes)
    const from = reach[diagonal + middle + (isAdded ? 1 : -1)] ?? 0
    keep(isAdded ? from : from + 1)
    if (isAdded) lines.push({ mark: '+', text: after[(y -= 1)] ?? '' })
    else lines.push({ mark: '-', text: before[(x -= 1)] ?? '' })
  }
  keep(0)
  return lines.toReversed()
}

interface Hunk {
  /** Where it begins in the first and in the second text, from 1. */
  readonly starts: readonly [number, number]
  readonly lines: readonly Line[]
}

/** Changes with a few lines around them; those that are near each other are shown together. */
function hunksOf(lines: readonly Line[]): readonly Hunk[] {
  const shown = new Set<number>()
  for (const [at, { mark }] of lines.entries()) {
    if (mark === ' ') continue
    for (let near = at - CONTEXT; near <= at + CONTEXT; near++) shown.add(near)
  }
  const hunks: { starts: [number, number]; lines: Line[] }[] = []
  let [left, right] = [1, 1]
  for (const [at, line] of lines.entries()) {
    if (shown.has(at)) {
      if (!shown.has(at - 1) || hunks.length === 0) hunks.push({ starts: [left, right], lines: [] })
      hunks.at(-1)?.lines.push(line)
    }
    if (line.mark !== '+') left += 1
    if (line.mark !== '-') right += 1
  }
  return hunks
}

function printHunk({ starts, lines }: Hunk): string {
  const [left, right] = starts
  const removed = lines.filter(({ mark }) => mark !== '+').length
  const added = lines.filter(({ mark }) => mark !== '-').length
  const head = `@@ -${removed === 0 ? left - 1 : left},${removed} +${added === 0 ? right - 1 : right},${added} @@`
  return [head, ...lines.map(({ mark, text }) => `${mark}${text}`)].join('\n')
}
