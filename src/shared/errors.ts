import type { JsonObject } from './json.ts'
import { LIMITS } from './limits.ts'
/** One row: what the code means, what to do when the error brings no hint of its own, whether trying again can help. */
interface ErrorRow {
  readonly means: string
  readonly hint: string
  readonly retryable: boolean
  /** Exit code of the command line: see EXIT. */
  readonly exit: number
}

/** 2 the request is wrong, 3 not there, 4 refused, 5 the tool failed, 6 try again later, 70 our fault. */
const EXIT = { request: 2, absent: 3, refused: 4, failed: 5, later: 6, internal: 70 } as const

const row = (kind: keyof typeof EXIT, means: string, hint: string): ErrorRow => ({
  means,
  hint,
  retryable: kind === 'later',
  exit: EXIT[kind],
})

/** Every way a call can fail. Codes are stable and never used again for something else. */
export const ERRORS = {
  UNKNOWN_ITEM_TYPE: row(
    'request',
    'The item_type is none of those Kiwi knows',
    'Use tool, directive, knowledge or mcp',
  ),
  UNKNOWN_ACTION: row(
    'request',
    'This kind of item has no such action',
    'Call help with topic "execute" for the actions of each kind',
  ),
  UNKNOWN_ARGUMENT: row(
    'request',
    'The call carries an argument that the tool does not have',
    'Remove the argument, or correct its spelling',
  ),
  INVALID_PARAMETERS: row(
    'request',
    'A parameter is missing, of the wrong type, or outside what is allowed',
    'Correct the parameters that details.missing and details.invalid name',
  ),
  MISSING_INPUTS: row(
    'request',
    'A directive is run without inputs that it requires',
    'Give each of details.missing_inputs under parameters and send the call again',
  ),
  INVALID_MANIFEST: row(
    'request',
    'A manifest lacks a field or holds a wrong one',
    'Correct the fields that details.invalid names',
  ),
  INVALID_CONFIG: row(
    'request',
    'The config of a chain does not fit its primitive, or contradicts itself',
    'Correct the config keys that the message names',
  ),
  PARSE_ERROR: row('request', 'A file or text cannot be read', 'Correct it at the line the message names'),
  TOO_DEEP: row('request', 'A document or message is nested too deep', 'Flatten it'),
  MESSAGE_TOO_LARGE: row(
    'request',
    'A request, answer or file is larger than its limit',
    'Send less, or pass the path of a file',
  ),
  SCHEMA_TOO_COSTLY: row(
    'request',
    'A JSON Schema would take too long to check',
    'Simplify its references and alternatives',
  ),
  CONFIRM_REQUIRED: row(
    'request',
    'The action removes something and was not confirmed',
    'Send it again with parameters.confirm = true',
  ),
  PROJECT_PATH_REQUIRED: row(
    'request',
    'The call needs a project folder and none is known',
    'Pass project_path with the absolute path of an existing folder',
  ),
  NO_PRIMITIVE: row(
    'request',
    'An executor chain does not end in a primitive',
    'Give the last tool of the chain an executor: subprocess or http_client',
  ),
  EXECUTOR_CYCLE: row(
    'request',
    'An executor chain comes back to itself',
    'Change the executor of one of the tools in details.chain',
  ),
  EXECUTOR_TOO_DEEP: row(
    'request',
    'An executor chain has too many links',
    'Shorten the chain in details.chain',
  ),
  EXECUTOR_MISSING: row(
    'absent',
    'A tool names an executor that does not exist',
    'Create the executor, or correct its name in the manifest',
  ),
  NOT_FOUND: row('absent', 'There is no such item', 'Call search to find what there is'),
  AMBIGUOUS_ID: row(
    'request',
    'The id fits several items of one space',
    'Use one of the ids in details.candidates',
  ),
  VERSION_EXISTS: row(
    'refused',
    'This version is already published and cannot change',
    'Give a higher version',
  ),
  CONFLICT: row(
    'refused',
    'Something else already stands where this would be written',
    'Choose another name, or remove what is there first',
  ),
  BUILTIN_PROTECTED: row(
    'refused',
    'The item is shipped with Kiwi and cannot be changed',
    'Create an item of your own under another id',
  ),
  RESERVED_ID: row(
    'refused',
    "The id is one of Kiwi's own, or belongs to the tools of a server",
    'Choose another id',
  ),
  CONTENT_MODIFIED: row(
    'refused',
    'An item is no longer what its signature says',
    'Ask the person to review the change and sign the item again, or put back what was signed',
  ),
  UNTRUSTED: row(
    'refused',
    'Nobody has vouched for this item or for the project it came with',
    'Ask the person to review the project and run kiwi trust in it',
  ),
  QUARANTINED: row(
    'refused',
    'The definition of this tool is new, changed or suspicious, and nobody has let it pass',
    'Ask the person to look at the difference with kiwi trust',
  ),
  LOGIN_REQUIRED: row(
    'refused',
    'The server wants to know who calls, and nobody has logged in to it',
    'Ask the person to run kiwi login',
  ),
  OAUTH_MISMATCH: row(
    'refused',
    'The login was answered by somebody else than was asked, or not as it must be',
    'Do not repeat it: ask the person to check the address of the server',
  ),
  VALIDATION_FAILED: row(
    'refused',
    'A rule of the runtime does not let this item pass',
    'Correct what details.findings name',
  ),
  DEPENDENCY_REFUSED: row(
    'refused',
    'A package the tool requires comes from a place that is not allowed',
    'Require a released version by its name',
  ),
  DEPENDENCY_UNAVAILABLE: row(
    'later',
    'A package the tool requires cannot be installed',
    'Correct its name or version under "requires", or make the package index reachable',
  ),
  PERMISSION_DENIED: row(
    'refused',
    'A layer of permissions does not allow this',
    'Ask the person who keeps the layer named in details.layer',
  ),
  POLICY_ERROR: row(
    'refused',
    'The gate itself failed, so the call was refused',
    'Run kiwi doctor, then send the call again',
  ),
  RATE_LIMITED: row(
    'later',
    'More calls were made than a limit allows',
    'Wait details.retry_after seconds, then send the call again',
  ),
  BUDGET_EXCEEDED: row(
    'refused',
    'The session or run has used up what it was given',
    'Ask the person to raise the budget in their agent_harness.yaml, or begin a new session',
  ),
  APPROVAL_REJECTED: row(
    'refused',
    'A person was asked and said no',
    'Do something else, or ask the person why; details.reason may say it',
  ),
  APPROVAL_TIMEOUT: row(
    'refused',
    'A person was asked and did not answer in time',
    'Send the call again to ask once more',
  ),
  APPROVAL_USED: row(
    'refused',
    'The approval was for one call, and that call was made',
    'Send the call again to ask once more',
  ),
  APPROVAL_MISMATCH: row(
    'refused',
    'The approval is for another call than this one',
    'Send exactly the call that was approved, or ask for this one',
  ),
  SECRET_BLOCKED: row(
    'refused',
    'A result holds what looks like a secret, and the policy keeps such results back',
    'Ask the person to look at the call in their record',
  ),
  SECRET_NOT_GRANTED: row(
    'refused',
    'A tool asks for a variable that nobody granted to it',
    'Ask the person to run kiwi grant with the tool and the names in details.required',
  ),
  MISSING_SECRET: row(
    'refused',
    'A granted variable is not set',
    'Ask the person to run kiwi secret set with the name in details.name',
  ),
  SECRET_UNAVAILABLE: row(
    'failed',
    'The program that gives a granted secret is missing, failed, or gave nothing that can be one',
    'Ask the person to run by hand what kiwi secret list shows for the name in details.name',
  ),
  EGRESS_DENIED: row(
    'refused',
    'The address is private, local or otherwise not public',
    'Ask the person to add the host to allow_hosts in their kiwi.json',
  ),
  SANDBOX_UNAVAILABLE: row(
    'refused',
    'The tool requires a sandbox that cannot be had here',
    'Run it where the sandbox exists, or have its author lower sandbox.required',
  ),
  COMMAND_NOT_FOUND: row(
    'absent',
    'The program is not installed or not on the PATH',
    'Install the program, or correct config.command',
  ),
  COMMAND_NOT_EXECUTABLE: row(
    'refused',
    'The program may not be started',
    'Make the file executable, or correct config.command',
  ),
  TOOL_FAILED: row(
    'failed',
    'The tool ran and reported failure',
    'Read data.stderr, correct the parameters and send the call again',
  ),
  HTTP_STATUS: row(
    'failed',
    'The service answered with a status that is not success',
    'Read data.output and data.status_code',
  ),
  OUTCOME_UNKNOWN: row(
    'failed',
    'The connection broke after the request was sent, so the effect is not known',
    'Check whether it took effect before you send it again',
  ),
  CANCELLED: row('failed', 'The caller went away or cancelled', 'Send the call again if it is still wanted'),
  TIMEOUT: row(
    'later',
    'The call took longer than its timeout',
    'Give it less to do, or raise config.timeout in the manifest',
  ),
  UPSTREAM_UNAVAILABLE: row(
    'later',
    'The service cannot be reached',
    'Check the address and that the service runs, then try again',
  ),
  OVERLOADED: row('later', 'Too many calls are running', 'Wait a moment and send the call again'),
  STORE_FULL: row('later', 'The disk of the store is full', 'Free space, then send the call again'),
  STORE_UNAVAILABLE: row(
    'later',
    'The store cannot be read or written',
    'Run kiwi doctor: it names the file and what is wrong with it',
  ),
  AUDIT_UNAVAILABLE: row(
    'later',
    'The call cannot be recorded, so it was not run',
    'Make the store writable (kiwi doctor names it); shipped read-only tools still work',
  ),
  PORT_IN_USE: row(
    'later',
    'Another program listens on the port',
    'Stop it, or choose another with kiwi serve --port N',
  ),
  INTERNAL: row(
    'internal',
    'A fault in Kiwi itself',
    'Report it with the call id; kiwi audit shows the record',
  ),
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS

/** The very next call to make, ready to send. */
export interface Fix {
  readonly call: 'search' | 'load' | 'execute' | 'help'
  readonly arguments: Readonly<Record<string, unknown>>
}

interface ErrorExtras {
  readonly hint?: string
  readonly details?: Readonly<Record<string, unknown>>
  readonly fix?: Fix
  /** Whether trying again can help, where this call knows better than the table. */
  readonly retryable?: boolean
  /** What was finished before it failed. */
  readonly partial?: JsonObject
  readonly cause?: unknown
}

/** The one error class: what stops a call is thrown as this, and becomes the reply in `meta/reply.ts`. */
export class KiwiError extends Error {
  override readonly name = 'KiwiError'
  readonly code: ErrorCode
  readonly hint: string
  readonly details: Readonly<Record<string, unknown>>
  readonly fix: Fix | undefined
  readonly retryable: boolean
  readonly partial: JsonObject | undefined

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    // A name in it may be as long as a request.
    super(clipped(message), extras.cause === undefined ? undefined : { cause: extras.cause })
    this.code = code
    this.hint = clipped(extras.hint ?? ERRORS[code].hint)
    this.details = extras.details ?? {}
    this.fix = extras.fix
    this.retryable = extras.retryable ?? ERRORS[code].retryable
    this.partial = extras.partial
  }

  /** The same error, with what was finished before it put in another form. */
  async withPartial(change: (partial: JsonObject) => Promise<JsonObject>): Promise<KiwiError> {
    return this.partial === undefined ? this : this.#again(this.message, await change(this.partial))
  }

  /** The same error in other words. */
  withMessage(message: string): KiwiError {
    return this.#again(message, this.partial)
  }

  /** The same error with more to be known of it. */
  withDetails(more: Readonly<Record<string, unknown>>): KiwiError {
    return this.#again(this.message, this.partial, { ...this.details, ...more })
  }

  #again(message: string, partial: JsonObject | undefined, details = this.details): KiwiError {
    const { code, hint, fix, retryable, cause } = this
    return new KiwiError(code, message, {
      hint,
      details,
      retryable,
      cause,
      ...(partial === undefined ? {} : { partial }),
      ...(fix === undefined ? {} : { fix }),
    })
  }
}

/** The text of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function clipped(text: string): string {
  return text.length <= LIMITS.messageCharacters ? text : `${text.slice(0, LIMITS.messageCharacters)}...`
}

/** What the system calls a fault of its own, such as ENOENT; empty when it is not the system's. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
