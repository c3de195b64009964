import { expect, test } from 'vitest'
import { createMemoryWire } from '../../test/fixtures/memory-wire.ts'
import { openPeer } from './peer.ts'
import type { Wire } from './wire.ts'

const FLOOD = 200

test('R-08: of a flood of messages that nobody asked for, others have a turn after every few', async () => {
  let taken = 0
  let most = 0
  const wire: Wire = {
    ...createMemoryWire(() => null),
    messages: {
      async *[Symbol.asyncIterator]() {
        for (; taken < FLOOD; taken++)
          yield JSON.stringify({ jsonrpc: '2.0', id: `q${taken}`, method: 'roots/list' })
      },
    },
  }
  let before = 0
  const look = (): void => {
    most = Math.max(most, taken - before)
    before = taken
    if (taken < FLOOD) setImmediate(look)
  }
  setImmediate(look)
  await openPeer('flood', wire, () => {}).ended
  expect(taken).toBe(FLOOD)
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThanOrEqual(32)
})

test.each([
  ['it ended with code 1', 'it ended with code 1: Error: no key'],
  ['it ended with SIGKILL', 'it ended with SIGKILL'],
])('UP-03: what it wrote last is why it ended, unless it was killed: %s', async (reason, why) => {
  const wire = createMemoryWire(() => null)
  const { gone } = openPeer('one', { ...wire, said: () => 'Error: no key\n' }, () => {})
  wire.end(reason)
  expect(await gone).toBe(why)
})
