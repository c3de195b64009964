import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from './clock.ts'
import { errnoOf } from './errors.ts'
import { makeFolder } from './make-folder.ts'
import { OWN_PROCESS, isLiving, readTag, tagText } from './own-process.ts'

interface Wait {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Looked at before every try: when it holds, nobody needs the lock any more. */
  readonly isDone: () => boolean
  readonly onWait: () => void
  /** The longest that an owner who cannot be seen from here is believed in. */
  readonly longestMs: number
}

const STEP_MS = 100
/** A file that says nothing yet is one that is being written. */
const WRITING_MS = 10_000

/**
 * Takes the lock that keeps two processes from doing the same thing, and gives back what releases it; null when it
 * is not needed any more. A dead owner's lock is taken over, and two who find it at once may both have it: what they do
 * must stand that.
 */
export async function takeLock(file: string, wait: Wait): Promise<(() => Promise<void>) | null> {
  while (!wait.isDone()) {
    wait.signal.throwIfAborted()
    try {
      makeFolder(dirname(file), 0o700)
      await writeFile(file, tagText(OWN_PROCESS), { flag: 'wx', mode: 0o600 })
      return () => rm(file, { force: true })
    } catch (error) {
      // Its folder may be removed by whoever had it.
      if (!['EEXIST', 'ENOENT'].includes(errnoOf(error))) throw error
    }
    if (await isLeft(file, wait)) await rm(file, { force: true })
    else {
      wait.onWait()
      await delay(STEP_MS, undefined, { signal: wait.signal })
    }
  }
  return null
}

/** Whether whoever made the lock will never release it. */
async function isLeft(file: string, { clock, longestMs }: Wait): Promise<boolean> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(file, 'utf8'), stat(file)])
    const age = clock.now() - mtimeMs
    const tag = readTag(text)
    if (tag === null) return age > WRITING_MS
    return !(isLiving(tag) ?? age < longestMs)
  } catch {
    return false
  }
}
