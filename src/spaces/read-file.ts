import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { KiwiError } from '../shared/errors.ts'
import { unreadable } from './disk.ts'

interface ReadFile {
  readonly bytes: Buffer
  readonly isExecutable: boolean
}

/** Links are not followed and the size is known before a byte is read, so no pipe, device or giant can hold us up. */
export function readRegularFile(path: string, limit: number): ReadFile {
  return withRegularFile(path, (file, { size, mode }) => {
    assertWithin(size, path, limit)
    return { bytes: readFileSync(file), isExecutable: (mode & 0o100) !== 0 }
  })
}

export function assertWithin(size: number, path: string, limit: number): void {
  if (size <= limit) return
  throw new KiwiError('MESSAGE_TOO_LARGE', `Cannot read "${path}": it is larger than ${limit} bytes`, {
    hint: 'Make it smaller: put what it only quotes or carries into files of its own',
  })
}

/** The beginning of a file, as text whatever its bytes are; nothing when it cannot be read at all. */
export function beginningOf(path: string, bytes: number): string {
  try {
    return withRegularFile(path, (file) => {
      const buffer = Buffer.alloc(bytes)
      return buffer
        .subarray(0, readSync(file, buffer, 0, bytes, 0))
        .toString('utf8')
        .replaceAll('\0', ' ')
    })
  } catch {
    return ''
  }
}

function withRegularFile<T>(
  path: string,
  read: (file: number, stat: { size: number; mode: number }) => T,
): T {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stat = fstatSync(file)
      if (!stat.isFile())
        throw new KiwiError('PARSE_ERROR', `Cannot read "${path}": it is not a regular file`)
      return read(file, stat)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw error instanceof KiwiError ? error : unreadable(path, error)
  }
}

/** Text of a file, which is UTF-8 or nothing. A BOM stays: what is written back is what was read. */
export function decodeText(bytes: Uint8Array, path: string, isWhole = true): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: !isWhole })
  } catch {
    throw new KiwiError('PARSE_ERROR', `Cannot read "${path}": it is not valid UTF-8`, {
      hint: 'Save it as text in UTF-8',
    })
  }
}
