import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import type { Clock } from '../../shared/clock.ts'

/** A program on a PATH as an absolute path, or null. */
export type FindProgram = (command: string, path: string) => string | null

const MAX_CACHED = 1000

/** How long a program is taken to be where it was; when it is not, its start says so. */
const FRESH_MS = 1000

/** Only what was found is remembered, and looked at again: a program may be installed or removed at any time. */
export function createFindProgram(clock: Clock): FindProgram {
  const found = new Map<string, { program: string; lookedAt: number }>()
  return (command, path) => {
    const key = `${command}\0${path}`
    const known = found.get(key)
    if (known !== undefined && clock.monotonic() - known.lookedAt < FRESH_MS) return known.program
    const program = candidates(command, path).find(isProgram)
    if (program === undefined) {
      found.delete(key)
      return null
    }
    if (found.size >= MAX_CACHED) found.clear()
    found.set(key, { program, lookedAt: clock.monotonic() })
    return program
  }
}

/** Where a command may lie. Relative folders of a PATH are skipped: they would follow the working folder. */
export function candidates(command: string, path: string): readonly string[] {
  if (command === '') return []
  if (command.includes('/')) return isAbsolute(command) ? [command] : []
  return path
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, command))
}

function isProgram(file: string): boolean {
  try {
    if (!statSync(file).isFile()) return false
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
