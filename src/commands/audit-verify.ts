import type { JournalReport } from '../kernel/verify-journal.ts'
import type { Kiwi } from '../kiwi.ts'
import { ERRORS } from '../shared/errors.ts'
import { LIMITS } from '../shared/limits.ts'
import type { Terminal } from './terminal.ts'
import { printable } from './terminal.ts'

/** Says whether the journal is whole, and if not, where it stops being so and why. */
export async function verifyAudit(kiwi: Kiwi, terminal: Terminal, isJson: boolean): Promise<number> {
  const report = await kiwi.verifyJournal()
  const { records, brokenAt, fault, head, heads, noted, notes } = report
  if (isJson)
    terminal.out(
      JSON.stringify({ records, broken_at: brokenAt, fault, head, heads, noted_head: noted, notes }),
    )
  else {
    const signed = heads === 0 ? 'no signed head to compare with yet' : `as ${heads} signed heads say`
    terminal.out(
      fault === null ? `${records} records, the chain is whole, ${signed}` : terminal.red(faultText(report)),
    )
    for (const note of notes) terminal.note(`note: ${printable(note)}`)
  }
  return fault === null ? 0 : ERRORS.INTERNAL.exit
}

function faultText({ fault, brokenAt, records, head, heads, noted }: JournalReport): string {
  const at = `The chain is broken at record ${brokenAt}`
  const signed =
    head === null
      ? `the store counted ${noted} at its last head`
      : printable(`the head of ${head.time} counts ${head.size}`)
  switch (fault) {
    case 'changed':
      return `${at}: it is not what was written`
    case 'missing':
      return `${at}: it is missing`
    case 'moved':
      return `${at}: it does not follow the one before it; records were moved, put in or written anew`
    case 'cut':
      return `${at}: the end is missing; there are ${records} records, and ${signed}`
    case 'rewritten':
      return `${at}: records up to it were removed or written anew; ${signed} with another hash`
    case 'emptied':
      return `${at}: what it held is gone, and nobody has erased it`
    case 'unvouched':
      return `${records} records, and nothing to check their end against: ${unvouched(heads, noted)}`
    case 'forged':
    case null:
      return `A head is forged: ${signed}, and its signature does not fit`
  }
}

function unvouched(heads: number, noted: number | null): string {
  if (heads > 0) return `none of the ${heads} signed heads is the last one and of the key that is here`
  return noted === null
    ? `a signed head is written after ${LIMITS.headRecords} records at the latest, and there is none`
    : `there were signed heads, the last of ${noted} records, and they are gone`
}
