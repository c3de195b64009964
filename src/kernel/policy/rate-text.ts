/** `100/minute` as a count and the window it holds for; null for anything else. */
export function readRate(text: string): Rate | null {
  const [, count, unit] = /^([1-9]\d{0,5})\/(second|minute|hour|day)$/.exec(text) ?? []
  const windowMs = WINDOWS.get(unit ?? '')
  return windowMs === undefined ? null : { count: Number(count), windowMs }
}

interface Rate {
  readonly count: number
  readonly windowMs: number
}

const WINDOWS: ReadonlyMap<string, number> = new Map([
  ['second', 1000],
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
])
