import type { Clock } from './clock.ts'
import { jsonLine } from './json-line.ts'
import { hideBySecretKey } from './redact.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** JSON lines for operators. Standard output belongs to the protocol, so these go to standard error. */
export interface Log {
  debug(event: string, fields?: Fields): void
  info(event: string, fields?: Fields): void
  warn(event: string, fields?: Fields): void
  error(event: string, fields?: Fields): void
}

type Fields = Readonly<Record<string, unknown>>

interface LogMeans {
  readonly level: LogLevel
  readonly clock: Clock
  readonly write: (line: string) => void
}

export function createLog({ level, clock, write }: LogMeans): Log {
  const least = LOG_LEVELS.indexOf(level)
  const at = (name: LogLevel) => {
    const isOn = LOG_LEVELS.indexOf(name) >= least
    return (event: string, fields: Fields = {}): void => {
      if (!isOn) return
      const own = { time: new Date(clock.now()).toISOString(), level: name, event }
      write(`${jsonLine({ ...own, ...fields, ...own }, hideBySecretKey)}\n`)
    }
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
