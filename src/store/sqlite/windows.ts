import { z } from 'zod'
import type { FullWindow, Limits, Window } from '../limits.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'

/** Exact windows: each use is a row, and as many rows of a key are kept as its limit counts. */
export function createTake(connection: Connection): Limits['take'] {
  const setBack = connection.prepare(
    'UPDATE window_uses SET at = ?1, until = ?1 + (until - at) WHERE key = ?2 AND at > ?1',
  )
  const removeOver = connection.prepare('DELETE FROM window_uses WHERE until <= ?')
  const countUses = connection.prepare('SELECT count(*) AS used FROM window_uses WHERE key = ? AND at > ?')
  const selectFreeing = connection.prepare(
    'SELECT at FROM window_uses WHERE key = ? AND at > ? ORDER BY at LIMIT 1 OFFSET ?',
  )
  const insert = connection.prepare('INSERT INTO window_uses VALUES (?, ?, ?)')

  const fullOf = (window: Window, now: number): FullWindow | null => {
    const { key, count, windowMs } = window
    // The clock was put back. What seems to be still to come was before now: it counts as if it were now, no longer.
    setBack.run(now, key)
    const { used } = readRow(UsedRow, countUses.get(key, now - windowMs))
    if (used < count) return null
    // So many have to leave the window before there is room for one.
    const { at } = readRow(AtRow, selectFreeing.get(key, now - windowMs, used - count))
    return { ...window, used, retryAfterMs: at + windowMs - now }
  }

  return (windows, now) =>
    connection.write(() => {
      const at = Math.trunc(now)
      removeOver.run(at)
      const full = windows.map((window) => fullOf(window, at)).filter((found) => found !== null)
      const [longest = null] = full.toSorted((a, b) => b.retryAfterMs - a.retryAfterMs)
      if (longest === null) for (const { key, windowMs } of windows) insert.run(key, at, at + windowMs)
      return longest
    })
}

export function createGiveBack(connection: Connection): Limits['giveBack'] {
  const remove = connection.prepare(
    'DELETE FROM window_uses WHERE rowid = (SELECT rowid FROM window_uses WHERE key = ? AND at = ? LIMIT 1)',
  )
  return (windows, at) =>
    connection.write(() => {
      for (const { key } of windows) remove.run(key, Math.trunc(at))
    })
}

const UsedRow = z.object({ used: z.number() })
const AtRow = z.object({ at: z.number() })
