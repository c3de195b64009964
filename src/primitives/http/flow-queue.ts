import { LONGEST_MS } from './deadline.ts'

/** Items on their way from a source that can be paused to one reader that pulls. */
export interface FlowQueue<Item> {
  push(item: Item, size: number): void
  /** Nothing follows; with an error the reader gets it after the items that came before. */
  end(error?: Error): void
  /** A sign of life that is no item: the wait for one begins anew. */
  touch(): void
  /** May be read once. Leaving the loop closes the source. */
  readonly items: AsyncIterable<Item>
}

interface Source {
  /** Sizes that may wait before the source is paused. */
  readonly highWater: number
  /** How long the reader waits for one item; the time it takes itself does not count. */
  readonly idleMs: number
  pause(): void
  resume(): void
  /** The reader waited too long: the source must end the queue. */
  idle(): void
  /** The reader has finished or left. */
  close(): void
}

/** What an item costs besides its size, so that many small ones are bounded too. */
const ITEM_COST = 64

export function createFlowQueue<Item>(source: Source): FlowQueue<Item> {
  const queue: { readonly item: Item; readonly size: number }[] = []
  let waiting = 0
  let isPaused = false
  let isEnded = false
  let failure: Error | undefined
  let wake: (() => void) | null = null
  let timer: NodeJS.Timeout | null = null

  const more = (): Promise<void> =>
    new Promise((resolve) => {
      const idle = setTimeout(() => source.idle(), Math.min(source.idleMs, LONGEST_MS))
      timer = idle
      wake = () => {
        clearTimeout(idle)
        timer = null
        wake = null
        resolve()
      }
    })

  async function* read(): AsyncGenerator<Item, void, void> {
    try {
      while (true) {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
          waiting -= next.size
          if (isPaused && waiting <= source.highWater / 2) {
            isPaused = false
            source.resume()
          }
          yield next.item
        }
        if (failure !== undefined) throw failure
        if (isEnded) return
        await more()
      }
    } finally {
      source.close()
    }
  }

  return {
    items: read(),
    touch() {
      timer?.refresh()
    },
    push(item, size) {
      if (isEnded) return
      queue.push({ item, size: size + ITEM_COST })
      waiting += size + ITEM_COST
      if (!isPaused && waiting > source.highWater) {
        isPaused = true
        source.pause()
      }
      wake?.()
    },
    end(error) {
      if (isEnded) return
      isEnded = true
      failure = error
      wake?.()
    },
  }
}
