import { InMemoryServerEventBus } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { openHttp } from '../../src/server/http.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { createFixture } from './fixture.ts'
import { expectAll, reportOn } from './report.ts'

const MINUTES = 60_000

test(
  'X2 X3: the server layer passes every required scenario of both eras, tasks and skills',
  async () => {
    const bus = new InMemoryServerEventBus()
    const http = await openHttp(await createFixture(bus), {
      port: 0,
      token: null,
      clock: systemClock,
      bus,
      desk: {
        file: () => Promise.resolve(null),
        useCode: () => Promise.resolve(false),
        waiting: () => Promise.resolve([]),
        decide: () => Promise.resolve(''),
      },
    })
    try {
      const report = await reportOn(http.url)
      expect(report.failures).toEqual([])
      expectAll('the server layer by itself', report)
    } finally {
      await http.close()
    }
  },
  10 * MINUTES,
)
