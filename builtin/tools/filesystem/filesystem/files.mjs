// One file: read, write, create, stat.
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { Refusal, assertFile, entryOf, inFile, inFolder, typeOf } from './folder.mjs'
import { assertSeen, changed } from './seen.mjs'

/** A page that still fits into one reply; more only when it is asked for. */
const PAGE_BYTES = 24 * 1024
const MOST_BYTES = 4 * 1024 * 1024
/** A larger file is only read in parts that were asked for. */
const WHOLE_BYTES = 16 * 1024 * 1024

export async function read({ paths: { path }, args: { offset = 0, limit, encoding = 'utf8' } }) {
  return inFolder(dirname(path), (folder) =>
    inFile(folder, basename(path), (fd, { size }) => {
      if (size > WHOLE_BYTES && limit === undefined) {
        throw new Refusal(
          `it has ${size} bytes, more than the ${WHOLE_BYTES} that are read without a limit`,
          'Give offset and limit to read a part of it',
          'MESSAGE_TOO_LARGE',
        )
      }
      const bytes = readPart(
        fd,
        offset,
        Math.min(limit ?? PAGE_BYTES, MOST_BYTES, Math.max(0, size - offset)),
      )
      const isLast = offset + bytes.length >= size
      const part = encoding === 'base64' ? bytes : wholeCharacters(bytes, isLast)
      const end = offset + part.length
      return {
        path,
        content: encoding === 'base64' ? part.toString('base64') : textOf(part),
        encoding,
        size,
        offset,
        next_offset: end < size ? end : null,
      }
    }),
  )
}

function readPart(fd, offset, length) {
  const bytes = Buffer.alloc(length)
  let count = 0
  while (count < length) {
    const more = readSync(fd, bytes, count, length - count, offset + count)
    if (more === 0) break
    count += more
  }
  return bytes.subarray(0, count)
}

/** A page does not end within a character. */
function wholeCharacters(bytes, isLast) {
  if (isLast) return bytes
  let start = bytes.length - 1
  while (start >= 0 && bytes.length - start < 4 && (bytes[start] & 0xc0) === 0x80) start -= 1
  const lead = bytes[start] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return start >= 0 && start > 0 && start + length > bytes.length ? bytes.subarray(0, start) : bytes
}

function textOf(bytes) {
  try {
    if (!bytes.includes(0)) return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    // Told below.
  }
  throw new Refusal(
    'it is not text in UTF-8, or the offset lies within a character',
    'Read it with encoding "base64"',
  )
}

export async function stat({ paths: { path } }) {
  const isRoot = dirname(path) === path
  const found = (entry) => ({
    path,
    exists: true,
    type: typeOf(entry),
    size: entry.size,
    mode: (entry.mode & 0o777).toString(8).padStart(4, '0'),
    modified_at: entry.mtime.toISOString(),
  })
  try {
    return await inFolder(dirname(path), (folder) => {
      const entry = entryOf(folder, isRoot ? '.' : basename(path))
      return entry === null ? { path, exists: false } : found(entry)
    })
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    return { path, exists: false }
  }
}

export function write(call) {
  return put(call, false)
}

export function create(call) {
  return put(call, true)
}

function put({ paths: { path }, args: { content = '', encoding = 'utf8', mode }, seen }, isNew) {
  const bytes = bytesOf(content, encoding)
  const work = async (folder) => {
    const name = basename(path)
    const before = entryOf(folder, name)
    if (before !== null) {
      if (isNew)
        throw new Refusal('something is there already', 'Use filesystem.write to replace it', 'CONFLICT')
      assertFile(before)
    }
    await assertSeen(folder, name, seen)
    const wanted = mode === undefined ? before?.mode : Number.parseInt(mode, 8)
    placeBytes(folder, name, { bytes, before, mode: wanted })
    return { path, bytes_written: bytes.length, had_original: before !== null }
  }
  return inFolder(dirname(path), work, { isMade: true })
}

function bytesOf(content, encoding) {
  if (encoding !== 'base64') return Buffer.from(content, 'utf8')
  const bytes = Buffer.from(content, 'base64')
  if (bytes.toString('base64') !== content)
    throw new Refusal('the content is not base64', null, 'INVALID_PARAMETERS')
  return bytes
}

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

/** Written beside its place and put there whole; where nothing stood, nothing is replaced. */
function placeBytes(folder, name, { bytes, before, mode }) {
  const beside = folder.at(`.kiwi-${randomUUID()}.tmp`)
  // Until it has the mode of what it replaces, nobody else may read it.
  const fd = openSync(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode === undefined ? 0o666 : 0o600)
  try {
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at)
      if (mode !== undefined) fchmodSync(fd, mode & 0o777)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    const now = entryOf(folder, name)
    if (now?.ino !== before?.ino || now?.mtimeMs !== before?.mtimeMs) throw changed()
    if (before === null) placeNew(beside, folder.at(name))
    else renameSync(beside, folder.at(name))
  } finally {
    rmSync(beside, { force: true })
  }
  fsyncSync(folder.fd)
}

/** Fails when something stands there by now. Where a disk knows no second names, it is renamed. */
export function placeNew(from, to) {
  try {
    linkSync(from, to)
  } catch (error) {
    if (error.code === 'EEXIST') throw changed()
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS'].includes(error.code)) throw error
    renameSync(from, to)
    return
  }
  rmSync(from)
}
