import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TempServer } from '../e2e/temp-server.ts'
import { startServer } from '../e2e/temp-server.ts'
import type { Place } from '../fixtures/place.ts'
import { makeFixturePlace } from './fixture-place.ts'
import { expectAll, reportOn } from './report.ts'

const MINUTES = 60_000
let place: Place
let server: TempServer

beforeAll(async () => {
  place = await makeFixturePlace()
  server = await startServer(place, ['--no-auth', '--passthrough', 'fixture'])
}, MINUTES)
afterAll(async () => {
  await server?.stop()
  place?.remove()
})

test(
  'X2 X3: a server that is shown whole passes every required scenario of both eras, tasks and skills',
  async () => {
    const report = await reportOn(server.url)
    expect(report.failures).toEqual([])
    expectAll('through `kiwi serve --passthrough`', report)
  },
  10 * MINUTES,
)
