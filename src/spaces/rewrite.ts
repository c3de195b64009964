import { randomUUID } from 'node:crypto'
import { constants, readFileSync, renameSync } from 'node:fs'
import { open, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import { leadsOutTo } from './disk.ts'

interface Rewrite {
  readonly path: string
  /** The folder no link may lead out of; null = the user's own. */
  readonly within: string | null
  /** What must still stand there: nobody's change is lost. */
  readonly before: string
  readonly text: string
}

/** Puts another text into a file, whole or not at all; its mode stays. */
export async function rewriteFile({ path, within, before, text }: Rewrite): Promise<void> {
  const beside = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`)
  try {
    if (within !== null && leadsOutTo(dirname(path), within) !== null) {
      throw new KiwiError('PERMISSION_DENIED', `Cannot write "${path}": a link leads out of the project`, {
        hint: 'Replace the link by a folder',
        details: { layer: 'machine', rule: 'inside-project', op: 'write', resource: path },
      })
    }
    const { mode } = await stat(path)
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
    const file = await open(beside, flags, mode)
    try {
      await file.chmod(mode)
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    // Nothing of this process comes between the look and the step.
    if (!readFileSync(path).equals(Buffer.from(before))) {
      throw new KiwiError('CONFLICT', `Cannot write "${path}": it was changed meanwhile`, {
        hint: 'Send the call again',
      })
    }
    renameSync(beside, path)
  } catch (error) {
    await rm(beside, { force: true }).catch(() => undefined)
    if (error instanceof KiwiError) throw error
    const isFull = ['ENOSPC', 'EDQUOT'].includes(errnoOf(error))
    const code = isFull ? 'STORE_FULL' : 'STORE_UNAVAILABLE'
    throw new KiwiError(code, `Cannot write "${path}": ${messageOf(error)}`, {
      hint: isFull ? 'Free space, then send the call again' : 'Make the file and its folder writable',
      cause: error,
    })
  }
}
