import type { CommandResult } from '../primitives/subprocess/command.ts'
import type { ErrorCode } from '../shared/errors.ts'
import { KiwiError } from '../shared/errors.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { isJsonObject, parsePlain } from '../shared/json.ts'
import { textOf } from '../shared/template.ts'
import type { Plan } from './plan.ts'

/** How a command is shown, and the time it had. */
interface Shown {
  readonly program: JsonValue
  readonly timeoutMs: number
}

/** What a program gave back, or the error that says why it gave nothing; `more` stands beside it. */
export function readCommand(
  plan: Plan,
  shown: Shown,
  result: CommandResult,
  more: JsonObject = {},
): JsonObject {
  const { stdout, stderr, return_code, signal, truncated } = result
  const data: JsonObject = {
    ...outputOf(plan, stdout),
    ...(stderr === '' ? {} : { stderr }),
    return_code,
    ...(signal === null ? {} : { signal }),
    ...(truncated ? { truncated } : {}),
    ...more,
  }
  if (result.success) return data
  const { code, reason } = failureOf(shown, result)
  throw new KiwiError(code, `Cannot run "${plan.item.id}": ${reason}`, {
    partial: data,
    details: {
      command: shown.program,
      ...(result.failure === 'guarded' ? { layer: 'argv', rule: null } : {}),
    },
    ...(result.failure === 'guarded' ? { hint: AFTER_GUARD } : {}),
    ...hintFor(plan, result.stderr),
    // What was ended half-way and may have changed something must not invite a second time.
    ...(code === 'TIMEOUT' && !plan.isRepeatable ? { retryable: false, hint: AFTER_TIMEOUT } : {}),
  })
}

/** Stands before what a function gave back, as RFC 7464 has it: what the script printed by itself may be anything. */
const RECORD_SEPARATOR = '\u001E'

/** The output, and what was printed when that is not the same. */
function outputOf({ effect }: Plan, stdout: string): JsonObject {
  const isCall = effect.kind === 'subprocess' && effect.command.argsStyle === 'call'
  const at = isCall ? stdout.lastIndexOf(RECORD_SEPARATOR) : -1
  const text = at < 0 ? stdout : stdout.slice(at + 1)
  const parsed = parseJson(text)
  if (at >= 0)
    return {
      output: parsed === undefined ? text : parsed,
      ...(at === 0 ? {} : { stdout: stdout.slice(0, at) }),
    }
  return parsed === undefined ? { output: stdout } : { output: parsed, stdout }
}

/** What a manifest knows of how its program fails, for whoever has to go on from there. */
function hintFor({ config }: Plan, stderr: string): { hint?: string } {
  const hints = Array.isArray(config['hints']) ? config['hints'] : []
  const known = hints.find((hint: JsonValue) => isJsonObject(hint) && stderr.includes(textOf(hint['when'])))
  return known !== undefined && isJsonObject(known) ? { hint: textOf(known['say']) } : {}
}

const AFTER_GUARD =
  'Ask the person to look at what is named: it goes from the config, or the command is run outside of Kiwi'

const AFTER_TIMEOUT =
  'Check what it did before you send it again; config.timeout in the manifest gives it longer'

/** Why a program that did not succeed did not. */
function failureOf({ timeoutMs }: Shown, result: CommandResult): { code: ErrorCode; reason: string } {
  const { stderr, signal, return_code } = result
  if (result.timed_out)
    return { code: 'TIMEOUT', reason: `it took longer than ${timeoutMs / 1000} s and was ended` }
  if (result.cancelled) return { code: 'CANCELLED', reason: 'it was cancelled' }
  switch (result.failure) {
    case 'not_found':
      return { code: 'COMMAND_NOT_FOUND', reason: stderr }
    case 'not_executable':
      return { code: 'COMMAND_NOT_EXECUTABLE', reason: stderr }
    case 'missing_command':
    case 'bad_folder':
      return { code: 'INVALID_CONFIG', reason: stderr }
    case 'guarded':
      return { code: 'PERMISSION_DENIED', reason: stderr }
    case 'overloaded':
      return { code: 'OVERLOADED', reason: 'too many programs are running' }
    case 'not_started':
      return { code: 'TOOL_FAILED', reason: `it could not be started: ${stderr}` }
    case null: {
      const end = signal === null ? `code ${return_code}` : signal
      return { code: 'TOOL_FAILED', reason: `it ended with ${end}${toldBy(stderr)}` }
    }
  }
}

/** Most output is no JSON, which its first character tells. */
function parseJson(text: string): JsonValue | undefined {
  return /^\s*[[{"\d\-tfn]/.test(text) ? parsePlain(text) : undefined
}

/** The line that says why, where a program marks it, or the one before it says how it is used. Else the last one. */
function toldBy(stderr: string): string {
  const lines = stderr.trimEnd().split('\n')
  const usage = lines.findIndex((one) => /^usage: /i.test(one))
  const marked = lines.find((one) => /^(?:fatal|error): /.test(one))
  const line = marked ?? (usage > 0 ? lines[usage - 1] : undefined) ?? lines.at(-1) ?? ''
  return line === '' ? '' : `: ${line.slice(0, 300)}`
}
