import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { giveMemoryBack, restAfterWork } from './rest.ts'

const LOOK_MS = 60
const ENOUGH = { timeout: 10_000, interval: 10 }

/** Keeps the loop from everything else. */
function work(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

test('B4: a rest comes once after work, and again only after more of it', async () => {
  let rests = 0
  const rest = restAfterWork(async () => void rests++, LOOK_MS)
  try {
    await vi.waitFor(() => expect(rests).toBe(1), ENOUGH)
    await sleep(5 * LOOK_MS)
    expect(rests).toBe(1)
    work(2 * LOOK_MS)
    await vi.waitFor(() => expect(rests).toBe(2), ENOUGH)
  } finally {
    rest.end()
  }
})

test('B4: while there is work nobody rests', async () => {
  let rests = 0
  const rest = restAfterWork(async () => void rests++, LOOK_MS)
  try {
    for (let turn = 0; turn < 40; turn++) {
      work(LOOK_MS / 2)
      await sleep(1)
    }
    expect(rests).toBe(0)
  } finally {
    rest.end()
  }
})

test('B4: what nobody holds any more is given back', async () => {
  let garbage: unknown[] | null = Array.from({ length: 2_000_000 }, (_, at) => ({ at }))
  const full = await held()
  expect(garbage).toHaveLength(2_000_000)
  garbage = null
  // It is some 75; the heap may keep a little room that others have left.
  expect(full - (await held())).toBeGreaterThan(40)
})

/** Megabytes of the heap after what can be given back is. */
async function held(): Promise<number> {
  await giveMemoryBack()
  return process.memoryUsage().heapTotal / 2 ** 20
}
