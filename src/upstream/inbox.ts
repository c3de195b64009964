import { createFlowQueue } from '../primitives/http/flow-queue.ts'

/** Messages of several streams on their way to one reader. */
export interface Inbox {
  readonly messages: AsyncIterable<string>
  /** Kept when there is room for more: a stream that waits for it holds its sender back. */
  push(message: string): Promise<void>
  end(): void
}

/** Characters that may wait for their reader. */
const HIGH_WATER = 1024 * 1024

export function openInbox(): Inbox {
  let room: Promise<void> = Promise.resolve()
  const waiting: (() => void)[] = []
  const makeRoom = (): void => {
    for (const goOn of waiting.splice(0)) goOn()
  }
  const queue = createFlowQueue<string>({
    highWater: HIGH_WATER,
    idleMs: Number.POSITIVE_INFINITY,
    pause() {
      room = new Promise((resolve) => {
        waiting.push(resolve)
      })
    },
    resume: makeRoom,
    idle() {},
    close: makeRoom,
  })
  return {
    messages: queue.items,
    async push(message) {
      queue.push(message, message.length)
      await room
    },
    end() {
      queue.end()
      makeRoom()
    },
  }
}
