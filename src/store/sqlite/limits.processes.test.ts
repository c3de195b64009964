import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { StoreFolder } from '../../../test/fixtures/store-folder.ts'
import { makeStoreFolder } from '../../../test/fixtures/store-folder.ts'
import type { StoreTask } from '../../../test/fixtures/store-process.ts'
import { buildStoreProcess, startStoreProcess } from '../../../test/fixtures/store-processes.ts'

// Processes start slowly on a busy machine.
const TIMEOUT = 60_000
const NOW = Date.now()

let program: string
let script: string
let place: StoreFolder
beforeAll(async () => {
  program = await mkdtemp(join(tmpdir(), 'kiwi-program-'))
  script = await buildStoreProcess(program)
}, TIMEOUT)
afterAll(() => rm(program, { recursive: true, force: true }))
beforeEach(async () => {
  place = await makeStoreFolder()
})
afterEach(() => place.dispose())

/** Lets them go at once; how many each got through. */
async function together(tasks: readonly StoreTask[]): Promise<readonly number[]> {
  const processes = tasks.map((task) => ({ task, running: startStoreProcess(script) }))
  await Promise.all(processes.map(({ running }) => running.ready))
  for (const { task, running } of processes) running.begin(task)
  const ends = await Promise.all(processes.map(({ running }) => running.last))
  return ends.map((end) => Number(end?.['passed']))
}
const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

test(
  'H8: of 400 calls that four processes make at once, a limit of 100 lets exactly 100 through',
  async () => {
    // A window that no slow machine outlasts.
    const window = { key: 'a', count: 100, windowMs: 3_600_000 }
    const task: StoreTask = { do: 'take', path: place.path, window, times: 100 }
    const passed = await together([task, task, task, task])
    expect(sum(passed)).toBe(100)
    const { limits } = await place.open()
    expect(await limits.take([window], Date.now())).toMatchObject({ used: 100 })
  },
  TIMEOUT,
)

test(
  'PRM-07: eight processes that spend one budget at once spend it to the last call and not one more',
  async () => {
    const share = { holder: 'session', kind: 'tool_calls', cap: 60, amount: 1 }
    const task: StoreTask = { do: 'spend', path: place.path, share, parent: null }
    expect(sum(await together(Array.from({ length: 8 }, () => task)))).toBe(60)
    const { limits } = await place.open()
    expect(await limits.reserve(share, NOW)).toEqual({ cap: 60, spent: 60, reserved: 0 })
  },
  TIMEOUT,
)

test(
  'PRM-07: eight children at once, each in a process of its own, never spend more than their parent has',
  async () => {
    const parent = { holder: 'parent', kind: 'tool_calls' }
    const store = await place.open()
    await store.limits.reserve({ ...parent, cap: 50, amount: 0 }, NOW)
    const tasks = Array.from({ length: 8 }, (_, n): StoreTask => {
      const share = { holder: `child${n}`, kind: 'tool_calls', cap: 15, amount: 0 }
      return { do: 'spend', path: place.path, share, parent }
    })
    const passed = await together(tasks)
    // Three children fit into fifty; a fourth would not.
    expect(passed.toSorted((a, b) => b - a)).toEqual([15, 15, 15, 0, 0, 0, 0, 0])
    expect(await store.limits.reserve({ ...parent, cap: 50, amount: 6 }, NOW)).toEqual({
      cap: 50,
      spent: 45,
      reserved: 0,
    })
  },
  TIMEOUT,
)
