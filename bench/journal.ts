import type { Kiwi } from '../src/kiwi.ts'
import { systemClock } from '../src/shared/clock.ts'
import { createIds } from '../src/shared/ids.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import type { NewRecord } from '../src/store/journal.ts'
import type { Figure } from './measure.ts'
import { round, summarize, timed } from './measure.ts'

const ids = createIds(Date.now)
const record = (): NewRecord => ({
  kind: 'decision',
  call_id: ids(),
  session: 'bench',
  parent_session: null,
  principal: 'bench',
  operation: 'execute.run',
  tool: 'true_tool',
  status: 'allow',
  wall: Date.now(),
  mono: performance.now(),
  body: {
    parameters: { name: 'Ada' },
    params_hash: 'x'.repeat(64),
    chain: ['true_tool', 'true_runtime', 'subprocess'],
  },
})

export async function journal({ config }: Kiwi, appends: number): Promise<readonly Figure[]> {
  const store = await openSqliteStore({ path: config.store, clock: systemClock })
  const time = async (sync: 'normal' | 'full', count: number): Promise<number> => {
    const times: number[] = []
    for (let turn = 0; turn < count; turn++)
      times.push(await timed(() => store.journal.append([record()], sync)))
    return summarize(times).p50 * 1000
  }
  await time('normal', 200)
  const normal = await time('normal', appends)
  const full = await time('full', Math.min(appends, 100))
  const batchMs = await timed(() =>
    Promise.all(Array.from({ length: 1000 }, () => store.journal.append([record()], 'normal'))),
  )
  await store.close()
  return [
    {
      id: 'audit',
      what: 'audit append, committed, one at a time',
      how: 'hash-linked record on the embedded store, normal sync, p50',
      value: round(normal),
      unit: 'us',
      detail: 'a bare insert costs 10 to 12',
      target: null,
    },
    {
      id: 'audit',
      what: 'the same with full sync',
      how: 'p50; depends on the disk',
      value: round(full),
      unit: 'us',
      detail: '7 to 8 ms on the disk this was designed on',
      target: null,
    },
    {
      id: 'audit',
      what: '1,000 appends at once',
      how: 'they share transactions',
      value: round(batchMs),
      unit: 'us',
      detail: 'microseconds each',
      target: null,
    },
  ]
}
