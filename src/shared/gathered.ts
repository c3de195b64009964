import type { Writable } from 'node:stream'

/** Writes to a stream: the first text goes out at once, what else is written before the turn is over goes together. */
export function gathered(output: Writable): (text: string) => boolean {
  let isGathering = false
  return (text) => {
    const isTaken = output.write(text)
    if (isGathering) return isTaken
    isGathering = true
    output.cork()
    queueMicrotask(() => {
      isGathering = false
      output.uncork()
    })
    return isTaken
  }
}
