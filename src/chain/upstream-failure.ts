import type { ErrorCode } from '../shared/errors.ts'
import { KiwiError } from '../shared/errors.ts'
import { serverName } from '../shared/groups.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Redact } from '../shared/redact.ts'
import { textOf } from '../shared/template.ts'
import { reasonOf } from '../upstream/restarts.ts'
import type { UpstreamDraft } from './draft-upstream.ts'

/** Failures after which a person wants to know what was started, and what it said. */
const OF_SERVER: ReadonlySet<ErrorCode> = new Set([
  'UPSTREAM_UNAVAILABLE',
  'OUTCOME_UNKNOWN',
  'TIMEOUT',
  'MESSAGE_TOO_LARGE',
])
const LAST_LINES = 20
const LAST_CHARACTERS = 2000

/** Failures of one call, and not of its server. */
const OF_CALL: ReadonlySet<ErrorCode> = new Set([
  'TOOL_FAILED',
  'TIMEOUT',
  'TOO_DEEP',
  'MESSAGE_TOO_LARGE',
  'OUTCOME_UNKNOWN',
])

/** What failed: a server, and which of its tools was called, if one was. */
export interface Failing {
  readonly effect: UpstreamDraft
  readonly tool: string | null
}

/** The same failure without live secrets, with what was tried and the end of what the server wrote beside its messages. */
export function upstreamFailure(
  error: KiwiError,
  { effect: { server, served }, tool }: Failing,
  said: string,
  redact: Redact,
): KiwiError {
  const { code, hint, retryable, details, fix } = error
  const isOfTool = tool !== null && OF_CALL.has(code)
  const named = error.message.replace(`"${served.item.id}"`, () => `"${serverName(served.item.id)}"`)
  const told = isOfTool ? `Cannot call "${tool}": ${reasonOf(error.message)}` : named
  const message = textOf(redact(told, true))
  const base = { retryable, cause: error, ...(fix === undefined ? {} : { fix }) }
  if (!OF_SERVER.has(code)) return new KiwiError(code, message, { ...base, hint, details })
  const stderr = tailOf(textOf(redact(said, true)))
  return new KiwiError(code, message, {
    ...base,
    hint: message.startsWith('Cannot start')
      ? `${hint}; kiwi doctor ${serverName(served.item.id)} says what it needs`
      : hint,
    details: {
      ...details,
      server: served.item.id,
      tried: tried(server, redact),
      ...(stderr === '' ? {} : { stderr }),
    },
  })
}

function tried(server: UpstreamDraft['server'], redact: Redact): JsonObject {
  if (server.kind === 'remote')
    return {
      transport: server.transport,
      url: redact(server.request.url),
      headers: Object.keys(server.request.headers),
    }
  const { command, args, cwd, env } = server.command.command
  return { transport: 'stdio', command, args: redact([...args]), cwd, env: Object.keys(env).toSorted() }
}

/** Whole lines from the end. */
function tailOf(text: string): string {
  const lines = text.trimEnd().split('\n').slice(-LAST_LINES)
  while (lines.length > 1 && lines.join('\n').length > LAST_CHARACTERS) lines.shift()
  return lines.join('\n').slice(-LAST_CHARACTERS)
}
