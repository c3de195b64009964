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
