import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../shared/errors.ts'
import { statOf } from '../spaces/disk.ts'
import type { Approval } from '../store/approvals.ts'
import type { Means } from './means.ts'

/**
 * A copy of what waits, for people and programs that look into the project. Nothing reads it back: the store is the
 * truth, and this folder is the agent's to write.
 */
export async function keepWaitingCopy(
  { project, session }: Approval,
  { store, log }: Pick<Means, 'store' | 'log'>,
): Promise<void> {
  try {
    if (project === null || !/^[\w-]{1,64}$/.test(session) || !isFolder(join(project, '.ai'))) return
    const folder = join(project, '.ai', 'checkpoints')
    const rows = await store.approvals.list({ session, states: ['pending'], limit: 100 })
    const waiting = rows.filter((row) => row.project === project)
    const file = join(folder, `${session}.json`)
    if (waiting.length === 0) return rmSync(file, { force: true })
    if (statOf(folder) === null) mkdirSync(folder)
    // A link here would lead our write to where the agent may not.
    if (!isFolder(folder)) return
    const beside = join(folder, `.${session}.${randomBytes(8).toString('hex')}`)
    writeFileSync(beside, `${JSON.stringify({ waiting: waiting.map(shown) }, null, 2)}\n`, {
      mode: 0o444,
      flag: 'wx',
    })
    renameSync(beside, file)
  } catch (error) {
    log.warn('approval.copy_failed', { reason: messageOf(error) })
  }
}

function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() === true
}

function shown({ id, tool, layer, rule, call_hash, created_at, expires_at }: Approval): object {
  const [asked_at, until] = [created_at, expires_at].map((time) => new Date(time).toISOString())
  return { approval_id: id, tool, layer, rule, call_hash, asked_at, expires_at: until }
}
