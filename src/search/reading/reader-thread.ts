import { parentPort, workerData } from 'node:worker_threads'
import type { EmbedOrder } from '../embedder.ts'
import { openReadText } from './read-text.ts'

/** A text to be read. */
export interface ThreadOrder {
  readonly id: number
  readonly kind: EmbedOrder['kind']
  readonly text: string
}

/** What was made of it. */
export interface ThreadAnswer {
  readonly id: number
  readonly vector: Float32Array
}

/** A text takes the processor for tens of milliseconds, which no call should have to wait for. */
async function readForOthers(): Promise<void> {
  const readText = await openReadText(String(workerData))
  parentPort?.on('message', ({ id, kind, text }: ThreadOrder) => {
    parentPort?.postMessage({ id, vector: readText(kind, text) } satisfies ThreadAnswer, [])
  })
}

void readForOthers()
