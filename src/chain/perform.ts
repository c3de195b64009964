import type { CommandResult } from '../primitives/command.ts'
import type { HttpClient } from '../primitives/http-client.ts'
import type { HttpResult } from '../primitives/http-result.ts'
import type { Subprocess } from '../primitives/subprocess.ts'
import type { ErrorCode } from '../shared/errors.ts'
import { KiwiError } from '../shared/errors.ts'
import { selectPath } from '../shared/json-path.ts'
import type { JsonObject, JsonValue } from '../shared/json.ts'
import { assertPlain } from '../shared/json.ts'
import type { Draft } from './draft.ts'
import type { Plan } from './plan.ts'
import type { WorkFolders } from './work-folder.ts'

/** What a call gave back: `output` first, then what else is worth knowing. */
export interface Performed {
  readonly data: JsonObject
  readonly warnings: readonly string[]
}

export interface PerformMeans {
  readonly subprocess: Subprocess
  readonly httpClient: HttpClient
  readonly workFolders: WorkFolders
}

/** Makes the call. Everything it gives back or fails with has live secrets taken out. */
export async function perform(draft: Draft, means: PerformMeans, signal?: AbortSignal): Promise<Performed> {
  const { plan, effect, redact } = draft
  switch (effect.kind) {
    case 'content':
      return contentOf(plan)
    case 'subprocess': {
      const folder = plan.hasFiles ? await means.workFolders.prepare(plan.item) : null
      const command = folder === null ? effect.command : effect.inFolder(folder)
      const result = await means.subprocess.run(command, signal)
      return checked(plan, commandData(plan, redact(command.command), redacted(result, redact)))
    }
    case 'http_client': {
      const result = await means.httpClient.request(effect.request, signal)
      return checked(plan, await responseData(plan, redacted(result, redact)))
    }
  }
}

/** A tool that promises an output and gives another still gave one: the difference is reported. */
function checked(plan: Plan, data: JsonObject): Performed {
  const warnings = data['truncated'] === true ? ['the output was over its limit and is cut'] : []
  const findings = plan.checkOutput?.(structuredClone(data['output'])) ?? null
  if (findings === null) return { data, warnings }
  const faults = [
    ...findings.missing.map((name) => `"${name}" is missing`),
    ...findings.invalid.map(({ name, reason }) => `"${name}" ${reason}`),
  ]
  return {
    data,
    warnings: [...warnings, `the output is not what the manifest promises: ${faults.join('; ')}`],
  }
}

async function contentOf({ item }: Plan): Promise<Performed> {
  const files = await item.files()
  const content = files.find(({ path }) => path === 'content.md') ?? files[0]
  return {
    data: { output: content === undefined ? '' : Buffer.from(content.content).toString('utf8') },
    warnings: [],
  }
}

function redacted<T extends object>(result: T, redact: Draft['redact']): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- results are JSON, and redacting changes texts only
  return redact(result as unknown as JsonValue) as unknown as T
}

function commandData(plan: Plan, program: JsonValue, result: CommandResult): JsonObject {
  const { stdout, stderr, return_code, signal, truncated } = result
  const parsed = parseJson(stdout)
  const data: JsonObject = {
    output: parsed === undefined ? stdout : parsed,
    ...(parsed === undefined ? {} : { stdout }),
    ...(stderr === '' ? {} : { stderr }),
    return_code,
    ...(signal === null ? {} : { signal }),
    ...(truncated ? { truncated } : {}),
  }
  if (result.success) return data
  const { code, reason } = failureOf(plan, result)
  throw new KiwiError(code, `Cannot run "${plan.item.id}": ${reason}`, {
    partial: data,
    details: { command: program },
  })
}

/** Why a program that did not succeed did not. */
function failureOf(plan: Plan, result: CommandResult): { code: ErrorCode; reason: string } {
  const { stderr, signal, return_code } = result
  if (result.timed_out)
    return { code: 'TIMEOUT', reason: `it took longer than ${timeoutOf(plan)} s and was ended` }
  if (result.cancelled) return { code: 'CANCELLED', reason: 'it was cancelled' }
  switch (result.failure) {
    case 'not_found':
      return { code: 'COMMAND_NOT_FOUND', reason: stderr }
    case 'not_executable':
      return { code: 'COMMAND_NOT_EXECUTABLE', reason: stderr }
    case 'missing_command':
    case 'bad_folder':
      return { code: 'INVALID_CONFIG', reason: stderr }
    case 'overloaded':
      return { code: 'OVERLOADED', reason: 'too many programs are running' }
    case 'not_started':
      return { code: 'TOOL_FAILED', reason: `it could not be started: ${stderr}` }
    case null: {
      const end = signal === null ? `code ${return_code}` : signal
      return { code: 'TOOL_FAILED', reason: `it ended with ${end}${lastLine(stderr)}` }
    }
  }
}

const HTTP_CODES: Readonly<Record<NonNullable<HttpResult['failure']>, ErrorCode>> = {
  bad_request: 'INVALID_PARAMETERS',
  egress_denied: 'EGRESS_DENIED',
  connection: 'UPSTREAM_UNAVAILABLE',
  dns: 'UPSTREAM_UNAVAILABLE',
  tls: 'UPSTREAM_UNAVAILABLE',
  protocol: 'UPSTREAM_UNAVAILABLE',
  timeout: 'TIMEOUT',
  cancelled: 'CANCELLED',
  too_large: 'MESSAGE_TOO_LARGE',
  redirect: 'HTTP_STATUS',
  status: 'HTTP_STATUS',
  outcome_unknown: 'OUTCOME_UNKNOWN',
}

async function responseData(plan: Plan, result: HttpResult): Promise<JsonObject> {
  const { status_code, attempts, failure, error, body_kind } = result
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a body is JSON, or text
  const body = (result.body ?? null) as JsonValue
  const { 'set-cookie': _cookies, ...headers } = result.headers
  const answer = { status_code, attempts, ...(body_kind === 'base64' ? { encoding: 'base64' } : {}), headers }
  if (failure !== null) {
    throw new KiwiError(HTTP_CODES[failure], `Cannot run "${plan.item.id}": ${error ?? failure}`, {
      partial: { output: body, ...answer },
      details: {
        failure,
        status_code,
        attempts,
        ...(failure === 'egress_denied' ? egressDetails(error) : {}),
      },
    })
  }
  const transform = plan.effect.kind === 'http_client' ? plan.effect.request.transform : null
  const isSelected = transform !== null && body_kind === 'json'
  return { output: isSelected ? await selectPath(body, transform) : body, ...answer }
}

function egressDetails(error: string | null): JsonObject {
  return {
    layer: 'egress',
    rule: 'public-addresses',
    required: 'the host in allow_hosts of kiwi.json',
    resource: error,
  }
}

/** One JSON value and nothing else, of a depth that can be handed on. */
function parseJson(text: string): JsonValue | undefined {
  if (!/^\s*[[{"\d\-tfn]/.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    assertPlain(value, 'output')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- parsed from JSON
    return value as JsonValue
  } catch {
    return undefined
  }
}

function timeoutOf({ effect }: Plan): number {
  return effect.kind === 'subprocess' ? effect.command.timeoutMs / 1000 : 0
}

function lastLine(stderr: string): string {
  const line = stderr.trimEnd().split('\n').at(-1) ?? ''
  return line === '' ? '' : `: ${line.slice(0, 300)}`
}
