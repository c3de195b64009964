import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/** A program on a PATH as an absolute path, or null. */
export type FindProgram = (command: string, path: string) => string | null

const MAX_CACHED = 1000

/** Only what was found is remembered, and looked at again: a program may be installed or removed at any time. */
export function createFindProgram(): FindProgram {
  const found = new Map<string, string>()
  return (command, path) => {
    const key = `${command}\0${path}`
    const known = found.get(key)
    if (known !== undefined && isProgram(known)) return known
    const program = candidates(command, path).find(isProgram)
    if (program === undefined) {
      found.delete(key)
      return null
    }
    if (found.size >= MAX_CACHED) found.clear()
    found.set(key, program)
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
