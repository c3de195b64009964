import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { errnoOf } from './errors.ts'

/** Who decided, told so that any later process can say whether it still lives. */
export interface ProcessTag {
  readonly host: string
  /** Tells one start of the machine from the next, where the system does. */
  readonly boot: string
  /** Numbers mean something only among those who count alike: each container counts for itself. */
  readonly namespace: string
  readonly pid: number
  /** When it was started, in the system's own count: a number is given to one process after another. */
  readonly start: string
}

export const OWN_PROCESS: ProcessTag = {
  host: hostname(),
  boot: read('/proc/sys/kernel/random/boot_id') ?? '',
  namespace: link('/proc/self/ns/pid') ?? '',
  pid: process.pid,
  start: startOf(process.pid) ?? '',
}

export function tagText({ host, boot, namespace, pid, start }: ProcessTag): string {
  return [host, boot, namespace, pid, start].join(' ')
}

export function readTag(text: string): ProcessTag | null {
  const [host, boot, namespace, pid, start] = text.split(' ')
  if (host === undefined || boot === undefined || namespace === undefined || start === undefined) return null
  return { host, boot, namespace, pid: Number(pid), start }
}

/** Null: it cannot be told from here. */
export function isLiving(tag: ProcessTag): boolean | null {
  if (tag.host !== OWN_PROCESS.host) return null
  if (tag.boot !== OWN_PROCESS.boot) return false
  if (tag.namespace !== OWN_PROCESS.namespace) return null
  return tag.start === '' ? hasPid(tag.pid) : startOf(tag.pid) === tag.start
}

/** What comes behind the name, which may hold anything, begins with the state; the 20th of it is the start. */
function startOf(pid: number): string | null {
  const text = read(`/proc/${pid}/stat`) ?? ''
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  // A zombie has ended, whether or not anybody looked after it.
  return /[ZX]/.test(fields[0] ?? '') ? null : (fields[19] ?? null)
}

function hasPid(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return errnoOf(error) === 'EPERM'
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'latin1').trim()
  } catch {
    return null
  }
}

function link(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}
