import { readdirSync, readlinkSync } from 'node:fs'
import { eachProcess, kill, untilDead } from './process-table.ts'

/**
 * The ends of our pipes that a child was given, as the system names them: only its descendants can hold them. None for
 * one that has exited already, as a quick child may on a busy machine.
 */
export function pipesOf(pid: number): ReadonlySet<string> {
  return new Set(['1', '2'].flatMap((descriptor) => linkOf(pid, descriptor) ?? []))
}

const MAX_READINGS = 10

/** KILL to every process that holds one of them: by this, those are found that shed group, parent and environment. */
export async function killHolders(pipes: ReadonlySet<string>): Promise<void> {
  if (pipes.size === 0) return
  const tried = new Set<number>([process.pid])
  for (let reading = 0; reading < MAX_READINGS; reading++) {
    const found: number[] = []
    for await (const pid of eachProcess()) if (!tried.has(pid) && isHolder(pid, pipes)) found.push(pid)
    if (found.length === 0) return
    for (const pid of found) tried.add(pid)
    await untilDead(found.filter((pid) => kill(pid)))
  }
}

function isHolder(pid: number, pipes: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((descriptor) => pipes.has(linkOf(pid, descriptor) ?? ''))
  } catch {
    return false
  }
}

/** Node gives pipes as pairs of sockets. */
function linkOf(pid: number, descriptor: string): string | null {
  try {
    const link = readlinkSync(`/proc/${pid}/fd/${descriptor}`)
    return /^(?:socket|pipe):\[/.test(link) ? link : null
  } catch {
    return null
  }
}
