import type { ErrorCode } from '../shared/errors.ts'
import { KiwiError } from '../shared/errors.ts'
import { serverName } from '../shared/groups.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { assertPlain, canonicalJson, isJsonObject, isObject, parsePlain } from '../shared/json.ts'
import { asItCame, unmarked } from '../upstream/read-message.ts'
import type { Plan } from './plan.ts'

/**
 * What a tool of an MCP server gave back, or the error that says why it gave nothing. Its words are data, whatever they
 * say. `inVain` is what it asked for and did not get, which may be why.
 */
export function readToolResult(plan: Plan, given: JsonObject, inVain: readonly string[] = []): JsonObject {
  const server = plan.items[1]
  const isOurs = server?.space === 'builtin'
  // What ours give is looked into: some of it may not be for everybody.
  const { result, asText } = isOurs ? { result: asItCame(given) ?? {}, asText: [] } : unmarked(given)
  const { content, structuredContent: structured, _meta: meta } = result
  const blocks = Array.isArray(content) ? content : []
  const text = textIn(content, blocks)
  const data = {
    ...(asText.length > 0 ? heavyOutput(result, text) : outputOf(structured, text)),
    ...(saysMore(blocks, structured) ? { content: plainOrText(blocks) } : {}),
    ...otherIn(result),
    ...(isOurs || !isJsonObject(meta) || Object.keys(meta).length === 0 ? {} : { _meta: plainOrText(meta) }),
    // Whoever reads it knows whose words these are.
    ...(isOurs || server === undefined
      ? {}
      : { source: { server: serverName(server.id), trust: 'untrusted' } }),
  }
  if (result['isError'] !== true) return data
  throw isOurs ? ownFailure(result, text) : failed(plan, text, data, inVain)
}

const KNOWN: ReadonlySet<string> = new Set(['structuredContent', 'isError', '_meta', 'resultType'])

/** What a result holds that the protocol has no place for, or has in another form. */
function otherIn(result: JsonObject): { readonly other?: JsonValue } {
  const { content, structuredContent: structured } = result
  // A text in place of blocks is the output, where nothing else is.
  const isTaken = Array.isArray(content) || (typeof content === 'string' && structured === undefined)
  const isKnown = (key: string): boolean => KNOWN.has(key) || (key === 'content' && isTaken)
  const others = Object.entries(result).filter(([key]) => !isKnown(key))
  return others.length === 0 ? {} : { other: plainOrText(Object.fromEntries(others)) }
}

/** What cannot be told apart from something else, or is unsafe, is handed on as the JSON it was. */
function outputOf(structured: JsonValue | undefined, text: string): JsonObject {
  if (structured === undefined) return { output: text }
  return isPlain(structured)
    ? { output: structured }
    : { output: JSON.stringify(structured), encoding: 'json' }
}

/** What holds very many values is text already; beside a whole output, blocks of texts say nothing more. */
function heavyOutput({ structuredContent: structured, content }: JsonObject, text: string): JsonObject {
  const output = structured ?? (typeof content === 'string' ? content : text)
  return { output: typeof output === 'string' ? output : JSON.stringify(output), encoding: 'json' }
}

function plainOrText(value: JsonValue): JsonValue {
  return isPlain(value) ? value : JSON.stringify(value)
}

function textIn(content: JsonValue | undefined, blocks: readonly JsonValue[]): string {
  return typeof content === 'string' ? content : textsOf(blocks).join('\n')
}

function textsOf(blocks: readonly JsonValue[]): readonly string[] {
  return blocks.flatMap((block) =>
    isJsonObject(block) && block['type'] === 'text' && typeof block['text'] === 'string'
      ? [block['text']]
      : [],
  )
}

/** One plain text is the output itself, or tells in JSON what the output does. */
function saysMore(blocks: readonly JsonValue[], structured: JsonValue | undefined): boolean {
  const [only, ...others] = blocks
  if (only === undefined) return false
  const text = plainText(only)
  if (text === null || others.length > 0) return true
  if (structured === undefined || text === structured) return false
  // To read what is long only to compare it would hold up all others.
  if (text.length > LONG) return text !== JSON.stringify(structured)
  const told = parsePlain(text)
  return told === undefined || !isPlain(structured) || canonicalJson(told) !== canonicalJson(structured)
}

const LONG = 1024 * 1024

/** Null for a block that is anything else, or says more than its text. */
function plainText(block: JsonValue): string | null {
  if (!isJsonObject(block) || block['type'] !== 'text' || Object.keys(block).length > 2) return null
  return typeof block['text'] === 'string' ? block['text'] : null
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

/** A server that is shipped has words and codes of its own. */
function ownFailure({ _meta: meta }: JsonObject, text: string): KiwiError {
  const own = isObject(meta) && isObject(meta['kiwi/error']) ? meta['kiwi/error'] : {}
  const { hint, code } = own
  return new KiwiError(
    CODES.find((known) => known === code) ?? 'TOOL_FAILED',
    text.slice(0, SAID_CHARACTERS),
    { hint: typeof hint === 'string' ? hint : CORRECT },
  )
}

const CORRECT = 'Correct the parameters and send the call again'
const IN_VAIN = 'details.asked_in_vain says what it wanted to know and was not told, which may be why'

/** Of others it is only told what they say: no hint of theirs is ours. */
function failed({ item }: Plan, text: string, partial: JsonObject, inVain: readonly string[]): KiwiError {
  const said = JSON.stringify(text.slice(0, SAID_CHARACTERS))
  return new KiwiError('TOOL_FAILED', `Cannot run "${item.id}": it says ${said}`, {
    hint: inVain.length === 0 ? CORRECT : IN_VAIN,
    partial,
    ...(inVain.length === 0 ? {} : { details: { asked_in_vain: inVain } }),
  })
}
