/** Names that somebody may have meant who wrote another one, best first: `get_sum` for `get-sum`, `ecoh` for `echo`. */
export function nearest(given: string, names: readonly string[], most = MOST): readonly string[] {
  const wanted = plain(given)
  const furthest = Math.max(1, Math.floor(wanted.length / 4))
  /** What differs in nothing comes before what differs only in case. */
  const isSame = (name: string): number => Number(name === given)
  return names
    .slice(0, MOST_COMPARED)
    .flatMap((name) => {
      const away = distance(wanted, plain(name), furthest)
      return away <= furthest ? [{ name, away }] : []
    })
    .toSorted((a, b) => a.away - b.away || isSame(b.name) - isSame(a.name) || (a.name < b.name ? -1 : 1))
    .slice(0, most)
    .map(({ name }) => name)
}

const MOST = 3
const MOST_COMPARED = 5000
const LONGEST = 128

/** Case and what stands between words are no difference. */
function plain(name: string): string {
  return name
    .slice(0, LONGEST)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
}

/** How many letters are missing, added, other or swapped with their neighbour; more than `most` is not counted out. */
function distance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let before: readonly number[] = []
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let row = 1; row <= a.length; row++) {
    const now = [row]
    for (let at = 1; at <= b.length; at++) {
      const isSame = a[row - 1] === b[at - 1]
      const isSwapped = row > 1 && at > 1 && a[row - 1] === b[at - 2] && a[row - 2] === b[at - 1]
      now.push(
        Math.min(
          (last[at] ?? 0) + 1,
          (now[at - 1] ?? 0) + 1,
          (last[at - 1] ?? 0) + (isSame ? 0 : 1),
          isSwapped ? (before[at - 2] ?? 0) + 1 : Infinity,
        ),
      )
    }
    before = last
    last = now
  }
  return last[b.length] ?? 0
}
