import { InMemoryServerEventBus } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { openHttp } from '../../src/server/http.ts'
import { systemClock } from '../../src/shared/clock.ts'
import { createFixture } from './fixture.ts'
import { reportOn } from './report.ts'

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
      const { counts, failures } = await reportOn(http.url)
      expect(failures).toEqual([])
      expect(counts).toEqual({ '2025-11-25': '30/30', '2026-07-28': '37/37', tasks: '9/9', skills: '3/3' })
    } finally {
      await http.close()
    }
  },
  3 * MINUTES,
)
