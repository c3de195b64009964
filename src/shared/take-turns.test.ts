import { expect, test } from 'vitest'
import { openTurns } from './take-turns.ts'

test('work that lasts lets others have a turn; short work does not stop for it', async () => {
  let turns = 0
  const other = setInterval(() => (turns += 1), 0)
  const turn = openTurns()
  await turn()
  expect(turns).toBe(0)
  const until = performance.now() + 200
  while (performance.now() < until) await turn()
  clearInterval(other)
  expect(turns).toBeGreaterThan(0)
})
