import { KiwiError } from '../../shared/errors.ts'
import type { Position } from './position.ts'

/** What else is known of a fault. */
interface FaultExtras {
  readonly hint?: string
  /** The line as it should be written, where that can be told. */
  readonly repaired?: string | null
  readonly cause?: unknown
}

/** Signs that are not written as text: the cause of a fault that can be repaired. */
export class BareSigns extends Error {
  /** All lines of the element that have one as they should be written, by their number. */
  readonly lines: () => ReadonlyMap<number, string>

  constructor(lines: BareSigns['lines']) {
    super('signs that are not written as text')
    this.lines = lines
  }
}

/** A directive that cannot be read, with the place in its file. */
export function parseFault(
  where: string,
  reason: string,
  { line, column }: Position,
  { hint, repaired = null, cause }: FaultExtras = {},
): KiwiError {
  const said = `Cannot read "${where}": ${reason} (line ${line}, column ${column})`
  return new KiwiError('PARSE_ERROR', said, {
    ...(hint === undefined ? {} : { hint }),
    details: { line, column, ...(repaired === null ? {} : { repaired }) },
    cause,
  })
}
