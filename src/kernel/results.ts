import { mkdir, open, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'

/** Results too large for a reply: kept whole for a while, and read page by page. */
export interface Results {
  /** Keeps what is too large and returns what the reply shows of it. */
  fit(callId: string, itemId: string, data: JsonObject): Promise<JsonObject>
  page(callId: string, offset: number, limit: number): Promise<Page>
}

export interface Page {
  readonly text: string
  readonly offset: number
  readonly bytes: number
  /** Where the next page starts; null at the end. */
  readonly next_offset: number | null
}

const PREVIEW_CHARACTERS = 2000
export const RESULT_PREFIX = 'result:'

export function openResults(cache: string): Results {
  const folder = join(cache, 'results')
  return {
    async fit(callId, itemId, data) {
      const output = data['output'] ?? null
      const text = typeof output === 'string' ? output : JSON.stringify(output)
      if (Buffer.byteLength(text) <= LIMITS.resultBytes) return data
      const { stdout: _stdout, ...rest } = data
      const isKept = await keep(folder, callId, text)
      return {
        ...rest,
        output: text.slice(0, PREVIEW_CHARACTERS),
        truncated: true,
        output_bytes: Buffer.byteLength(text),
        rest: isKept ? { call: 'load', arguments: pageArguments(itemId, callId) } : null,
      }
    },
    async page(callId, offset, limit) {
      const file = /^[0-9A-Z]{26}$/.test(callId) ? await open(join(folder, callId)).catch(() => null) : null
      if (file === null) {
        throw new KiwiError('NOT_FOUND', `Cannot find a kept result of call "${callId}"`, {
          hint: `The newest ${LIMITS.keptResults} large results are kept; run the tool again`,
        })
      }
      try {
        const { size } = await file.stat()
        const bytes = Buffer.alloc(Math.max(0, Math.min(limit, size - offset)))
        await file.read(bytes, 0, bytes.length, offset)
        const end = offset + wholeCharacters(bytes, offset + bytes.length >= size)
        return {
          text: bytes.toString('utf8', 0, end - offset),
          offset,
          bytes: size,
          next_offset: end < size ? end : null,
        }
      } finally {
        await file.close()
      }
    },
  }
}

export function pageArguments(itemId: string, callId: string, offset = 0): JsonObject {
  return { item_type: 'tool', item_id: itemId, path: `${RESULT_PREFIX}${callId}`, offset }
}

async function keep(folder: string, callId: string, text: string): Promise<boolean> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(join(folder, callId), text, { mode: 0o600 })
    const oldest = (await readdir(folder)).toSorted().slice(0, -LIMITS.keptResults)
    await Promise.all(oldest.map((name) => rm(join(folder, name), { force: true })))
    return true
  } catch {
    return false
  }
}

/** A page ends between characters, not inside one. */
function wholeCharacters(bytes: Buffer, isLast: boolean): number {
  if (isLast) return bytes.length
  let end = bytes.length
  while (end > 0 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1
  const lead = bytes[end - 1] ?? 0
  const isWhole = lead < 0x80 || bytes.length - end + 1 >= (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2)
  return isWhole ? bytes.length : end - 1
}
