import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { errnoOf, messageOf } from '../../shared/errors.ts'
import type { NotStarted, Program } from './command.ts'
import { candidates } from './find-program.ts'

/** Tells apart what the system reports with the same few codes. */
export function explainStart(program: Program, error: unknown): NotStarted {
  const name = program.command.slice(0, 200)
  const code = errnoOf(error)
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') {
    const fault = folderFault(program.cwd)
    if (fault !== null) return { failure: 'bad_folder', stderr: fault }
    const isThere = places(program).some((place) => existsSync(place))
    // A PATH with a folder that may not be read gives EACCES for every program that is not on it.
    if (!isThere) return { failure: 'not_found', stderr: `Command not found: ${name}` }
    return code === 'EACCES'
      ? { failure: 'not_executable', stderr: `Permission denied: ${name}` }
      : { failure: 'not_found', stderr: `Command not found: ${name} (its interpreter is missing)` }
  }
  // Node's own text shows the value, which may be a secret.
  if (code === 'ERR_INVALID_ARG_VALUE') {
    return notStarted(name, 'an argument, a variable or the folder holds a NUL byte')
  }
  if (code === 'E2BIG') return notStarted(name, 'its arguments and variables are too large for the system')
  return notStarted(name, typeof code === 'string' ? code : messageOf(error))
}

export function notStarted(command: string, reason: string): NotStarted {
  return { failure: 'not_started', stderr: `Cannot start "${command.slice(0, 200)}": ${reason}` }
}

function places({ command, cwd, env }: Program): readonly string[] {
  return command.includes('/') ? [resolve(cwd, command)] : candidates(command, env['PATH'] ?? '')
}

function folderFault(folder: string): string | null {
  try {
    if (!statSync(folder).isDirectory()) return `Not a folder: ${folder}`
    accessSync(folder, constants.X_OK)
    return null
  } catch (error) {
    const isDenied = errnoOf(error) === 'EACCES'
    return isDenied ? `Permission denied: ${folder}` : `Folder not found: ${folder}`
  }
}
