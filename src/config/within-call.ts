import { readFileSync } from 'node:fs'
import type { Environment } from './environment.ts'
import { PROCESS_MARK } from './environment.ts'

const MARKS = ['KIWI_CALL_ID', PROCESS_MARK]
/** No process is nearly as deep. */
const MOST_ANCESTORS = 64

/**
 * Whether something that Kiwi started has started us. A tool may clear its environment before; where the system shows
 * those of our ancestors, the one the tool itself began with is still there. A tool that becomes kiwi itself, or leaves
 * its parents, with nothing in its environment cannot be told from a person.
 */
export function isWithinCall(environment: Environment, parent: number = process.ppid): boolean {
  if (MARKS.some((name) => environment[name] !== undefined)) return true
  let pid = parent
  for (let step = 0; step < MOST_ANCESTORS && pid > 1; step++) {
    const variables = read(`/proc/${pid}/environ`).split('\0')
    if (variables.some((each) => MARKS.some((name) => each.startsWith(`${name}=`)))) return true
    const status = read(`/proc/${pid}/stat`)
    // The name before the state stands in brackets and may hold anything; the parent comes behind the state.
    pid = Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
  }
  return false
}

/** What belongs to others cannot be read, and was not started by us. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
