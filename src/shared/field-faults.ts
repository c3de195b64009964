import { z } from 'zod'
import { nearest } from './nearest.ts'

/** What is wrong with one field of something that was given. */
export interface FieldFault {
  readonly name: string
  readonly reason: string
}

/** Faults of a schema in words for whoever wrote the value, by the place they are at. */
export function fieldFaults(issues: readonly z.core.$ZodIssue[]): readonly FieldFault[] {
  return issues.map(({ path, message }) => ({ name: path.join('.'), reason: message }))
}

/** For `safeParse`: its own words are about types of a language the reader may never see. */
export const IN_WORDS = { error: inWords, reportInput: true } as const

const KINDS: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a text',
}

function inWords(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${KINDS[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `${issue.input === undefined ? 'is missing; it ' : ''}must be one of ${issue.values.map(String).join(', ')}`
    case 'too_big':
      return `must ${bounded('at most', issue.maximum, issue.origin)}`
    case 'too_small':
      return `must ${bounded('at least', issue.minimum, issue.origin)}`
    case 'unrecognized_keys':
      return `has no key ${issue.keys.map((key) => `"${key}"`).join(', ')}${instead(issue.keys, issue.inst)}`
    case 'invalid_union':
      return 'has none of the forms it can have'
    case 'custom':
    case 'invalid_element':
    case 'invalid_format':
    case 'invalid_key':
    case 'not_multiple_of':
      return undefined
  }
}

/** Few enough to read at a glance. */
const MOST_KEYS = 16

/** The key that was probably meant, else all there are. */
function instead(given: readonly string[], form: unknown): string {
  const known = form instanceof z.ZodObject ? Object.keys(form.shape) : []
  const [best] = given.flatMap((key) => nearest(key, known))
  if (best !== undefined) return `: "${best}" is probably meant`
  return known.length === 0 || known.length > MOST_KEYS ? '' : `: it may have ${known.join(', ')}`
}

function bounded(how: string, bound: number | bigint, origin: string): string {
  if (origin === 'string') return `have ${how} ${bound} characters`
  return origin === 'array' ? `have ${how} ${bound} entries` : `be ${how} ${bound}`
}
