import { basename } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Embedder } from '../embedder.ts'
import type { ThreadAnswer, ThreadOrder } from './reader-thread.ts'

/** An embedder that is shipped as data and asks nobody. */
export interface Reader extends Embedder {
  close(): Promise<void>
}

interface ReaderMeans {
  /** What it has learnt. */
  readonly file: string
  /** The script of its thread. */
  readonly script: string
}

/** How long it stays in memory after it was last needed. */
const KEPT_MS = 120_000

/** Reads in a thread of its own, which begins when it is first needed and ends when it was not needed for a while. */
export function openReader({ file, script }: ReaderMeans): Reader {
  let thread: Thread | null = null
  let timer: NodeJS.Timeout | undefined
  let closings = 0
  const end = async (): Promise<void> => {
    clearTimeout(timer)
    const ended = thread
    thread = null
    await ended?.end()
  }
  const begun = (): Thread => {
    clearTimeout(timer)
    timer = setTimeout(() => void end(), KEPT_MS).unref()
    return (thread ??= begin(new Worker(script, { workerData: file, ...APART }), () => (thread = null)))
  }
  return {
    identity: () => Promise.resolve(basename(file, '.bin')),
    // One after the other: a query that comes in between has to wait for one text only.
    async embed({ kind, texts }, signal) {
      const made: Float32Array[] = []
      const before = closings
      for (const text of texts) {
        signal?.throwIfAborted()
        if (closings !== before) throw new Error(ENDED)
        made.push(await begun().read({ kind, text }))
      }
      return made
    },
    async close() {
      closings += 1
      await end()
    },
  }
}

const ENDED = 'the thread of the reader has ended'

/** It has no use for what this process was started with, and standard output belongs to the protocol. */
const APART = { env: {}, argv: [], execArgv: [], stdout: true, stderr: true }

interface Thread {
  read(order: Omit<ThreadOrder, 'id'>): Promise<Float32Array>
  end(): Promise<void>
}

interface Waiting {
  readonly resolve: (vector: Float32Array) => void
  readonly reject: (reason: unknown) => void
}

function begin(worker: Worker, onEnd: () => void): Thread {
  const waiting = new Map<number, Waiting>()
  let last = 0
  let reason: unknown = new Error(ENDED)
  /** It keeps the process only while somebody waits for it. */
  const hold = (): void => (waiting.size > 0 ? worker.ref() : worker.unref())
  worker.on('message', ({ id, vector }: ThreadAnswer) => {
    waiting.get(id)?.resolve(vector)
    waiting.delete(id)
    hold()
  })
  worker.on('error', (error) => (reason = error))
  worker.on('exit', () => {
    onEnd()
    for (const { reject } of waiting.values()) reject(reason)
  })
  return {
    read: (order) =>
      new Promise((resolve, reject) => {
        const id = ++last
        waiting.set(id, { resolve, reject })
        hold()
        worker.postMessage({ id, ...order } satisfies ThreadOrder, [])
      }),
    end: async () => void (await worker.terminate()),
  }
}
