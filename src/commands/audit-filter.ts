import { KiwiError } from '../shared/errors.ts'
import type { JournalFilter } from '../store/journal.ts'

/** The options of `kiwi audit` that choose records. */
export interface FilterOptions {
  readonly tool?: string
  readonly session?: string
  /** A run is a session of its own. */
  readonly run?: string
  readonly call?: string
  readonly status?: string
  readonly principal?: string
  readonly operation?: string
  readonly since?: string
  readonly until?: string
  readonly denied?: boolean
}

type Filter = Omit<JournalFilter, 'limit' | 'after'>

export function filterOf(options: FilterOptions, now: number): Filter {
  const { tool, run, session = run, call: call_id, status, principal, operation, denied: isDenied } = options
  if (status !== undefined && !STATUSES.includes(status))
    throw new KiwiError('INVALID_PARAMETERS', `Cannot read --status "${status}": no record has it`, {
      hint: `Give one of ${STATUSES.join(', ')}`,
    })
  const since = timeOf('--since', options.since, now)
  const until = timeOf('--until', options.until, now)
  const asked = { tool, session, call_id, status, principal, operation, since, until, isDenied }
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined))
}

/** Of decisions, then of outcomes. */
const STATUSES = 'allow deny ask success error denied rejected parked timeout cancelled unknown'.split(' ')

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** `2h` ago, or a time as ISO 8601 writes it; without a zone it is the one of this machine. */
function timeOf(option: string, text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  const [, count, unit = ''] = /^(\d{1,9})([smhdw])$/.exec(text) ?? []
  if (count !== undefined) return now - Number(count) * (UNIT_MS[unit] ?? 0)
  const time = /^\d{4}-\d{2}-\d{2}(?:$|T)/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return time
  throw new KiwiError('INVALID_PARAMETERS', `Cannot read ${option} "${text}": it is no time`, {
    hint: 'Give a time such as 2026-11-16T09:30 or 2026-11-16, or how long ago: 90s, 30m, 2h, 3d, 1w',
  })
}
