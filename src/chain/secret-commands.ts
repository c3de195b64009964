import { basename } from 'node:path'
import type { CommandResult } from '../primitives/subprocess/command.ts'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import type { Environment } from '../config/environment.ts'
import type { Clock } from '../shared/clock.ts'
import { KiwiError } from '../shared/errors.ts'
import { canonicalJson } from '../shared/json.ts'
import type { Watch } from '../shared/progress.ts'
import type { Stop } from '../shared/stop.ts'
import type { SecretCommand, Secrets } from '../store/vault/secrets.ts'
import { faultOfValue } from '../store/vault/secrets.ts'
import type { Flight } from './flight.ts'
import { openFlight } from './flight.ts'

/** Programs that give secrets: each is asked when a call that was let through needs it, and remembered for a while. */
export interface SecretCommands {
  /** What it gave lately; null when it has to be asked. */
  heard(name: string, command: SecretCommand): string | null
  /** Calls that want the same one wait for one answer. */
  ask(name: string, command: SecretCommand, asker: Asker, watch: Watch): Promise<string>
}

/** The call that needs it. */
interface Asker {
  readonly tool: string
  readonly callId: string
}

interface SecretCommandMeans {
  readonly subprocess: Pick<Subprocess, 'run'>
  readonly clock: Clock
  /** The part of ours that every child starts from. */
  readonly childEnvironment: Environment
  /** Where it runs: no folder of a project, whose files would have a say. */
  readonly home: string
  readonly know: Secrets['know']
  /** How long one may take; 10 s unless given. */
  readonly limitMs?: number
}

const LIMIT_MS = 10_000
const REMEMBERED_MS = 5 * 60_000
const MOST_BYTES = 64 * 1024

export function openSecretCommands(means: SecretCommandMeans): SecretCommands {
  const { clock, limitMs = LIMIT_MS } = means
  const answers = new Map<string, { readonly value: string; readonly at: number }>()
  const flights = new Map<string, Flight>()

  const recall = (key: string): string | null => {
    const answer = answers.get(key)
    if (answer === undefined) return null
    if (clock.monotonic() - answer.at < REMEMBERED_MS) return answer.value
    answers.delete(key)
    return null
  }

  const start = (key: string, asked: Asked): Flight => {
    const flight = openFlight(clock, async (signal, say) => {
      // A person may be asked to unlock something: whoever waits should know.
      say(`asking "${basename(asked.program)}" for ${asked.name}`)
      try {
        const value = await valueFrom(asked, { ...means, limitMs, signal })
        answers.set(key, { value, at: clock.monotonic() })
      } finally {
        flights.delete(key)
      }
    })
    flights.set(key, flight)
    return flight
  }

  return {
    heard: (name, command) => recall(keyOf(name, command)),
    async ask(name, { argv, set_at }, { tool, callId }, watch) {
      const key = keyOf(name, { argv, set_at })
      const before = recall(key)
      if (before !== null) return before
      // One that everybody has left comes to its end first.
      if (flights.get(key)?.isLeft() === true) await flights.get(key)?.ended
      const [program = '', ...args] = argv
      const asked = { name, program, args, tool, callId }
      const flight = flights.get(key) ?? start(key, asked)
      const isDone = await flight.join(watch)
      const value = isDone ? recall(key) : null
      if (value !== null) return value
      throw new KiwiError('CANCELLED', `Cannot run "${tool}": it was cancelled while ${name} was asked for`)
    },
  }
}

/** Whoever sets it again has it asked again. */
function keyOf(name: string, { argv, set_at }: SecretCommand): string {
  return canonicalJson([name, [...argv], set_at])
}

interface Asked extends Asker {
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
}

interface AskMeans extends SecretCommandMeans {
  readonly limitMs: number
  readonly signal: Stop
}

async function valueFrom(asked: Asked, means: AskMeans): Promise<string> {
  const { program, args, name, callId } = asked
  const result = await means.subprocess.run(
    {
      command: program,
      args,
      // With the mark of the call it is no person to Kiwi.
      env: { ...means.childEnvironment, KIWI_CALL_ID: callId },
      cwd: means.home,
      input: null,
      timeoutMs: means.limitMs,
      killGraceMs: 500,
      maxOutputBytes: MOST_BYTES,
      captureOutput: true,
    },
    means.signal,
  )
  // As `$(...)` of a shell does.
  const value = result.stdout.replace(/[\r\n]+$/, '')
  const fault = faultOfRun(result, means.limitMs) ?? faultOfOutput(value)
  if (fault !== null) throw unavailable(asked, fault)
  means.know(name, value)
  return value
}

interface Fault {
  /** What the program did, never what it wrote. */
  readonly did: string
  readonly hint?: (name: string) => string
}

function faultOfRun(result: CommandResult, limitMs: number): Fault | null {
  if (result.failure === 'not_found' || result.failure === 'not_executable')
    return {
      did: result.failure === 'not_found' ? 'is not there' : 'may not be executed',
      hint: (name) => `Ask the person to install it, or to run: kiwi secret set ${name} --command -- PROGRAM`,
    }
  if (result.failure !== null || result.cancelled) return { did: 'could not be started' }
  if (result.timed_out)
    return {
      did: `did not end within ${limitMs / 1000} s`,
      hint: (name) =>
        `It may wait for a person: ask them to unlock what keeps ${name}, then send the call again`,
    }
  if (result.signal !== null) return { did: `was ended by ${result.signal}` }
  if (result.return_code !== 0) return { did: `ended with code ${result.return_code}` }
  return result.truncated ? { did: `wrote more than ${MOST_BYTES / 1024} KiB` } : null
}

function faultOfOutput(value: string): Fault | null {
  if (value === '') return { did: 'wrote nothing' }
  // What is no UTF-8 has become this sign, and would be sent so.
  if (value.includes('\uFFFD')) return { did: 'wrote what is no text' }
  const reason = faultOfValue(value)
  return reason === null ? null : { did: `wrote what cannot be a secret: ${reason}` }
}

function unavailable({ tool, name, program }: Asked, { did, hint = byHand }: Fault): KiwiError {
  const shown = basename(program)
  return new KiwiError(
    'SECRET_UNAVAILABLE',
    `Cannot run "${tool}": the program "${shown}", which gives ${name}, ${did}`,
    { hint: hint(name), details: { name, program: shown } },
  )
}

function byHand(name: string): string {
  return `Ask the person to run by hand what kiwi secret list shows for ${name}, and to correct it with kiwi secret set`
}
