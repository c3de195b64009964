import { open, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject } from '../shared/json.ts'
import { LIMITS } from '../shared/limits.ts'
import { makeFolder } from '../shared/make-folder.ts'
import type { Page } from '../shared/page.ts'
import { pageBytes, pageOf } from '../shared/page.ts'
import { selectFrom } from './select-result.ts'

/** Results too large for a reply: kept whole for a while, and read page by page. */
export interface Results {
  /** Keeps what is too large and returns what the reply shows of it. */
  fit(callId: string, itemId: string, data: JsonObject): Promise<JsonObject>
  /**
   * The same for an answer of many parts: the largest are left out or cut until it is small enough. A
   * `brief` one takes the place of what has the same names as soon as it would be too large for a result.
   */
  fitAnswer(callId: string, itemId: string, data: JsonObject, brief?: JsonObject): Promise<JsonObject>
  /** A handle is the id of the call, and after it what of the result is meant, as a JSONPath: `$.output[0]`. */
  page(handle: string, offset: number, limit: number): Promise<Page>
}

const PREVIEW_CHARACTERS = 2000
/** Of a result in a reply; all of them are in what is kept. */
const MOST_BLOCKS = 20
/** What a program said besides its result: the end of it tells most. */
const TAIL_CHARACTERS = 8 * 1024
export const RESULT_PREFIX = 'result:'

export function openResults(cache: string): Results {
  const folder = join(cache, 'results')
  return {
    async fit(callId, itemId, data) {
      const { output = null, stdout, stderr } = data
      const beside = besideOf(data)
      const whole = beside === null ? output : { output, ...beside }
      const text = typeof whole === 'string' ? whole : JSON.stringify(whole)
      const isSmall = Buffer.byteLength(text) <= LIMITS.resultBytes
      if (isSmall && lengthOf(stdout) <= TAIL_CHARACTERS && lengthOf(stderr) <= TAIL_CHARACTERS) return data
      const { stdout: _stdout, ...kept } = data
      return {
        ...kept,
        ...(typeof stderr === 'string' ? { stderr: tailOf(stderr) } : {}),
        ...(isSmall ? {} : await spill(folder, callId, itemId, { text, isJson: text !== whole })),
        ...(isSmall || beside === null ? {} : { output: previewOf(output), ...outline(beside) }),
      }
    },
    async fitAnswer(callId, itemId, data, brief) {
      const whole = JSON.stringify(data)
      const most = brief === undefined ? LIMITS.answerBytes : LIMITS.resultBytes
      if (Buffer.byteLength(whole) <= most) return data
      const left = withoutLargest({ ...data, ...brief })
      // Where nothing could be left out, there is nothing to be read besides.
      if (JSON.stringify(left) === whole) return data
      return {
        ...left,
        truncated: true,
        rest: await restOf(folder, callId, itemId, { text: whole, isJson: true }),
      }
    },
    async page(handle, offset, limit) {
      const [, callId, path] = HANDLE.exec(handle) ?? []
      const file = callId === undefined ? null : await open(join(folder, callId)).catch(() => null)
      if (file === null || callId === undefined) {
        throw new KiwiError('NOT_FOUND', `Cannot find a kept result of call "${callId ?? handle}"`, {
          hint: `The newest ${LIMITS.keptResults} large results are kept; run the tool again`,
        })
      }
      try {
        const { size } = await file.stat()
        if (path !== undefined) {
          if (size > MOST_SELECTED_FROM) throw tooLargeFor(callId)
          const found = Buffer.from(await selectFrom(await file.readFile('utf8'), callId, path))
          const end = offset + pageBytes(found.length, offset, limit)
          return pageOf(found.subarray(offset, end), offset, found.length)
        }
        const bytes = Buffer.alloc(pageBytes(size, offset, limit))
        await file.read(bytes, 0, bytes.length, offset)
        return pageOf(bytes, offset, size)
      } finally {
        await file.close()
      }
    },
  }
}

/** The id of a call, and perhaps a JSONPath. */
const HANDLE = /^([0-9A-Z]{26})(\$.*)?$/s

export function pageArguments(itemId: string, handle: string, offset = 0): JsonObject {
  return { item_type: 'tool', item_id: itemId, path: `${RESULT_PREFIX}${handle}`, offset }
}

/** To read more at once would hold up all others. */
const MOST_SELECTED_FROM = 32 * 1024 * 1024

function tooLargeFor(callId: string): KiwiError {
  return new KiwiError(
    'MESSAGE_TOO_LARGE',
    `Cannot select from the result of call "${callId}": it is larger than ${MOST_SELECTED_FROM} bytes`,
    { hint: 'Leave out what follows the id, and page it with offset' },
  )
}

function lengthOf(text: JsonValue | undefined): number {
  return typeof text === 'string' ? text.length : 0
}

/** The blocks of an MCP server, which are as much of its result as its output; null when there are none. */
function besideOf({ content, _meta: meta }: JsonObject): JsonObject | null {
  if (content === undefined && meta === undefined) return null
  return { ...(content === undefined ? {} : { content }), ...(meta === undefined ? {} : { _meta: meta }) }
}

/** What else there is, without what is large in it. */
function outline(beside: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(beside).map(([key, value]) => [
      key,
      Array.isArray(value) ? shortBlocks(value) : short(value),
    ]),
  )
}

function shortBlocks(blocks: readonly JsonValue[]): JsonValue {
  const shown = blocks.slice(0, MOST_BLOCKS).map(short)
  return bytesOf(shown) > LIMITS.resultBytes ? [] : shown
}

/** Half a picture is none: of what is large only its kind and size are told. */
function short(value: JsonValue): JsonValue {
  const bytes = bytesOf(value)
  if (bytes <= PREVIEW_CHARACTERS) return value
  const { type, mimeType } = isJsonObject(value) ? value : {}
  return {
    ...(typeof type === 'string' ? { type: type.slice(0, 64) } : {}),
    ...(typeof mimeType === 'string' ? { mimeType: mimeType.slice(0, 64) } : {}),
    truncated: true,
    bytes,
  }
}

function previewOf(output: JsonValue): JsonValue {
  const text = typeof output === 'string' ? output : JSON.stringify(output)
  return text.length <= PREVIEW_CHARACTERS ? output : text.slice(0, PREVIEW_CHARACTERS)
}

function tailOf(text: string): string {
  return text.length <= TAIL_CHARACTERS
    ? text
    : `[${text.length - TAIL_CHARACTERS} characters left out]\n${text.slice(-TAIL_CHARACTERS)}`
}

interface Whole {
  readonly text: string
  readonly isJson: boolean
}

async function spill(folder: string, callId: string, itemId: string, whole: Whole): Promise<JsonObject> {
  const { text } = whole
  const rest = await restOf(folder, callId, itemId, whole)
  const output = text.slice(0, PREVIEW_CHARACTERS)
  return { output, truncated: true, output_bytes: Buffer.byteLength(text), rest }
}

/** The call that reads the whole, page by page; null when it could not be kept. */
async function restOf(
  folder: string,
  callId: string,
  itemId: string,
  { text, isJson }: Whole,
): Promise<JsonObject | null> {
  if (!(await keep(folder, callId, text))) return null
  const note = 'a JSONPath behind "path", such as $.output[0], reads a part'
  return { call: 'load', arguments: pageArguments(itemId, callId), ...(isJson ? { note } : {}) }
}

function bytesOf(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** Half a list or a text is still of use. */
function smaller(value: JsonValue): JsonValue {
  if (Array.isArray(value) && value.length > 1) return value.slice(0, value.length / 2)
  return typeof value === 'string' && value.length > 1 ? value.slice(0, value.length / 2) : null
}

function withoutLargest(data: JsonObject): JsonObject {
  const left = new Map(Object.entries(data))
  while (bytesOf(Object.fromEntries(left)) > LIMITS.answerBytes) {
    const [largest, value] = [...left].reduce((a, b) => (bytesOf(b[1]) > bytesOf(a[1]) ? b : a))
    left.set(largest, smaller(value))
  }
  return Object.fromEntries(left)
}

async function keep(folder: string, callId: string, text: string): Promise<boolean> {
  try {
    makeFolder(folder, 0o700)
    await writeFile(join(folder, callId), text, { mode: 0o600 })
    const oldest = (await readdir(folder)).toSorted().slice(0, -LIMITS.keptResults)
    await Promise.all(oldest.map((name) => rm(join(folder, name), { force: true })))
    return true
  } catch {
    return false
  }
}
