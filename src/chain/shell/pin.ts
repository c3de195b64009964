import { realpathSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { KiwiError } from '../../shared/errors.ts'

/**
 * The one file that a name stands for: the program of that name on Kiwi's own PATH. A path is only taken when it leads
 * to the same file, so that no rule about a name can be met with another program of that name.
 */
export function pinProgram(name: string, folder: string, find: (name: string) => string): string {
  const pin = onPath(basename(name), find)
  if (!name.includes('/') || fileOf(resolve(folder, name)) === fileOf(pin)) return pin
  throw new KiwiError(
    'INVALID_PARAMETERS',
    `Cannot start "${name}": it is not the program "${basename(name)}" of the PATH, which is "${pin}"`,
    {
      hint: `Name the program without a path; ${SCRIPT}`,
      details: { missing: [], invalid: [{ name: 'command', reason: 'a path to another program' }] },
    },
  )
}

const SCRIPT = 'a script is started by its interpreter, as in "sh build.sh"'

function onPath(name: string, find: (name: string) => string): string {
  try {
    return find(name)
  } catch (error) {
    if (!(error instanceof KiwiError) || error.code !== 'COMMAND_NOT_FOUND') throw error
    const { code, message, details } = error
    throw new KiwiError(code, message, { hint: `Name a program that is on the PATH; ${SCRIPT}`, details })
  }
}

function fileOf(path: string): string | null {
  try {
    return realpathSync(path)
  } catch {
    return null
  }
}
