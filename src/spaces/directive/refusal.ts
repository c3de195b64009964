import type { KiwiError } from '../../shared/errors.ts'
import { BareSigns, parseFault } from './parse-fault.ts'
import type { Position } from './position.ts'
import { positionsIn } from './position.ts'
import { proposeRepair, repairedLines } from './repair.ts'
import type { Refused } from './xml-fault.ts'
import { xmlFault } from './xml-fault.ts'

interface Where {
  /** What messages call the directive. */
  readonly where: string
  /** Where it is wrong, if that is not where reading failed. */
  readonly place: Position | undefined
}

/** What the parser does not read, with the line as it should be where that can be told. */
export function refusal(refused: Refused, { where, place }: Where): KiwiError {
  const { text, masked, from, failed } = refused
  const typed = typeBefore(masked, from, failed)
  if (typed !== null)
    return explained({ ...refused, said: TYPED, failed: typed }, { where, place: undefined })
  const repair = proposeRepair({ text, masked, from, failed })
  if (repair === null) return explained(refused, { where, place })
  const position = positionsIn(text)(repair.offset)
  return parseFault(where, signReason(text, repair.offset), position, {
    hint: `Write line ${position.line} as: ${repair.line.trim()} (kiwi check --fix does that)`,
    repaired: repair.line,
    cause: new BareSigns(() => repairedLines({ text, masked, from })),
  })
}

function explained(refused: Refused, { where, place }: Where): KiwiError {
  const fault = xmlFault(refused)
  const at = place ?? (typeof fault.place === 'number' ? positionsIn(refused.text)(fault.place) : fault.place)
  const { repaired = null } = fault
  const hint =
    repaired === null ? fault.hint : `Write line ${at.line} as: ${fault.hint} (kiwi check --fix does that)`
  return parseFault(where, fault.reason, at, { hint, repaired })
}

function signReason(text: string, offset: number): string {
  const [entity] = /^&\w+;/.exec(text.slice(offset, offset + 64)) ?? []
  if (entity !== undefined) return `the entity "${entity}" is not known`
  const isNamed = /^<[A-Za-z_]/.test(text.slice(offset, offset + 2))
  return `a bare "${text[offset] ?? ''}" is not text${isNamed ? ': it begins no element' : ''}`
}

export const TYPED = 'it has a document type'

/** Where a document type begins that reading came upon, outside of comments and quotations: to mend its entities would not help. */
function typeBefore(masked: string, from: number, failed: number): number | null {
  const parts = /<!--[^]*?(?:-->|$)|<!\[CDATA\[[^]*?(?:\]\]>|$)|<!doctype/gi
  const found = [...masked.slice(from, failed + 1).matchAll(parts)].find(([part]) => /^<!d/i.test(part))
  return found === undefined ? null : from + found.index
}
