import type { JsonObject } from '../../shared/json.ts'
import { textOf } from '../../shared/template.ts'
import { numberOf, timeoutMsOf } from '../command-template.ts'

/** The config of a chain whose parameters are a command line, compiled. */
export interface LineTerms {
  /** What a raw script is handed to. */
  readonly shell: string
  readonly timeoutMs: number
  /** What a call may ask for at most. */
  readonly longestMs: number
  readonly killGraceMs: number
  readonly maxOutputBytes: number
}

export function compileLineTerms(config: JsonObject): LineTerms {
  const { timeout_max: ceiling } = config
  return {
    shell: textOf(config['command']),
    timeoutMs: timeoutMsOf(config),
    longestMs: typeof ceiling === 'number' ? ceiling * 1000 : timeoutMsOf(config),
    killGraceMs: numberOf(config, 'kill_grace') * 1000,
    maxOutputBytes: numberOf(config, 'max_output_bytes'),
  }
}
