import { afterEach, expect, test } from 'vitest'
import type { TempKiwi } from '../test/temp-kiwi.ts'
import { openTempKiwi } from '../test/temp-kiwi.ts'
import { systemClock } from './shared/clock.ts'
import { createLog } from './shared/log.ts'
import { openKiwi } from './kiwi.ts'

let temp: TempKiwi
afterEach(() => temp.close())

test.each(['true', 'false'])(
  'C13: KIWI_USE_PRIMITIVES=%s changes nothing but one line of the log',
  async (value) => {
    temp = await openTempKiwi({ environment: { KIWI_USE_PRIMITIVES: value } })
    const lines: string[] = []
    const log = createLog({ level: 'warn', clock: systemClock, write: (line) => void lines.push(line) })
    const other = await openKiwi(temp.config, { log })
    await other.close()
    expect(lines).toEqual([expect.stringContaining('KIWI_USE_PRIMITIVES')])
    expect(await temp.run('hello_bash', { name: 'Ada' })).toMatchObject({ status: 'success' })
  },
)
