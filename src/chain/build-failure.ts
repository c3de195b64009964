import type { CommandResult, Program } from '../primitives/subprocess/command.ts'
import { KiwiError, errnoOf, messageOf } from '../shared/errors.ts'
import { textOf } from '../shared/template.ts'
import type { EnvironmentDraft } from './environment-draft.ts'

/** Why an environment could not be built, by the step that failed. */
export function stepFailure(
  environment: EnvironmentDraft,
  program: Pick<Program, 'command'>,
  result: CommandResult,
): KiwiError {
  const { tool, timeoutMs, packages, isCompiled } = environment
  const told = lastLines(environment, result)
  const details = { command: program.command, packages, installer: told }
  const what = isCompiled ? 'it could not be compiled' : 'its packages could not be installed'
  const because = (reason: string): string => `Cannot run "${tool}": ${what}: ${reason}`
  if (result.cancelled) return cancelled(tool)
  if (result.timed_out) {
    return new KiwiError('TIMEOUT', because(`it took longer than ${timeoutMs / 1000} s`), {
      hint: 'Try again: what was downloaded is kept; environment.timeout in the runtime gives it longer',
      details,
    })
  }
  if (FULL.test(told)) return new KiwiError('STORE_FULL', because('the disk is full'), { details })
  if (result.failure === 'not_found' || result.failure === 'not_executable')
    return new KiwiError('COMMAND_NOT_FOUND', because(result.stderr), { details })
  if (result.failure === 'overloaded')
    return new KiwiError('OVERLOADED', because('too many programs are running'), { details })
  const named = packagesIn(told, packages)
  const last = tellingLine(told, packages)
  if (isCompiled) {
    return new KiwiError('TOOL_FAILED', because(last), {
      hint: 'Correct the source: data.stderr is what the compiler says',
      partial: { output: '', stderr: told, return_code: result.return_code },
      details: { command: program.command },
    })
  }
  if (result.return_code === REFUSED) {
    return new KiwiError('DEPENDENCY_REFUSED', because(told.split('\n').at(-1) ?? ''), {
      hint: 'Require another version, or another package, that needs nothing of the kind',
      details,
    })
  }
  return new KiwiError(
    'DEPENDENCY_UNAVAILABLE',
    `Cannot run "${tool}": ${named.map((name) => `"${name}"`).join(', ')} cannot be installed: ${last}`,
    {
      hint: environment.isGuessed ? GUESSED : NAMED,
      details: { ...details, packages: named },
    },
  )
}

/** What a step that checks what would be installed ends with when it says no; its last line says why. */
const REFUSED = 77

const NAMED =
  'Correct the name or version under "requires", make the package index reachable, or set "packages" in kiwi.json'
const GUESSED =
  'These were found among its imports: name what is meant under "requires", or set it to [] when they are there already'

const FULL = /no space left on device|ENOSPC|disk quota exceeded/i
const MOST_LINES = 20
const MOST_CHARACTERS = 2000

/** The end of what an installer says, without the passwords an address may hold. */
function lastLines({ redact }: EnvironmentDraft, { stdout, stderr }: CommandResult): string {
  const text = stderr.trim() === '' ? stdout : stderr
  const end = text.trimEnd().split('\n').slice(-MOST_LINES).join('\n').slice(-MOST_CHARACTERS)
  return textOf(redact(end)).replaceAll(/\/\/[^/@\s]+@/g, '//***@')
}

/** What an installer says after the reason: where it wrote more, and general advice. */
const BOILERPLATE = /complete log of this run|npm help config|^npm error\s*\d*\s*$/i

/** The last line that speaks of a fault and of a package, else of a fault, else the last. */
function tellingLine(told: string, packages: readonly string[]): string {
  const lines = told.split('\n').filter((line) => !BOILERPLATE.test(line))
  const faults = lines.filter((line) => /error/i.test(line))
  const about = faults.findLast((line) => packages.some((one) => speaksOf(line, one)))
  return about ?? faults.at(-1) ?? lines.at(-1) ?? ''
}

/** Those the installer speaks of; all of them when it speaks of none. */
function packagesIn(told: string, packages: readonly string[]): readonly string[] {
  const named = packages.filter((requirement) => speaksOf(told, requirement))
  return named.length > 0 ? named : packages
}

/** Package indexes read these as one name. */
function folded(text: string): string {
  return text.toLowerCase().replaceAll(/[-_.]+/g, '-')
}

function speaksOf(told: string, requirement: string): boolean {
  const [name = ''] = /^@?[\w./-]+/.exec(requirement) ?? []
  return name !== '' && folded(told).includes(folded(name))
}

export function cancelled(tool: string): KiwiError {
  return new KiwiError('CANCELLED', `Cannot run "${tool}": it was cancelled while its environment was made`)
}

/** What would build it was not judged, so it is not built in this call. */
export function removed(tool: string): KiwiError {
  return new KiwiError(
    'STORE_UNAVAILABLE',
    `Cannot run "${tool}": its environment was removed a moment ago`,
    {
      hint: 'Send the call again: it is built anew',
    },
  )
}

export function cannotBuild({ place }: EnvironmentDraft, error: unknown): KiwiError {
  const isFull = errnoOf(error) === 'ENOSPC'
  return new KiwiError(
    isFull ? 'STORE_FULL' : 'STORE_UNAVAILABLE',
    `Cannot write "${place}": ${messageOf(error)}`,
    { cause: error },
  )
}
