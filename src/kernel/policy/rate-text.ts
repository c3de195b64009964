/** `100/minute` or `100/minute per session` as a count and the window it holds for; null for anything else. */
export function readRate(text: string): Rate | null {
  const [, count, unit, per] =
    /^([1-9]\d{0,5})\/(second|minute|hour|day)(?: per (principal|session))?$/.exec(text) ?? []
  const windowMs = WINDOWS.get(unit ?? '')
  if (windowMs === undefined) return null
  return { count: Number(count), windowMs, per: per === 'session' ? 'session' : 'principal' }
}

export interface Rate {
  readonly count: number
  readonly windowMs: number
  /** Whose calls are counted together: a caller's, or those of one of their sessions or runs. */
  readonly per: 'principal' | 'session'
}

const WINDOWS: ReadonlyMap<string, number> = new Map([
  ['second', 1000],
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
])
