import { z } from 'zod'
import type { Limits } from '../limits.ts'
import type { Connection } from './connection.ts'
import { readRow } from './rows.ts'
import { createGiveBack, createTake } from './windows.ts'

/** What nobody used for so long is forgotten when something new comes: sessions are many. */
const FORGOTTEN_MS = 30 * 24 * 60 * 60 * 1000

export function createLimits(connection: Connection): Limits {
  const streaks = createStreaks(connection)
  return {
    take: createTake(connection),
    giveBack: createGiveBack(connection),
    ...createBudgets(connection),
    ...streaks,
  }
}

function createBudgets(connection: Connection): Pick<Limits, 'reserve' | 'settle' | 'divide' | 'reunite'> {
  const forget = connection.prepare(
    'DELETE FROM budgets WHERE used_at < ? AND holder NOT IN (SELECT parent FROM budgets WHERE parent IS NOT NULL)',
  )
  const open = connection.prepare(
    'INSERT INTO budgets VALUES (?, ?, ?, 0, 0, ?, ?) ON CONFLICT (holder, kind) DO NOTHING',
  )
  // The one statement that decides. A cap that was changed holds from now on; what a parent gave stays what it was.
  const reserve = connection.prepare(
    `UPDATE budgets SET cap = iif(parent IS NULL, ?1, cap), reserved = reserved + ?2, used_at = ?3
     WHERE holder = ?4 AND kind = ?5 AND spent + reserved + ?2 <= iif(parent IS NULL, ?1, min(cap, ?1))`,
  )
  const select = connection.prepare('SELECT * FROM budgets WHERE holder = ? AND kind = ?')
  const settle = connection.prepare(
    'UPDATE budgets SET reserved = max(0, reserved - ?), spent = spent + ? WHERE holder = ? AND kind = ?',
  )
  const remove = connection.prepare('DELETE FROM budgets WHERE holder = ? AND kind = ?')
  const find = (holder: string, kind: string): BudgetRow | null => {
    const row = select.get(holder, kind)
    return row === undefined ? null : readRow(BudgetRow, row)
  }
  return {
    reserve: ({ holder, kind, cap, amount }, now) =>
      connection.write(() => {
        if (open.run(holder, kind, cap, null, now) > 0) forget.run(now - FORGOTTEN_MS)
        if (reserve.run(cap, amount, now, holder, kind) > 0) return null
        const { spent, reserved } = find(holder, kind) ?? { spent: 0, reserved: 0 }
        return { cap, spent, reserved }
      }),
    settle: ({ holder, kind }, reserved, spent) =>
      connection.write(() => {
        settle.run(reserved, spent, holder, kind)
      }),
    divide: (parent, { holder, kind, cap }, now) =>
      connection.write(() => {
        const giver = find(parent.holder, parent.kind)
        const isNew = find(holder, kind) === null
        if (giver === null || !isNew) return false
        if (reserve.run(giver.cap, cap, now, parent.holder, parent.kind) === 0) return false
        open.run(holder, kind, cap, parent.holder, now)
        return true
      }),
    reunite: ({ holder, kind }) =>
      connection.write(() => {
        const child = find(holder, kind)
        if (child === null || child.parent === null) return
        // What was set aside and never settled stays booked.
        settle.run(child.cap, child.spent + child.reserved, child.parent, kind)
        remove.run(holder, kind)
      }),
  }
}

const BudgetRow = z.object({
  cap: z.number(),
  spent: z.number(),
  reserved: z.number(),
  parent: z.string().nullable(),
})
type BudgetRow = z.infer<typeof BudgetRow>

function createStreaks(connection: Connection): Pick<Limits, 'streak' | 'setStreak'> {
  const select = connection.prepare('SELECT streak FROM streaks WHERE holder = ?')
  const put = connection.prepare('INSERT OR REPLACE INTO streaks VALUES (?, ?, ?)')
  const forget = connection.prepare('DELETE FROM streaks WHERE used_at < ?')
  return {
    async streak(holder) {
      const row = await connection.read(() => select.get(holder))
      return row === undefined ? null : readRow(StreakRow, row).streak
    },
    setStreak: (holder, streak, now) =>
      connection.write(() => {
        forget.run(now - FORGOTTEN_MS)
        put.run(holder, streak, now)
      }),
  }
}

const StreakRow = z.object({ streak: z.string() })
