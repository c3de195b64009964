import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../shared/errors.ts'
import { jsonLine } from '../shared/json-line.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Log } from '../shared/log.ts'
import { makeFolder } from '../shared/make-folder.ts'
import { textOf } from '../shared/template.ts'
import { leadsOutTo, statOf } from '../spaces/disk.ts'
import type { JournalRecord } from '../store/journal.ts'
import { auditEntry } from './audit-entry.ts'
import type { Follower } from './follower.ts'

/**
 * The records of a project as lines in its `.ai/logs`, for people and their tools. The journal is the truth: nothing
 * reads these files again, and a line that cannot be written costs no call.
 */
export function openMirror(log: Log): Follower {
  let waiting: JournalRecord[] = []
  let timer: NodeJS.Timeout | null = null
  const failed = new Set<string>()
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    const places = byPlace(waiting)
    waiting = []
    for (const { project, group, records } of places) {
      try {
        mirror(project, group, records)
      } catch (error) {
        // Told once: the next records of the project will fare no better.
        if (!failed.has(project)) log.warn('mirror.unwritten', { project, reason: messageOf(error) })
        failed.add(project)
      }
    }
  }
  return {
    add(records) {
      waiting.push(...records.filter(({ body }) => typeof body['project'] === 'string'))
      if (waiting.length >= MOST_WAITING) flush()
      else if (waiting.length > 0) timer ??= setTimeout(flush, PAUSE_MS).unref()
    },
    close: async () => flush(),
  }
}

/** Behind the reply, and several records at once. */
const PAUSE_MS = 100
const MOST_WAITING = 1000

const GROUP = /^[a-z]+$/
const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants

interface Place {
  readonly project: string
  readonly group: string
  readonly records: JournalRecord[]
}

function byPlace(records: readonly JournalRecord[]): readonly Place[] {
  const places = new Map<string, Place>()
  for (const record of records) {
    const project = textOf(record.body['project'])
    const group = textOf(record.body['group'])
    const key = `${group} ${project}`
    const place = places.get(key) ?? { project, group, records: [] }
    place.records.push(record)
    places.set(key, place)
  }
  return [...places.values()]
}

/** A project that was never set up gets no folder, and nothing is written through a link that leads out of it. */
function mirror(project: string, group: string, records: readonly JournalRecord[]): void {
  const space = join(project, '.ai')
  const folder = join(space, 'logs')
  if (!GROUP.test(group) || statOf(space)?.isDirectory() !== true) return
  if (statOf(folder) === null) makeFolder(folder, 0o700)
  const outside = leadsOutTo(folder, project)
  if (outside !== null) throw new Error(`a link leads out of the project to "${outside}"`)
  const lines = records.map((record) => `${jsonLine(auditEntry(record))}\n`)
  append(join(folder, `${group}.jsonl`), lines.join(''))
}

function append(path: string, text: string): void {
  // A link is not followed, and a pipe is not waited for.
  const file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
  try {
    const before = fstatSync(file)
    if (!before.isFile()) throw new Error(`"${path}" is no plain file`)
    const bytes = Buffer.from(text)
    if (writeSync(file, bytes) < bytes.length) {
      ftruncateSync(file, before.size)
      throw new Error('the disk is full')
    }
    const isFull = before.size + bytes.length > LIMITS.mirrorBytes
    // Unless another process has done so a moment ago.
    if (isFull && statSync(path, { throwIfNoEntry: false })?.ino === before.ino) renameSync(path, `${path}.1`)
  } finally {
    closeSync(file)
  }
}
