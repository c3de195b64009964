import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RE2JS } from 're2js'
import { z } from 'zod'
import type { JsonValue } from '../shared/json.ts'
import { isObject } from '../shared/json.ts'
import type { Maybe } from '../shared/maybe.ts'
import { after } from '../shared/maybe.ts'
import { parseDocument } from './parse-document.ts'

/** Finds what looks like a secret that nobody granted. A find names the rule, never the text. */
export interface SecretPatterns {
  screen(value: JsonValue): Maybe<Screened>
}

interface Screened {
  /** Ids of the rules that matched, each once. */
  readonly rules: readonly string[]
  /** The value without what matched. */
  readonly redacted: JsonValue
}

const Rule = z.strictObject({
  id: z.string().regex(/^[a-z][a-z-]*$/),
  starts: z.array(z.string().min(3)).min(1),
  pattern: z.string().min(1),
  inside: z.boolean().default(false),
  until: z.string().min(1).optional(),
  most: z.number().int().min(1).max(10_000).default(512),
  examples: z.strictObject({ match: z.array(z.array(z.string())), not_match: z.array(z.array(z.string())) }),
})
type Rule = z.infer<typeof Rule>
const Table = z.strictObject({ rules: z.array(Rule).min(1) })

/** Places in one value at which a pattern is tried. Beyond it the rest of a text counts as found. */
const MOST_TRIES = 20_000
const TOO_MUCH = 'too-much-to-look-at'
/** What a private key may be long. */
const LONGEST_FIND = 16_384

/** The rules are data that is shipped, read when a result is first looked at; patterns when one could match. */
export function openSecretPatterns(builtinFolder: string): SecretPatterns {
  let table: Maybe<Starts> | null = null
  let compiled: Promise<ReadonlyMap<string, CompiledRule>> | null = null
  return {
    screen(value) {
      table ??= readTable(join(builtinFolder, 'config', 'secret-patterns.yaml')).then(
        (read) => (table = read),
      )
      return after(table, (starts) => {
        if (!holds(value, starts.expression)) return { rules: [], redacted: value }
        compiled ??= compileAll(starts)
        return compiled.then((rules) => screenAll(value, starts.expression, rules))
      })
    },
  }
}

/** One expression of plain texts: a single look at a result tells whether any rule could match. */
interface Starts {
  readonly expression: RegExp
  readonly rules: readonly Rule[]
}

async function readTable(path: string): Promise<Starts> {
  const { rules } = Table.parse(await parseDocument(await readFile(path, 'utf8'), path))
  const starts = rules.flatMap((rule) => rule.starts).toSorted((a, b) => b.length - a.length)
  const escaped = starts.map((start) =>
    start.replaceAll(/[^\w]/g, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`),
  )
  return { expression: new RegExp(escaped.join('|'), 'gu'), rules }
}

function holds(value: JsonValue, starts: RegExp): boolean {
  if (typeof value === 'string') {
    starts.lastIndex = 0
    return starts.test(value)
  }
  if (Array.isArray(value)) return value.some((item: JsonValue) => holds(item, starts))
  if (isObject(value))
    return Object.entries(value).some(([key, item]) => holds(key, starts) || holds(item, starts))
  return false
}

interface CompiledRule extends Omit<Rule, 'pattern'> {
  readonly expression: RE2JS
}

/** By how it starts. A rule that does not do what its examples say is a fault of Kiwi, and nothing gets round it. */
async function compileAll({ rules }: Starts): Promise<ReadonlyMap<string, CompiledRule>> {
  const { RE2JS: Expression } = await import('re2js')
  const byStart = new Map<string, CompiledRule>()
  for (const { pattern, ...rule } of rules) {
    const compiled = { ...rule, expression: Expression.compile(pattern) }
    for (const start of rule.starts) byStart.set(start, compiled)
    for (const [isMatch, examples] of [
      [true, rule.examples.match],
      [false, rule.examples.not_match],
    ] as const) {
      const wrong = examples
        .map((parts) => parts.join(''))
        .find((text) => (endOf(compiled, text, 0) !== null) !== isMatch)
      if (wrong !== undefined) throw new TypeError(`rule ${rule.id} is wrong about its own example`)
    }
  }
  return byStart
}

/** Where what begins here ends; null when it is nothing. */
function endOf({ expression, most, until }: CompiledRule, text: string, from: number): number | null {
  const match = expression.matcher(text.slice(from, from + most))
  if (!match.lookingAt()) return null
  // A token that is longer than what was looked at goes on to the end of its word.
  const end = match.end() < most ? from + match.end() : wordEnd(text, from + most)
  if (until === undefined) return end
  const last = text.slice(end, end + LONGEST_FIND).indexOf(until)
  return last < 0 ? Math.min(end + LONGEST_FIND, text.length) : end + last + until.length
}

function wordEnd(text: string, from: number): number {
  const word = /[\w.~+/=-]*/y
  word.lastIndex = from
  word.test(text)
  return word.lastIndex
}

function screenAll(value: JsonValue, starts: RegExp, rules: ReadonlyMap<string, CompiledRule>): Screened {
  const found = new Set<string>()
  let tries = 0
  const screenText = (text: string): string => {
    let left = ''
    let from = 0
    starts.lastIndex = 0
    for (let hit = starts.exec(text); hit !== null; hit = starts.exec(text)) {
      const rule = rules.get(hit[0])
      if (rule === undefined || (!rule.inside && isWithinWord(text, hit.index))) continue
      tries += 1
      const end = tries > MOST_TRIES ? text.length : endOf(rule, text, hit.index)
      if (end === null) continue
      const id = tries > MOST_TRIES ? TOO_MUCH : rule.id
      found.add(id)
      left += `${text.slice(from, hit.index)}[REDACTED:${id}]`
      from = starts.lastIndex = end
    }
    return from === 0 ? text : left + text.slice(from)
  }
  const screen = (one: JsonValue): JsonValue => {
    if (typeof one === 'string') return screenText(one)
    if (Array.isArray(one)) return one.map((item: JsonValue) => screen(item))
    if (isObject(one))
      return Object.fromEntries(Object.entries(one).map(([key, item]) => [screenText(key), screen(item)]))
    return one
  }
  return { redacted: screen(value), rules: [...found] }
}

/** Behind the letter of an escaped line break a new word begins. */
function isWithinWord(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 2), at)
  return /[\w-]$/.test(before) && !/\\[nrt]$/.test(before)
}
