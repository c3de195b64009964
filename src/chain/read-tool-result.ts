import type { ErrorCode } from '../shared/errors.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { assertPlain, isJsonObject, isObject } from '../shared/json.ts'
import type { Plan } from './plan.ts'

/** What a tool of an MCP server gave back, or the error that says why it gave nothing. */
export function readToolResult(plan: Plan, result: JsonObject): JsonObject {
  const blocks = blocksOf(result['content'])
  const text = blocks
    .flatMap((block) => (typeof block['text'] === 'string' ? [block['text']] : []))
    .join('\n')
  if (result['isError'] === true) throw failed(plan, result, text)
  const structured = result['structuredContent']
  const others = blocks.filter(({ type }) => type !== 'text')
  return {
    output: isJsonObject(structured) && isPlain(structured) ? structured : text,
    ...(others.length === 0 || !isPlain(others) ? {} : { content: others }),
  }
}

function blocksOf(content: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(content) ? content.filter(isJsonObject) : []
}

function isPlain(value: JsonValue): boolean {
  try {
    assertPlain(value, 'a result')
    return true
  } catch {
    return false
  }
}

const SAID_CHARACTERS = 1500
/** What a server of ours may say beyond that it failed. */
const CODES: readonly ErrorCode[] = ['CONFLICT', 'MESSAGE_TOO_LARGE', 'INVALID_PARAMETERS']

/** A server that is shipped has words and codes of its own; of others it is only told what they say. */
function failed({ item, items }: Plan, { _meta: meta }: JsonObject, text: string): KiwiError {
  const isOurs = items[1]?.space === 'builtin'
  const own = isOurs && isObject(meta) && isObject(meta['kiwi/error']) ? meta['kiwi/error'] : {}
  const said = text.slice(0, SAID_CHARACTERS)
  const message = isOurs ? said : `Cannot run "${item.id}": it says ${JSON.stringify(said)}`
  const { hint, code } = own
  return new KiwiError(CODES.find((known) => known === code) ?? 'TOOL_FAILED', message, {
    hint: typeof hint === 'string' ? hint : 'Correct the parameters and send the call again',
  })
}
