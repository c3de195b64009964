// What was looked at before the call is what the call may change: anything else is somebody's newer work.
import { createHash } from 'node:crypto'
import { readSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Refusal, entryOf, inFile } from './folder.mjs'

/** Refuses a path that is no longer what was seen: a hash of its bytes (of a link: of where it leads), or nothing. */
export async function assertSeen(folder, name, seen) {
  const path = join(folder.path, name)
  if (!Object.hasOwn(seen, path)) return
  if ((await hashOf(folder, name)) !== seen[path]) throw changed()
}

export function changed() {
  return new Refusal(
    'it changed since it was looked at',
    'Read it again, then decide whether to repeat the call',
    'CONFLICT',
  )
}

async function hashOf(folder, name) {
  const entry = entryOf(folder, name)
  if (entry === null) return null
  const hash = createHash('sha256')
  if (entry.isSymbolicLink()) return hash.update(readlinkSync(folder.at(name))).digest('hex')
  if (!entry.isFile()) return 'no file'
  return inFile(folder, name, (fd) => {
    const chunk = Buffer.allocUnsafe(CHUNK)
    for (let at = 0; ;) {
      const count = readSync(fd, chunk, 0, CHUNK, at)
      if (count === 0) return hash.digest('hex')
      hash.update(chunk.subarray(0, count))
      at += count
    }
  })
}

const CHUNK = 1024 * 1024
