import type { ProcessSession, SessionCommand } from '../primitives/subprocess/process-session.ts'
import type { Subprocess } from '../primitives/subprocess/subprocess.ts'
import { KiwiError } from '../shared/errors.ts'
import { jsonLine } from '../shared/json-line.ts'
import type { Wire, WireEnd } from './wire.ts'

/** Starts a program and speaks to it in lines. `id` is how people know the upstream. */
export async function openStdioWire(
  id: string,
  subprocess: Subprocess,
  command: SessionCommand,
): Promise<Wire> {
  const opened = await subprocess.open(command)
  if (opened.session !== null) return stdioWire(id, opened.session)
  const { failure, stderr } = opened
  const message = `Cannot start "${id}": ${stderr}`
  if (failure === 'overloaded') throw new KiwiError('OVERLOADED', message)
  // What cannot be started now cannot be started in a second either.
  throw new KiwiError('UPSTREAM_UNAVAILABLE', message, { retryable: false, hint: 'Correct its command' })
}

function stdioWire(id: string, session: ProcessSession): Wire {
  const wireEnd = async (): Promise<WireEnd> => {
    const { failure, signal, return_code } = await session.ended
    if (failure !== null) return { reason: 'it sent more at once than is taken', isTooLarge: true }
    const reason = `it ended with ${signal ?? `code ${return_code}`}`
    return { reason, isTooLarge: false, ...(return_code < 0 ? {} : { exitCode: return_code }) }
  }
  const ended = wireEnd()
  /** People know the server, not its program. */
  const reword = (error: unknown): never => {
    const isBusy = error instanceof KiwiError && error.code === 'OVERLOADED'
    const why = isBusy ? 'it does not read what it was sent' : 'it has ended'
    throw new KiwiError(isBusy ? 'OVERLOADED' : 'UPSTREAM_UNAVAILABLE', `Cannot use "${id}": ${why}`, {
      cause: error,
    })
  }
  return {
    messages: session.lines,
    isOnePipe: true,
    send: (message) => session.send(jsonLine(message)).catch(reword),
    agree() {},
    said: () => session.stderr(),
    ended,
    async close() {
      await session.close()
      return ended
    },
  }
}
